import ArgumentParser
import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import SystemPackage

struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Have back what saves that were killed, failed or lost had written.",
        discussion: """
            When a program is killed or fails while it saves, the document stays as it was, and what the program had \
            written by then is kept here. So is the version that lost when two programs saved at the same time, and \
            what 'quire recover restore' replaced. Versions are kept for 7 days and up to 1 GiB, unless the \
            mount options keep-days and keep-size say otherwise. They are for the document's owner, and root.

            Examples:
              quire recover
              quire recover show 12 | less
              quire recover restore 12
              quire recover drop --all

            Exit codes: 0 done; 1 failed; 64 the command line is wrong.
            """,
        subcommands: [
            RecoverListCommand.self, RecoverShowCommand.self, RecoverRestoreCommand.self, RecoverDropCommand.self,
        ],
        defaultSubcommand: RecoverListCommand.self)
}

struct RecoverListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List what can be had back, newest first.",
        discussion: """
            Each line: the number that the other commands take, how long ago it was kept, its size, the document and \
            why it is here. With PATH only the versions of that document, or of the documents in that folder. Means \
            the mount of PATH, else that of the working directory, else the only one there is.

            With --json: an array of objects with id, path, time (seconds since 1970), size (bytes), hasContent (false: \
            it was too large to be kept), saver {pid, process, uid} if known, reason (killed, relay-ended, write-error, \
            publish-error, overtaken, relayed, replaced, removed, unpublished, unfinished, edited, restored), explanation, owner, group, mode.

            Examples:
              quire recover list
              quire recover list ~/Documents/report.odt --json

            Exit codes: 0 listed; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "A document, which may be gone, or a folder.") var path: PathArgument?
    @Flag(help: "Write JSON.") var json = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func validate() throws {
        if path != nil, mount != nil { throw ValidationError("A path and --in exclude each other.") }
    }

    func run() throws {
        let (entry, place) = try MountLocator.mount(meant: mount, orHoldingFuture: path)
        let versions = try MountLocator.ask(entry) { (service) throws(ServiceCallError) in
            try service.keptVersions()
        }.filter { version in place.map { CanonicalPath.isWithin(version.path.bytes, $0) } ?? true }
        if json { return Output.json(versions) }
        if versions.isEmpty { return Output.line("Nothing to recover.") }
        RecoveryList.lines(versions, now: RecoveryList.now).forEach { Output.line($0) }
    }
}

struct RecoverShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Write a version's content to standard output, or a file.",
        discussion: """
            Means the mount of the working directory, else the only one there is, unless --in names another.

            Examples:
              quire recover show 12 | diff report.txt -
              quire recover show 12 -o report-12.txt

            Exit codes: 0 written; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "The version's number.") var id: UInt64
    @Option(name: .shortAndLong, help: "The file to write; replaced if it is there.") var output: PathArgument?
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws {
        let (version, entry) = try KeptVersionArgument.find(id, in: mount)
        let content = try RecoveredContent(of: version, in: entry)
        if let output {
            let target = RecoveryTarget(path: output.bytes)
            return try target.present() == .nothing
                ? target.make(with: content, mode: version.mode) : target.replace(with: content)
        }
        do throws(Errno) {
            try content.print(to: STDOUT_FILENO)
        } catch {
            throw CommandFailure("standard output cannot be written: \(error)")
        }
    }
}

struct RecoverRestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Make a version the document's content again.",
        discussion: """
            The document keeps its owner, permissions, tags and attributes; one that is gone is made anew. What it held \
            until now becomes a version itself, so that this can be undone. Where that is too large to be kept, nothing \
            is done without --force. The version restored stays, unless --drop is given.

            With --to the document is left alone and the content is written to another file, or into a folder under \
            the document's name.

            Means the mount of the working directory, else the only one there is, unless --in names another.

            Examples:
              quire recover restore 12
              quire recover restore 12 --to ~/report-12.odt

            Exit codes: 0 restored; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "The version's number.") var id: UInt64
    @Option(help: ArgumentHelp("Write it there instead.", valueName: "path")) var to: PathArgument?
    @Flag(help: "Replace what is there though it cannot be kept, or, with --to, though it is another file.") var force = false
    @Flag(help: "Drop the version when it is restored.") var drop = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws {
        let (version, entry) = try KeptVersionArgument.find(id, in: mount)
        let content = try RecoveredContent(of: version, in: entry)
        let note = try to.map { try write(content, of: version, to: $0) } ?? restore(version, content, entry)
        if drop { try KeptVersionArgument.drop([version.id], in: entry, missingIsError: false) }
        Output.line(note)
    }

    /// Returns what to tell the user.
    private func restore(
        _ version: RecoverableVersion, _ content: RecoveredContent, _ entry: MountTable.Entry
    ) throws(CommandFailure) -> String {
        // The daemon of another user's mount may say what it likes.
        guard MountTable.current().holding(version.path.bytes) == entry else {
            throw CommandFailure("\(shown(version.path)): is not in the mount \(shown(entry.mountPoint)), which has this version; use --to PATH")
        }
        let target = try RecoveryTarget(document: version.path)
        let done = "Restored \(version.path) (\(Figures.size(content.size)))."
        switch try target.present() {
        case .nothing:
            try target.remake(version, with: content)
            return done
        case .file(size: 0):
            try target.replace(with: content)
            return done
        case .file:
            let document = version.path
            let kept = try MountLocator.ask(entry, RecoverInterface.keep, .init(document)).id
            guard kept != nil || force else {
                throw CommandFailure(
                    "\(document): what it holds now is too large to be kept, and would be lost; restore with --force, or "
                        + "write to another file with --to PATH")
            }
            try target.replace(with: content)
            return done + (kept.map { " What it held is version \($0)." } ?? "")
        case .other:
            throw CommandFailure("\(version.path): something else than a document is there now; use --to PATH")
        }
    }

    private func write(
        _ content: RecoveredContent, of version: RecoverableVersion, to place: PathArgument
    ) throws(CommandFailure) -> String {
        var path = place.bytes
        if let status = try? FileSystem.status(path), FileSystem.isFolder(status) {
            let start = (version.path.bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1
            path = CanonicalPath.join(path, Array(version.path.bytes[start...]))
        }
        let target = RecoveryTarget(path: path)
        if try target.present() == .nothing {
            try target.make(with: content, mode: version.mode)
        } else if force {
            try target.replace(with: content)
        } else {
            throw CommandFailure("\(shown(path)): is there already; --force replaces it")
        }
        return "Wrote \(shown(path)) (\(Figures.size(content.size)))."
    }
}

struct RecoverDropCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Delete versions for good.",
        discussion: """
            With --all every version of this mount that 'quire recover list' shows: as root those of all users. Means \
            the mount of the working directory, else the only one there is, unless --in names another.

            Examples:
              quire recover drop 12 13
              quire recover drop --all

            Exit codes: 0 dropped; 1 some version is not there, the others are dropped; 64 the command line is wrong.
            """)

    @Argument(help: "The versions' numbers.") var ids: [UInt64] = []
    @Flag(help: "All of them.") var all = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func validate() throws {
        if ids.isEmpty != all { throw ValidationError("Name versions, or give --all.") }
    }

    func run() throws {
        let entry = try MountLocator.mount(meant: mount)
        let meant = try all
            ? MountLocator.ask(entry) { (service) throws(ServiceCallError) in try service.keptVersions().map(\.id) } : ids
        let dropped = try KeptVersionArgument.drop(meant, in: entry, missingIsError: !all)
        Output.line("Dropped \(dropped) \(dropped == 1 ? "version" : "versions").")
    }
}
