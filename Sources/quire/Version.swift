/// The version of the command and of the daemon it starts.
package let quireVersion = "0.1.0"
