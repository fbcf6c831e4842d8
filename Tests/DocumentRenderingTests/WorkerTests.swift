import DocumentRendering
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// The worker in its sandbox, as the daemon runs it.
@Suite(.serialized)
struct WorkerTests {
    /// A folder that nobody in particular can enter, with a file in it.
    @Test(arguments: [0o755, 0o700] as [mode_t])
    func nothingIsPossibleInTheSandboxButToRender(mode: mode_t) throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, mode)
        let secret = folder.makeFile("secret", "words")
        #expect(SandboxCheck.run(workerProgram: builtProduct("quire-worker"), path: secret) == .holds)
    }

    /// The check can fail: outside of a sandbox much of it is possible.
    @Test func theProbeFindsWhatIsPossible() throws {
        let folder = try TemporaryFolder()
        let result = try runProgram("python3", ["-c", """
            import os, socket, subprocess, sys
            held = os.open("/dev/null", os.O_RDONLY)  # so that neither end is number 3
            near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            os.dup2(far.fileno(), 3, inheritable=True)
            worker = subprocess.Popen([sys.argv[1], "--programs"], close_fds=False)
            output, document = os.memfd_create("output"), os.open(sys.argv[2], os.O_RDONLY)
            socket.send_fds(near, [b"probe\\0" + sys.argv[2].encode() + b"\\0"], [output, document])
            print(near.recv(9999).decode().replace("\\0", "; ")); near.close(); far.close(); os.close(3); worker.wait()
            """, builtProduct("quire-worker"), folder.makeFile("secret", "words")])
        withExtendedLifetime(folder) {}
        for finding in ["open a file by its path", "change the document's mode", "start a program", "open a socket to a daemon"] {
            #expect(result.output.contains(finding), "\(result)")
        }
        #expect(!result.output.contains("to the network"), "\(result)")
    }

    @Test func aWorkerThatIsNotThereIsTold() {
        #expect(SandboxCheck.run(workerProgram: "/nowhere/worker", path: "/proc/self/exe") == .fails("/nowhere/worker is not there"))
    }
}
