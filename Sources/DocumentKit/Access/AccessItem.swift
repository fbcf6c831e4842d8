import CLinux
import Foundation
import Glibc
import StorePrimitives

/// An item of an access while it is waited for.
struct AccessItem: Sendable {
    let intent: FileAccessIntent
    private(set) var path: AbsolutePath
    /// Whether it was there when the access was granted.
    private(set) var wasThere: Bool
    /// Where a reader in a mount finds it as it was when the access was granted.
    var snapshot: AbsolutePath?
    /// Holds on to the item as such, so that it is found where it was moved to. Opened without access: nobody notices.
    private let item: Descriptor?

    init(_ intent: FileAccessIntent) throws(FileCoordinationError) {
        self.intent = intent
        path = try AbsolutePath(intent.url, resolvesLink: intent.readingOptions.contains(.resolvesSymbolicLink))
        let number = AbsolutePath.withCString(path.bytes) {
            cl_openat(AT_FDCWD, $0, Self.pathOnly | O_NOFOLLOW | O_CLOEXEC, 0)
        }
        item = number < 0 ? nil : Descriptor(owning: number)
        wasThere = number >= 0
        if intent.readingOptions.contains(.resolvesSymbolicLink) { intent.url = path.url }
    }

    /// The access is granted: if nothing is at the path any more, and the item was moved, it is meant where it is now.
    mutating func follow() {
        wasThere = path.exists
        guard !wasThere, let item, let place = Self.path(of: item), place != path, place.exists else { return }
        path = place
        wasThere = true
        intent.url = place.url
    }

    /// Whether what is claimed here includes what another names.
    func includes(_ other: AccessItem) -> Bool {
        if let snapshot, !other.intent.isWriting, other.path == snapshot || other.path.isInside(snapshot) { return true }
        return namesWhatIncludes(other)
    }

    private func namesWhatIncludes(_ other: AccessItem) -> Bool {
        (path == other.path || intent.coversContents && other.path.isInside(path)) && (intent.isWriting || !other.intent.isWriting)
            && (other.intent.isMetadataOnly || !intent.isMetadataOnly)
    }

    /// Where the kernel has it now; something that is not there if it was deleted.
    private static func path(of item: Descriptor) -> AbsolutePath? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = cl_readlinkat(AT_FDCWD, "/proc/self/fd/\(item.number)", &target, target.count)
        guard count > 0, target[0] == CChar(UInt8(ascii: "/")) else { return nil }
        return AbsolutePath(.init(target[..<count].map { UInt8(bitPattern: $0) }))
    }

    /// O_PATH, hidden behind _GNU_SOURCE.
    private static let pathOnly: Int32 = 0x20_0000
}
