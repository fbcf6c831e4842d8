import ArgumentParser
import DocumentIndex
import MountClient
import MountProtocol

struct TagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tag",
        abstract: "Tag documents, and look after tags.",
        discussion: """
            Tags are kept with each document in the attribute user.xdg.tags, which other programs share. In a mount \
            they are also folders: .tags/TAG.

            Examples:
              quire tag add urgent report.odt letter.odt
              quire tag list report.odt
              quire tag rename urgent important

            Exit codes: 0 done; 1 failed, for some of the paths at least; 64 the command line is wrong.
            """,
        subcommands: [
            TagAddCommand.self, TagRemoveCommand.self, TagListCommand.self, TagRenameCommand.self, TagMergeCommand.self,
            TagUndoCommand.self,
        ])
}

struct TagAddCommand: TakesManyPaths {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a tag to documents.",
        discussion: """
            Works on documents outside of mounts too, and says so. A slash nests: work/urgent.

            Example:
              quire tag add urgent ~/Documents/report.odt

            Exit codes: 0 all have the tag; 1 some path failed, the others have it; 64 the command line is wrong.
            """)

    @Argument(help: "The tag.", completion: .knownTags) var tag: String
    @Argument(help: "Documents.") var paths: [PathArgument]

    func run() throws {
        let tag = try TagArgument.parse(tag)
        try TaggedDocument.change(paths, adding: [tag])
    }
}

struct TagRemoveCommand: TakesManyPaths {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a tag from documents.",
        discussion: """
            A document without the tag is no error. Tags nested in this one stay.

            Example:
              quire tag remove urgent ~/Documents/report.odt

            Exit codes: 0 none has the tag; 1 some path failed; 64 the command line is wrong.
            """)

    @Argument(help: "The tag.", completion: .knownTags) var tag: String
    @Argument(help: "Documents.") var paths: [PathArgument]

    func run() throws {
        let tag = try TagArgument.parse(tag)
        try TaggedDocument.change(paths, removing: [tag])
    }
}

struct TagListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List a document's tags, or all tags of a mount.",
        discussion: """
            With a document: its tags, one a line. Without: every tag and the number of documents that have it. Means \
            the mount of the working directory, else the only one there is, unless --in names another.

            Examples:
              quire tag list ~/Documents/report.odt
              quire tag list --in ~/Documents --json

            Exit codes: 0 listed; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "A document. A folder means the mount it is in, as with --in.") var path: PathArgument?
    @Flag(help: "Write JSON: an array of names, or of objects with name and count.") var json = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func validate() throws {
        if path != nil, mount != nil { throw ValidationError("A path and --in exclude each other.") }
    }

    func run() throws {
        if let path, let document = try TaggedDocument.open(path) {
            let names = document.tags.map(\.text)
            if json { return Output.json(names) }
            return names.forEach { Output.line($0) }
        }
        let entry = try MountLocator.mount(meant: mount ?? path)
        let tags = try MountLocator.ask(entry, MountInterface.tags).tags
        if json { return Output.json(tags) }
        let width = tags.map { "\($0.count)".count }.max() ?? 0
        for tag in tags {
            let count = "\(tag.count)"
            Output.line(String(repeating: " ", count: width - count.count) + "\(count)  \(tag.name)")
        }
    }
}

struct TagRenameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Rename a tag on every document of a mount.",
        discussion: """
            Tags nested in it are renamed with it. Means the mount of the working directory, else the only one there \
            is, unless --in names another.

            Example:
              quire tag rename urgent important

            Exit codes: 0 renamed; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "The tag's name until now.", completion: .knownTags) var old: String
    @Argument(help: "Its new name.") var new: String
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws {
        let (old, new) = (try TagArgument.parse(old), try TagArgument.parse(new))
        try MountLocator.ask(try MountLocator.mount(meant: mount), MountInterface.renameTag, .init(old.text, to: new.text))
    }
}

struct TagMergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge", abstract: "Make one tag of several, on every document of a mount.",
        discussion: """
            Each document that has one of the tags has the last one then. Tags nested in them go with them. Means the mount of the working \
            directory, else the only one there is, unless --in names another.

            Example:
              quire tag merge bill bills invoice

            Exit codes: 0 merged; 1 failed, the tags before the one that is named are merged; 64 the command line is wrong.
            """)

    @Argument(help: "The tags, and last the one that stays.", completion: .knownTags) var tags: [String]
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func validate() throws {
        if tags.count < 2 { throw ValidationError("Name two tags at least; for example: quire tag merge bill invoice") }
    }

    func run() throws {
        let tags = try tags.map(TagArgument.parse)
        let mount = try MountLocator.mount(meant: mount)
        guard let last = tags.last else { return }
        for tag in tags.dropLast() where tag != last {
            try MountLocator.ask(mount, MountInterface.renameTag, .init(tag.text, to: last.text, merge: true))
        }
    }
}

struct TagUndoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo", abstract: "Bring back the tags that the last bulk removal took.",
        discussion: """
            After 'rm -r .tags/urgent', say. Means the mount of the working directory, else the only one there is, \
            unless --in names another.

            Example:
              quire tag undo --in ~/Documents

            Exit codes: 0 brought back; 1 failed, or there was nothing to undo; 64 the command line is wrong.
            """)

    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws {
        let restored = try MountLocator.ask(try MountLocator.mount(meant: mount), MountInterface.undoTagRemoval).restored
        Output.line("\(restored) \(restored == 1 ? "document has its" : "documents have their") tags again.")
    }
}

/// A tag from the command line.
private enum TagArgument {
    static func parse(_ text: String) throws(CommandFailure) -> Tag {
        guard let tag = Tag(text) else {
            throw CommandFailure(
                "'\(text)' cannot be a tag: it must not be empty, have a comma, or have an empty part, '.' or '..' between slashes")
        }
        return tag
    }
}
