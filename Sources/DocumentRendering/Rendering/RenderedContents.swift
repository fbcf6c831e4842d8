import Glibc
import StorePrimitives
import Synchronization

/// What was rendered, or could not be, by type and length of its content: the same content under another name is not rendered
/// again.
final class RenderedContents: Sendable {
    struct Kind: Hashable {
        let type: DocumentType
        /// Bytes.
        let length: Int64
    }
    /// One that was rendered, or refused.
    fileprivate struct Known {
        let subject: RenderSubject
        var refusal: RenderRefusal?
        /// By whom it was refused (`ProviderTable.stamp`), and when.
        var providers = ""
        var time: time_t = 0
    }
    /// Another subject with the very content.
    struct Same {
        private let known: Known
        let content: Descriptor
        var subject: RenderSubject { known.subject }

        fileprivate init(_ known: Known, _ content: Descriptor) { (self.known, self.content) = (known, content) }

        /// Why it could not be rendered, if the same providers would say so again.
        func refusal(by providers: String, within seconds: Int) -> RenderRefusal? {
            guard let refusal = known.refusal, known.providers == providers,
                refusal.lasts == .always || time(nil) - known.time < seconds
            else { return nil }
            return refusal
        }
    }
    private struct State {
        var subjects: [Kind: [Known]] = [:]
        var order: [Kind] = []
        var rendering: [(number: Int, kind: Kind, subject: RenderSubject)] = []
        var count = 0
    }
    private let state = Mutex(State())
    /// A rendering has.
    private let ended = Condition()
    private static let capacity = 20_000
    /// Of one kind.
    private static let alike = 4
    /// Bytes. To compare larger ones takes longer than to render them.
    private static let longest = 32 << 20
    /// In seconds. No worker takes so long: its time is bounded.
    private static let longestRendering = 120.0

    /// Says that a content is about to be rendered. Waits while another thread renders the same, which began before. `end` is to be
    /// called with what is returned.
    func begin(_ subject: RenderSubject, _ content: Descriptor, _ kind: Kind) -> Int {
        let (number, earlier) = state.withLock { state in
            state.count += 1
            let earlier = kind.length <= Self.longest ? state.rendering.filter { $0.kind == kind } : []
            state.rendering.append((state.count, kind, subject))
            return (state.count, earlier)
        }
        for other in earlier {
            guard let otherContent = try? other.subject.open(), Self.areEqual(content, otherContent, kind.length) else { continue }
            ended.wait(seconds: Self.longestRendering) { state.withLock { !$0.rendering.contains { $0.number == other.number } } }
        }
        return number
    }

    func end(_ number: Int) {
        state.withLock { $0.rendering.removeAll { $0.number == number } }
        ended.changed()
    }

    /// - Parameters:
    ///   - refusal: why it could not be rendered.
    ///   - providers: who would say so again.
    func add(_ subject: RenderSubject, _ kind: Kind, refused refusal: RenderRefusal? = nil, by providers: String = "") {
        let known = Known(subject: subject, refusal: refusal, providers: providers, time: time(nil))
        state.withLock { state in
            if state.order.count >= Self.capacity {
                for kind in state.order.prefix(Self.capacity / 4) { state.subjects[kind] = nil }
                state.order.removeFirst(Self.capacity / 4)
            }
            var subjects = state.subjects[kind, default: []]
            subjects.removeAll { $0.subject.uri == subject.uri }
            subjects.append(known)
            state.subjects[kind] = subjects.suffix(Self.alike)
            state.order.append(kind)
        }
    }

    /// The picture of a document is not of its content any more.
    func remove(_ uri: String) {
        state.withLock { state in
            let found = state.subjects.filter { $0.value.contains { $0.subject.uri == uri } }
            for (kind, subjects) in found { state.subjects[kind] = subjects.filter { $0.subject.uri != uri } }
        }
    }

    /// Others with the very content, found by comparing. Reads both up to the first difference.
    func same(as content: Descriptor, _ kind: Kind, but uri: String) -> [Same] {
        guard kind.length <= Self.longest else { return [] }
        let candidates = state.withLock { $0.subjects[kind] ?? [] }
        return candidates.compactMap { candidate in
            guard candidate.subject.uri != uri, let other = try? candidate.subject.open(), Self.areEqual(content, other, kind.length)
            else { return nil }
            return Same(candidate, other)
        }
    }

    private static func areEqual(_ one: Descriptor, _ other: Descriptor, _ length: Int64) -> Bool {
        let chunk = 256 << 10
        return withUnsafeTemporaryAllocation(byteCount: 2 * chunk, alignment: 16) { buffer in
            let (first, second) = (buffer.baseAddress!, buffer.baseAddress! + chunk)
            var offset: Int64 = 0
            while offset < length {
                let count = pread(one.number, first, chunk, off_t(offset))
                guard count > 0, pread(other.number, second, chunk, off_t(offset)) == count, memcmp(first, second, count) == 0 else {
                    return false
                }
                offset += Int64(count)
            }
            return true
        }
    }
}
