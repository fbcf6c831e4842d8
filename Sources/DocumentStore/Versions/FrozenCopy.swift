import CLinux
import Glibc
public import StorePrimitives
public import SystemPackage

/// Copies of a document's content that have no name and go with their last descriptor: for snapshots of what is written in
/// place.
extension VersionStore {
    /// Contents of up to this many bytes are copied where the file system cannot share their blocks.
    public static let largestFrozenCopy: Int64 = 64 << 20

    /// The content as it is at one instant, open for reading and writing.
    ///
    /// Where blocks can be shared (ioctl_ficlone(2)) that is one step. Elsewhere the content is copied until two passes in a row
    /// find the same, unless `isStill` says that nobody writes meanwhile.
    /// - Parameters:
    ///   - document: open for reading.
    ///   - folder: on the same file system; O_PATH will do.
    ///   - user: makes the copy, and has it counted in its quota. The calling thread acts for that user afterwards.
    ///   - mayTake: asked with the bytes that the copy takes of its own before these are written, 0 for shared blocks; again if there
    ///     are more. False: there is to be none.
    public func frozenCopy(
        of document: Descriptor, in folder: Descriptor, isStill: Bool, by user: ActingUser, mayTake: (Int64) -> Bool
    ) throws(FrozenCopyFailure) -> Descriptor {
        let copy: Descriptor
        do throws(Errno) {
            try user.assume()
            copy = try unnamedFile(in: folder)
        } catch {
            throw .failed(error)
        }
        if cl_clone(copy.number, document.number) == 0 {
            guard mayTake(0) else { throw .overShare }
            return copy
        }
        var taken: Int64 = -1
        for _ in 0..<Self.frozenAttempts {
            let isCopied: Bool
            do throws(Errno) {
                let size = try FileCopy.size(of: document)
                guard size <= Self.largestFrozenCopy else { throw .fileTooLarge }
                if size > taken {
                    guard mayTake(size) else { throw .diskQuotaExceeded }
                    taken = size
                }
                try FileCopy.copy(document, to: copy, size: size)
                isCopied = isStill ? true : try Self.haveSameContent(document, copy)
            } catch {
                switch error {
                case .fileTooLarge: throw .tooLarge
                case .diskQuotaExceeded: throw .overShare
                default: throw .failed(error)
                }
            }
            if isCopied { return copy }
        }
        throw .keepsChanging
    }

    private static let frozenAttempts = 8

    private func unnamedFile(in folder: Descriptor) throws(Errno) -> Descriptor {
        let number = cl_openat(folder.number, ".", CL_O_TMPFILE | O_RDWR | CL_O_LARGEFILE, 0o600)
        if number >= 0 { return Descriptor(owning: number) }
        // File systems that have none (open(2)): its name goes at once.
        let name = names.next(for: 0, .part)
        return try name.withCString { (name) throws(Errno) in
            let number = try check(cl_openat(folder.number, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | CL_O_LARGEFILE, 0o600))
            _ = cl_unlinkat(folder.number, name, 0)
            return Descriptor(owning: number)
        }
    }

    private static func haveSameContent(_ one: Descriptor, _ other: Descriptor) throws(Errno) -> Bool {
        let size = 1 << 20
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: 2 * size, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: off_t = 0
        while true {
            let count = try check(cl_pread(one.number, buffer, size, offset))
            let otherCount = try check(cl_pread(other.number, buffer + size, size, offset))
            guard count == otherCount, memcmp(buffer, buffer + size, count) == 0 else { return false }
            if count == 0 { return true }
            offset += off_t(count)
        }
    }
}

/// Why there is no frozen copy.
public enum FrozenCopyFailure: Error, Hashable, Sendable {
    /// Over `VersionStore.largestFrozenCopy`, on a file system that cannot share blocks.
    case tooLarge
    /// It was another at each attempt.
    case keepsChanging
    /// Whoever it is made for has as many copies as one may have, or as the file system's quota allows.
    case overShare
    case failed(Errno)
}
