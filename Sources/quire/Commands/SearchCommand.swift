import ArgumentParser
import DocumentIndex
import Glibc
import MountClient
import MountProtocol
import QueryLanguage
import StorePrimitives

struct SearchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Find documents by name, text, tag, type, date, size and folder.",
        discussion: """
            Prints the paths of the documents that meet the query and that you may read, last modified first. A document must contain \
            all words of the query, in its name or its text, without regard to case and accents. Texts are searched unless the mount has \
            the option search-text=off, or allow_other without search-text=on. 'quire help search' describes the language.

            With --live the command goes on, and prints what changes in the results, until interrupted or until the mount ends: \
            found, changed, or gone, and the path. With --json each line is an object with event (found, complete, changed or gone), at \
            (the place in the results), and for documents id, path, size and modified.

            Means the mount of the working directory, else the only one there is, unless --in names another; --everywhere means \
            all.

            Examples:
              quire search invoice 2026
              quire search 'tag:work kind:image size>1M after:last-month'
              quire search --why report.pdf
              quire search --limit 1000 --print0 '*.tmp' | xargs -0r ls -l

            Exit codes: 0 found; 1 nothing was found; 2 failed; 64 the command line or the query is wrong.
            """)

    @Argument(parsing: .allUnrecognized, help: "The query; several words are one query.") var words: [String] = []
    @Option(help: "Show the state of a document's text instead of searching.") var why: PathArgument?
    @Option(help: "How many documents at most (100).") var limit: Int?
    @Option(help: "The order: newest, oldest, largest, smallest or name.") var sort: SearchOrder = .newest
    @Flag(help: "Write JSON: an array of objects with path, size (bytes) and modified (seconds since 1970); with --why an object.") var json = false
    @Flag(name: .customLong("print0"), help: "End each path by NUL in place of a line feed, for xargs -0.") var endsByNul = false
    @Flag(help: "Go on, and print what changes in the results.") var live = false
    @Flag(help: "Search your mounts and those of root.") var everywhere = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    private var query: String { words.filter { $0 != "--" }.joined(separator: " ") }

    func validate() throws {
        if let limit, !(1...SearchInterface.mostDocuments).contains(limit) {
            throw ValidationError("--limit must be from 1 to \(SearchInterface.mostDocuments).")
        }
        if everywhere, mount != nil { throw ValidationError("--everywhere and --in exclude each other.") }
        if why != nil {
            guard words.isEmpty, !everywhere, mount == nil, !endsByNul, !live else { throw ValidationError("--why stands alone, or with --json.") }
            return
        }
        if query.isEmpty { throw ValidationError("No query given; for example: quire search invoice") }
        if live, everywhere || endsByNul { throw ValidationError("--live excludes --everywhere and --print0.") }
        if json, endsByNul { throw ValidationError("--json and --print0 exclude each other.") }
        // A word that a minus negates comes here, too, as does what is to end the options.
        if let wrong = words.first(where: { $0.hasPrefix("--") && $0 != "--" }) { throw ValidationError("there is no option \(wrong).") }
        do throws(QueryError) { _ = try Query(parsing: query) } catch {
            throw ValidationError("\(error)\n\(error.marked(in: query))")
        }
    }

    func run() throws {
        do {
            try search()
        } catch let failure as CommandFailure {
            // 1 says that nothing was found, as with grep(1).
            throw CommandFailure(failure.message, exitCode: 2)
        }
    }

    private func search() throws {
        if let why { return try explain(why) }
        let request = SearchRequest(query: query, limit: limit, order: sort.rawValue)
        if live { return try LiveSearchOutput.show(request, in: try MountLocator.mount(meant: mount), json: json) }
        let mounts = try everywhere ? MountLocator.mountsOfCaller() : [try MountLocator.mount(meant: mount)]
        var documents: [FoundDocument] = []
        var hasMore = false
        for mount in mounts {
            let found = try MountLocator.ask(mount, SearchInterface.search, request)
            documents += found.documents
            hasMore = hasMore || found.more
        }
        if mounts.count > 1 {
            documents.sort(by: precedes)
            hasMore = hasMore || documents.count > limit ?? SearchInterface.defaultLimit
            documents = Array(documents.prefix(limit ?? SearchInterface.defaultLimit))
        }
        if json {
            Output.json(documents)
        } else {
            for document in documents {
                if endsByNul { Output.exact(document.path.bytes + [0]) } else { Output.line(document.path.bytes) }
            }
        }
        if hasMore { Output.error("quire: there are more than these; --limit sets how many are shown") }
        if documents.isEmpty { throw ExitCode.failure }
    }

    private func explain(_ path: PathArgument) throws {
        let (mount, place) = try MountLocator.mount(meant: nil, orHoldingFuture: path)
        let state = try MountLocator.ask(mount, SearchInterface.textState, .init(DocumentPath(place ?? path.bytes)))
        if json { return Output.json(state) }
        let what =
            switch state.state {
            case "indexed": "its text is indexed (\(Figures.size(Int64(state.length ?? 0))))"
            case "nothing": "it has no text"
            case "failed": "its text could not be read, after \(state.attempts ?? 0) attempts"
            case "waiting": "its text has not been read yet"
            default: "its text is not searched"
            }
        Output.line("\(path.description): " + what + (state.reason.map { ": " + shown($0) } ?? ""))
    }

    /// The order of documents of several mounts.
    private func precedes(_ one: FoundDocument, _ other: FoundDocument) -> Bool {
        switch sort {
        case .newest: one.modified > other.modified
        case .oldest: one.modified < other.modified
        case .largest: one.size > other.size
        case .smallest: one.size < other.size
        case .name: Self.folded(one).lexicographicallyPrecedes(Self.folded(other))
        }
    }

    private static func folded(_ document: FoundDocument) -> [UInt8] {
        Folding.fold(document.path.bytes.split(separator: UInt8(ascii: "/")).last ?? [])
    }
}

extension SearchOrder: ExpressibleByArgument {}
