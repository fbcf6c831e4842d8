import CLinux
public import Glibc
public import StorePrimitives
import SystemPackage

/// Previews are made where thumbnails are rendered, in turns with these. Completions are called once, on a thread that renders,
/// which they may not hold up. What nobody wants any more when its turn comes is not made, and fails.
extension Thumbnailer {
    /// Pixels of a page's longer side: of A4 enough to read.
    public static let pagePixels = 1_600

    /// What there is to see of a document. That fails only where it cannot be read: of what nobody can render there are facts.
    public func preview(
        _ subject: RenderSubject, for user: uid_t? = nil, isWanted: @escaping @Sendable () -> Bool = { true },
        completion: @escaping @Sendable (Result<Preview, PreviewFailure>) -> Void
    ) {
        perform(user, isWanted, completion) { (renderer, thumbnailer) throws(RenderRefusal) in
            try renderer.preview(of: subject, thumbnailer)
        }
    }

    /// A part, in a file in memory. It fails if the document has another version by now. - Parameter pixels: of a page's longer side.
    public func part(
        _ part: PreviewPart, of preview: Preview, pixels: Int = pagePixels, for user: uid_t? = nil,
        isWanted: @escaping @Sendable () -> Bool = { true },
        completion: @escaping @Sendable (Result<Descriptor, PreviewFailure>) -> Void
    ) {
        perform(user, isWanted, completion) { (renderer, thumbnailer) throws(RenderRefusal) in
            try renderer.part(part, of: preview, pixels: pixels, thumbnailer)
        }
    }

    private func perform<Value>(
        _ user: uid_t?, _ isWanted: @escaping @Sendable () -> Bool, _ completion: @escaping @Sendable (Result<Value, PreviewFailure>) -> Void,
        _ body: @escaping @Sendable (Renderer, Thumbnailer) throws(RenderRefusal) -> Value
    ) {
        perform(for: user) { [weak self] renderer in
            guard let self else { return completion(.failure(PreviewFailure(reason: "the mount is going away", isLasting: false))) }
            guard isWanted() else { return completion(.failure(PreviewFailure(reason: "nobody waits for it", isLasting: false))) }
            do throws(RenderRefusal) {
                completion(.success(try body(renderer, self)))
            } catch {
                completion(.failure(PreviewFailure(reason: error.reason, isLasting: error.lasts == .always)))
            }
        } cancel: {
            completion(.failure(PreviewFailure(reason: "too many are waiting", isLasting: false)))
        }
    }
}
