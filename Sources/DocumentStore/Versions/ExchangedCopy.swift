import CLinux
import Glibc
public import StorePrimitives
public import SystemPackage

/// A copy of a document that is to take the document's name, while a program goes on writing the document's own inode: for a save that
/// begins on an open descriptor (ftruncate(2) to nothing), which can be led to no other file.
///
/// The blocks are shared where the file system can. Nothing here takes a lock.
public final class ExchangedCopy: Sendable {
    /// With the document's content, attributes and times. It has no name that anybody knows.
    private let copy: WorkingCopy
    /// The document, open for reading and writing.
    private let document: Descriptor
    private let base: VersionAttributes

    /// Which file has the document's name afterwards.
    public var identity: FileIdentity { copy.identity }
    public var file: Descriptor { copy.file }

    /// - Parameters:
    ///   - document: open for reading and writing.
    ///   - status: the document's.
    ///   - folder: the document's own; O_PATH will do.
    ///   - user: whose save it is.
    /// Writes the whole document where the file system shares no blocks, and waits for the disk, since the copy is the document if
    /// the machine loses its power from then on.
    init(of document: Descriptor, status: cl_status, in folder: Descriptor, versions: VersionStore) throws(WorkingCopyRefusal) {
        copy = try WorkingCopy(of: document, status: status, in: folder, versions: versions, unnamed: true)
        self.document = document
        do throws(Errno) {
            try FileCopy.copy(document, to: copy.file)
            _ = try check(cl_futimens(copy.file.number, [status.st.st_atim, status.st.st_mtim]))
            try copy.writeOut()
        } catch {
            copy.discard()
            throw error == .noSpace || error == .diskQuotaExceeded ? .room : .unmade(error)
        }
        do throws(AttributeFailure) {
            base = try copy.ownAttributes()
        } catch {
            copy.discard()
            throw .attribute(error)
        }
    }

    /// Gives the copy the document's name, and the document a hidden one. Returns the document as what its saver writes.
    ///
    /// Throws `.replaced`, `.removed` or `.linked` if the name does not stand for the document, and nothing else, any more, and `.failed` with
    /// EINVAL where the file system cannot exchange names. Three system calls.
    public func exchange(as name: EntryName, in folder: Descriptor) throws(PublishFailure) -> WorkingCopy {
        _ = try copy.checked(name, in: folder, is: copy.documentIdentity)
        do throws(Errno) {
            let hidden = try copy.nameHidden(in: folder, .part, for: copy.identity.inode).place
            _ = try check(
                hidden.name.withCString { old in
                    name.withCString { new in cl_renameat2(hidden.folder.number, old, folder.number, new, CL_RENAME_EXCHANGE) }
                })
            copy.giveUpName()
            return WorkingCopy(exchanging: document, for: copy, base, at: hidden)
        } catch {
            throw .failed(error)
        }
    }

    /// It is not to take the name.
    public func discard() { copy.discard() }
}
