import Glibc
import MountClient
import MountProtocol
import StorePrimitives

/// Prints the results of a search, and what changes in them.
struct LiveSearchOutput {
    private let json: Bool
    private var documents: [FoundDocument] = []
    private var isComplete = false

    /// Until the mount ends.
    static func show(_ request: SearchRequest, in mount: MountTable.Entry, json: Bool) throws(CommandFailure) {
        // The end of the reader of a pipe is the end of this.
        signal(SIGPIPE) { _ in _exit(0) }
        signal(SIGINT) { _ in _exit(0) }
        signal(SIGTERM) { _ in _exit(0) }
        try MountLocator.ask(mount) { (service) throws(ServiceCallError) in
            var output = LiveSearchOutput(json: json)
            try service.stream(SearchInterface.watch, request) { (changes) throws(ServiceCallError) in
                output.take(changes)
                return true
            }
        }
    }

    private init(json: Bool) { self.json = json }

    private mutating func take(_ changes: ResultChanges) {
        let old = documents
        documents = changes.applied(to: old) { $0 }
        for place in changes.removed where old.indices.contains(place) { print("gone", at: place, old[place]) }
        for placed in changes.inserted { print("found", at: placed.at, placed.document) }
        for placed in changes.changed { print("changed", at: placed.at, placed.document) }
        if changes.complete, !isComplete {
            isComplete = true
            print("complete", at: documents.count, nil)
        }
    }

    private struct Line: Encodable {
        let event: String
        let at: Int
        let id: Int64?
        let path: DocumentPath?
        let size: Int64?
        let modified: Double?
    }

    private func print(_ event: String, at place: Int, _ document: FoundDocument?) {
        if json {
            let line = Line(event: event, at: place, id: document?.id, path: document?.path, size: document?.size, modified: document?.modified)
            guard let text = try? JSONText.encode(line) else { preconditionFailure("not JSON: \(line)") }
            Output.exact(text + [0x0a])
        } else if let document {
            Output.line(Array("\(event) ".utf8) + document.path.bytes)
        }
    }
}
