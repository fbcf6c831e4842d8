import CLinux
import DocumentRendering
import DocumentStore
import StorePrimitives
import SystemPackage
import WorkerProtocol

/// Reads the texts of what is in a package, as the text of one document.
struct PackageTexts {
    let reader: TextReader
    let store: SharedStore
    /// A part as the worker is to read it.
    let subject: @Sendable (StorePath) -> RenderSubject

    enum Outcome {
        case text([UInt8])
        /// There is nothing to be read, or it took too long before anything was found.
        case nothing
        /// It was changed meanwhile, or is not to be read now.
        case interrupted
        /// No worker can be started, and why.
        case noWorker(String)
    }

    private static let mostParts = 1_000
    /// Then what was read until then is the text.
    private static let mostTime: Int64 = 60_000_000_000

    /// Parts that cannot be read are left out. - Parameter goesOn: asked for each part.
    func read(_ package: StorePath, goesOn: () -> Bool) -> Outcome {
        let end = cl_monotonic_ns() + Self.mostTime
        var words: [UInt8] = []
        for part in parts(of: package) where words.count < WorkLimits.words && cl_monotonic_ns() < end {
            guard goesOn() else { return .interrupted }
            switch reader.read(subject(part)) {
            case .text(let text, _): words += text + [UInt8(ascii: "\n")]
            case .nothing, .failed, .unreadable: continue
            case .changed: return .interrupted
            case .noWorker(let reason): return .noWorker(reason)
            }
        }
        return words.isEmpty ? .nothing : .text(Array(words.prefix(WorkLimits.words)))
    }

    /// The files in it that are not hidden, in the order of their paths.
    private func parts(of package: StorePath) -> [StorePath] {
        let walk = FolderWalk(store, startingAt: package, longestPath: StorePath.longest)
        var parts: [StorePath] = []
        while parts.count < Self.mostParts, let folder = try? walk.next() {
            walk.list(folder) { name, kind in
                let path = folder.path.appending(EntryName(copying: name))
                let isHidden = path.moved(from: package, to: .root)?.isHidden ?? true
                if kind == .file, !isHidden, path.bytes.count <= StorePath.longest { parts.append(path) }
                return parts.count < Self.mostParts
            }
        }
        return parts.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }
}
