import Foundation

/// What accessors are given.
extension FileAccess {
    /// Has each intent say where its item is to be read or written.
    func placeItems() throws(FileCoordinationError) {
        for item in items {
            let url = try url(of: item)
            if url != item.intent.url { item.intent.url = url }
        }
    }

    /// The URL that the accessor uses for an item: the one place where readers are led elsewhere.
    private func url(of item: AccessItem) throws(FileCoordinationError) -> URL {
        // Where there is nothing there is nothing in the snapshot: an error is to name what was asked for.
        let source = item.wasThere ? item.snapshot?.url ?? item.intent.url : item.intent.url
        guard item.intent.readingOptions.contains(.forUploading) else { return source }
        do {
            let folder = FileManager.default.temporaryDirectory.appending(
                path: "DocumentKit-\(UUID().uuidString)", directoryHint: .isDirectory)
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            state.withLock { $0.copies.append(folder) }
            let copy = folder.appending(path: item.path.url.lastPathComponent, directoryHint: .notDirectory)
            try FileManager.default.copyItem(at: source, to: copy)
            return copy
        } catch {
            throw .failed("\(item.path): cannot be copied for uploading: \(error.localizedDescription)")
        }
    }

    func removeCopies() {
        let copies = state.withLock { state in
            defer { state.copies = [] }
            return state.copies
        }
        for folder in copies { try? FileManager.default.removeItem(at: folder) }
    }
}
