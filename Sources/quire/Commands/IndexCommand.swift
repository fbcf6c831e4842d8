import ArgumentParser
import Glibc
import MountClient
import MountProtocol
import StorePrimitives

struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Show and control the indexing of documents' texts.",
        discussion: """
            The daemon reads documents in the background (mount option search-text), so that 'quire search' finds \
            words in their texts. 'quire search --why PATH' shows the state of one document.

            Means the mount of the working directory, else the only one there is, unless --in names another.

            Examples:
              quire index
              quire index pause

            Exit codes: 0 done; 1 failed; 64 the command line is wrong.
            """,
        subcommands: [IndexStatusCommand.self, IndexPauseCommand.self, IndexResumeCommand.self, IndexRebuildCommand.self],
        defaultSubcommand: IndexStatusCommand.self)
}

struct IndexStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show how far the texts of documents are read.",
        discussion: """
            Example:
              quire index status --json

            Exit codes: 0 shown; 1 failed; 64 the command line is wrong.
            """)

    @Flag(help: "Write JSON: an object with state (off, reading, paused, idle), indexed, nothing, failed, bytes, current and trouble.") var json = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws {
        let status = try MountLocator.ask(try MountLocator.mount(meant: mount), SearchInterface.textStatus)
        if json { return Output.json(status) }
        Output.line("texts: \(status.state)")
        if status.state != "off" {
            Output.line("  \(status.indexed) read, \(status.nothing) without a text, \(status.failed) that could not be read; \(Figures.size(Int64(status.bytes)))")
        }
        if let current = status.current { Output.line("  reading \(shown(current))") }
        if let trouble = status.trouble { Output.line("  \(shown(trouble))") }
    }
}

struct IndexPauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Read no more texts, until 'quire index resume' or the next mount.",
        discussion: """
            Example:
              quire index pause --in ~/Documents

            Exit codes: 0 paused; 1 failed; 64 the command line is wrong.
            """)

    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws { try MountLocator.ask(try MountLocator.mount(meant: mount), SearchInterface.pauseTexts, .init(true)) }
}

struct IndexResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Go on reading texts after 'quire index pause'.",
        discussion: """
            Example:
              quire index resume

            Exit codes: 0 done; 1 failed; 64 the command line is wrong.
            """)

    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws { try MountLocator.ask(try MountLocator.mount(meant: mount), SearchInterface.pauseTexts, .init(false)) }
}

struct IndexRebuildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild", abstract: "Forget all texts, and read them again.",
        discussion: """
            Until they are read again, searches find fewer documents. Documents, tags and recents stay as they are.

            Example:
              quire index rebuild

            Exit codes: 0 begun; 1 failed; 64 the command line is wrong.
            """)

    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws { try MountLocator.ask(try MountLocator.mount(meant: mount), SearchInterface.rebuildTexts) }
}
