import Coordination
import StorePrimitives

/// What there is to tell of saves.
extension SaveService {
    /// The saves under way, with their documents' paths.
    var openSaves: [(path: StorePath, save: OpenSave)] {
        activeDocuments.flatMap { document -> [(path: StorePath, save: OpenSave)] in
            let found = document.ifActive { state, machine in (state.published, machine.openSaves) }
            guard let (published, saves) = found, let path = published?.path else { return [] }
            return saves.map { (path, $0) }
        }
    }

    /// Why a handle writes in place; nil while it works on a working copy.
    func reason(of handle: FileHandle) -> LiveReason? {
        guard handle.version != nil, let document = handle.node.saved.load() else { return handle.decision.reason }
        let writers = document.ifActive { _, machine in machine.liveWriters } ?? []
        return writers.first { $0.handle == handle.decision.save }?.reason
    }

    /// The path of the document that a node is a version of; nil if it has none any more.
    func path(of node: Node) -> StorePath? {
        if let path = node.path { return path }
        return node.saved.load()?.state.withLock { $0.published }?.path
    }
}
