import ArgumentParser
import DocumentMount
import MountClient
import MountProtocol
import StorePrimitives

/// Completions by the shell of other words than files.
extension CompletionKind {
    /// The tags of the mount that the command means without a path.
    static var knownTags: CompletionKind {
        .custom { _, _, _ in
            guard let entry = try? MountLocator.mount(meant: nil),
                let tags = try? MountLocator.ask(entry, MountInterface.tags).tags
            else { return [] }
            return tags.map(\.name)
        }
    }

    static var mountPoints: CompletionKind {
        .custom { _, _, _ in MountTable.current().quireMounts.map { String(decoding: $0.mountPoint, as: UTF8.self) } }
    }

    /// The last option of a list with commas.
    static var mountOptions: CompletionKind {
        .custom { _, _, prefix in
            let before = prefix.split(separator: ",", omittingEmptySubsequences: false).dropLast().map { $0 + "," }.joined()
            return MountOptions.names.map { before + $0 }
        }
    }
}
