import ArgumentParser
import CLinux
import DocumentRendering
import Glibc
import StorePrimitives
import Synchronization

/// Renders all that is in folders, and says how far it is.
struct ThumbnailWarming {
    let size: ThumbnailSize
    let json: Bool

    private struct Progress {
        var next = 0
        var drawn = 0
        var refused: [String] = []
        var shown: Int64 = 0
    }
    private struct Report: Encodable {
        let drawn: Int
        let refused: Int
        let reasons: [String]
    }

    func run(_ places: [[UInt8]]) throws {
        var documents: [(path: [UInt8], source: any ThumbnailSource)] = []
        for place in places {
            let source = try ThumbnailSources.source(for: place)
            documents += Self.documents(in: place).map { ($0, source) }
        }
        let progress = Mutex(Progress())
        let all = documents
        // Two for each processor: one is always on its way.
        let threads = (0..<2 * max(1, sysconf(Int32(truncatingIfNeeded: _SC_NPROCESSORS_ONLN)))).map { index in
            NamedThread("quire-warm-\(index)") { [size] in
                while true {
                    let number = progress.withLock { progress in
                        defer { progress.next += 1 }
                        return progress.next
                    }
                    guard number < all.count else { return }
                    var failure: CommandFailure?
                    do throws(CommandFailure) {
                        _ = try all[number].source.render(all[number].path, size)
                    } catch {
                        failure = error
                    }
                    progress.withLock { progress in
                        if let failure { progress.refused.append(failure.message) } else { progress.drawn += 1 }
                        Self.show(&progress, of: all.count)
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        let outcome = progress.withLock { $0 }
        Output.progress("")
        if json {
            Output.json(Report(drawn: outcome.drawn, refused: outcome.refused.count, reasons: outcome.refused.sorted()))
        } else {
            for reason in outcome.refused.sorted() { Output.error("quire: \(reason)") }
            Output.line("\(outcome.drawn) drawn" + (outcome.refused.isEmpty ? "." : ", \(outcome.refused.count) not."))
        }
        if outcome.drawn == 0, !outcome.refused.isEmpty { throw ExitCode.failure }
    }

    private static func show(_ progress: inout Progress, of count: Int) {
        let now = cl_monotonic_ns()
        guard now - progress.shown > 100_000_000 else { return }
        progress.shown = now
        Output.progress("\(progress.drawn + progress.refused.count) of \(count)")
    }

    /// What is not hidden, in the order of the paths.
    private static func documents(in place: [UInt8]) -> [[UInt8]] {
        var status = stat()
        guard withCString(place, { lstat($0, &status) }) == 0 else { return [] }
        if status.st_mode & S_IFMT == S_IFREG { return status.st_size > 0 ? [place] : [] }
        guard FileSystem.isFolder(status) else { return [] }
        return (FileSystem.entries(place) ?? []).filter { $0.first != UInt8(ascii: ".") }
            .sorted { $0.lexicographicallyPrecedes($1) }.flatMap { documents(in: CanonicalPath.join(place, $0)) }
    }
}
