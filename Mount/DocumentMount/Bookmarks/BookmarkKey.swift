import CGio
import CLinux
import Foundation
import Glibc
import StorePrimitives
import SystemPackage

/// Signs the bookmarks of one store: nobody else can make one. The key is 32 random bytes in the store's state folder.
struct BookmarkKey {
    static let fileName = "bookmark.key"
    private static let length = 32
    /// Of a signature (HMAC with SHA-256, RFC 2104), which is cut to half its length.
    private static let signatureLength = 16

    private let bytes: [UInt8]

    /// Reads the key, or makes one if there is none yet. Throws EBADMSG for one that is damaged: with another one, all bookmarks would be void.
    init(folder: String) throws(Errno) {
        let path = folder + "/" + Self.fileName
        var known: [UInt8]?
        do throws(Errno) { known = try WholeFile.read(path) } catch { guard error == .noSuchFileOrDirectory else { throw error } }
        if let known {
            guard known.count == Self.length else { throw .badMessage }
            bytes = known
            return
        }
        // The kernel's (getrandom(2)).
        var random = SystemRandomNumberGenerator()
        let made = (0..<Self.length).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        try WholeFile.replace(path, with: made, isSynchronized: true)
        bytes = made
    }

    /// The bytes with their signature, as text of letters, digits, `-` and `_` (base64url, RFC 4648).
    func token(of content: [UInt8]) -> String {
        Data(content + signature(of: content)).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The bytes of a token that this key has signed; nil for any other text.
    func content(of token: String) -> [UInt8]? {
        let padding = String(repeating: "=", count: (4 - token.utf8.count % 4) % 4)
        guard token.utf8.count <= Self.longestToken,
            let signed = Data(base64Encoded: token.replacing("-", with: "+").replacing("_", with: "/") + padding), signed.count > Self.signatureLength
        else { return nil }
        let content = Array(signed.dropLast(Self.signatureLength))
        // Of a token there is one text: what a decoder takes beside it is none.
        guard Self.areEqual(Array(self.token(of: content).utf8), Array(token.utf8)) else { return nil }
        return content
    }

    /// Takes as long for texts that differ at their beginning as at their end: the time tells nobody how much of a signature is right.
    private static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static let longestToken = 8_192

    private func signature(of content: [UInt8]) -> [UInt8] {
        let hmac = g_hmac_new(G_CHECKSUM_SHA256, bytes, UInt(bitPattern: bytes.count))
        defer { g_hmac_unref(hmac) }
        g_hmac_update(hmac, content, content.count)
        var (digest, length) = ([UInt8](repeating: 0, count: 32), gsize(32))
        g_hmac_get_digest(hmac, &digest, &length)
        return Array(digest.prefix(Self.signatureLength))
    }
}

/// A few bytes by which a document's content is known again: of SHA-256 over its beginning and its end.
enum ContentHint {
    private static let sampled = 64 << 10
    private static let length = 8

    /// Reads 128 KiB at most.
    static func of(_ file: Descriptor, size: Int64) throws(Errno) -> [UInt8] {
        let checksum = g_checksum_new(G_CHECKSUM_SHA256)
        defer { g_checksum_free(checksum) }
        var buffer = [UInt8](repeating: 0, count: sampled)
        for start in [0, max(0, size - Int64(sampled))] {
            let count = buffer.withUnsafeMutableBytes { pread(file.number, $0.baseAddress, $0.count, off_t(start)) }
            guard count >= 0 else { throw Errno(rawValue: errno) }
            g_checksum_update(checksum, buffer, count)
        }
        var (digest, digestLength) = ([UInt8](repeating: 0, count: 32), gsize(32))
        g_checksum_get_digest(checksum, &digest, &digestLength)
        return Array(digest.prefix(length))
    }
}
