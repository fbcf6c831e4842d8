import DocumentIndex
import StorePrimitives

/// The facts by which a document is found again, wherever it has been moved.
struct Bookmark: Equatable {
    /// Of the index, with the document's id in it.
    let epoch: Int64
    let id: Int64
    let identity: DocumentIdentity
    let size: Int64
    let modified: Timestamp
    /// Of the content (`ContentHint`).
    let hint: [UInt8]
    let path: StorePath

    private static let version: UInt8 = 1

    /// All of it in bytes, the numbers least byte first.
    var bytes: [UInt8] {
        var bytes = [Self.version]
        for number in [epoch, id, Int64(bitPattern: identity.inode), identity.birth, size, modified.nanoseconds] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes + [UInt8(clamping: hint.count)] + hint + [UInt8(clamping: identity.handle.count)] + identity.handle + path.bytes
    }

    init(epoch: Int64, document: Document, hint: [UInt8]) {
        (self.epoch, self.hint) = (epoch, hint)
        (id, identity, size, modified, path) = (document.id.rawValue, document.identity, document.size, document.modified, document.path)
    }

    /// Nil for bytes that are none.
    init?(_ bytes: some Sequence<UInt8>) {
        var rest = Array(bytes)[...]
        guard rest.popFirst() == Self.version else { return nil }
        var numbers: [Int64] = []
        for _ in 0..<6 {
            guard rest.count >= 8 else { return nil }
            numbers.append(rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int64($1) })
            rest = rest.dropFirst(8)
        }
        func field() -> [UInt8]? {
            guard let count = rest.popFirst(), rest.count >= Int(count) else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return Array(rest.prefix(Int(count)))
        }
        guard let hint = field(), let handle = field(), let path = StorePath(parsing: rest), path.bytes.elementsEqual(rest), !path.isRoot else { return nil }
        var next = numbers.makeIterator()
        guard let epoch = next.next(), let id = next.next(), let inode = next.next(), let birth = next.next(), let size = next.next(),
            let modified = next.next()
        else { return nil }
        (self.epoch, self.id, self.size, self.hint, self.path) = (epoch, id, size, hint, path)
        identity = DocumentIdentity(inode: UInt64(bitPattern: inode), birth: birth, handle: handle)
        self.modified = Timestamp(nanoseconds: modified)
    }
}
