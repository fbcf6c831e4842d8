import CLinux
import DocumentIndex
import DocumentRendering
import Glibc
import StorePrimitives

/// Pictures follow their documents: what changed is rendered again, what moved keeps its picture, what is gone has none.
extension DocumentThumbnails {
    /// Takes over what the index tells. On any thread; the work is done later, on `quire-follow`.
    func follow(_ changes: [IndexedChange]) {
        for part in changes.chunks(of: 50) {
            lookups.later { [self] in for change in part where !lookups.isOver { follow(change) } }
        }
    }

    private func follow(_ change: IndexedChange) {
        switch change {
        case .changed(let path): refresh(path)
        case .gone(let path):
            // What only moved on the way to the index is another's by now.
            if status(of: path) == nil { removePictures(of: path) } else { refresh(path) }
        case .moved(let old, let new, let isFolder):
            isFolder ? moveTree(from: old, to: new) : move(old, to: new)
            // What it was moved over had pictures too.
            refresh(new)
        case .exchanged(let one, let other):
            for path in [one, other] { refresh(path) }
        }
    }

    /// Has the pictures rendered again that are of another version than the document.
    private func refresh(_ path: StorePath) {
        let own = pictured([uri(of: path)]), ofLinks = pictured(links.places(of: path).map { uri(ofPlace: $0) })
        guard !own.isEmpty || !ofLinks.isEmpty, let status = status(of: path) else { return }
        guard Self.mayBeRendered(status) else {
            removePictures(of: path)
            return
        }
        for (uri, size) in own where found(path, uri, status, size) == nil {
            render(path, isFolder: status.isFolder, size, .browsed, completion: removing(uri, size))
        }
        for (uri, size) in ofLinks where found(path, uri, status, size) == nil {
            thumbnailer.render(subject(path, isFolder: status.isFolder, uri: uri), size, .browsed, completion: removing(uri, size))
        }
    }

    /// The pictures there are, of whatever version.
    private func pictured(_ uris: [String]) -> [(uri: String, size: ThumbnailSize)] {
        uris.flatMap { uri in ThumbnailSize.allCases.map { (uri, $0) } }.filter { cache.anyEntry(of: $0, $1) != nil }
    }

    /// A picture of what is no more is worse than none.
    private func removing(_ uri: String, _ size: ThumbnailSize) -> @Sendable (RenderOutcome) -> Void {
        { [self] outcome in if case .refused = outcome { cache.remove(uri, size) } }
    }

    private func move(_ old: StorePath, to new: StorePath) {
        // Its links have other names now.
        removeLinkPictures(of: old)
        // Moved on by now: what follows has it rendered there.
        guard let status = status(of: new) else {
            cache.remove(uri(of: old))
            return
        }
        cache.move(uri(of: old), to: uri(of: new), ThumbnailVersion(status), for: status.st.st_uid)
    }

    private func moveTree(from old: StorePath, to new: StorePath) {
        move(old, to: new)
        var folders = [new]
        while !lookups.isOver, let folder = folders.popLast() {
            for item in (try? items(in: folder)) ?? [] {
                let path = folder.appending(item.name)
                if item.isFolder { folders.append(path) }
                if let before = path.moved(from: new, to: old) { move(before, to: path) }
            }
        }
    }
}

extension Array {
    fileprivate func chunks(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
