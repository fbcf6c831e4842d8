import CLinux
import Glibc
import StorePrimitives

/// One name of those that change together, as it is logged.
struct GroupItem: Equatable, Sendable {
    /// What stands under a name.
    struct Version: Equatable, Sendable {
        let inode: UInt64
        let birth: Int64
        let size: Int64
        /// In nanoseconds since 1970.
        let modified: Int64

        init(_ status: cl_status) {
            let identity = FileIdentity(status)
            (inode, birth) = (identity.inode, identity.birth)
            size = Int64(status.st.st_size)
            modified = saturatedNanoseconds(status.st.st_mtim)
        }

        fileprivate init?(_ record: RecordLine, from index: Int) {
            guard let inode: UInt64 = record.number(index), let birth: Int64 = record.number(index + 1),
                let size: Int64 = record.number(index + 2), let modified: Int64 = record.number(index + 3)
            else { return nil }
            (self.inode, self.birth, self.size, self.modified) = (inode, birth, size, modified)
        }

        fileprivate var fields: [any CustomStringConvertible] { [inode, birth, size, modified] }

        func isSameFile(as other: Version) -> Bool { inode == other.inode && birth == other.birth }
    }

    let folder: StorePath
    let name: EntryName
    /// In the same folder: where the new version stands, and after the change the old one.
    let hidden: EntryName
    /// Nil: the name goes.
    let new: Version?
    /// Nil: nothing stands under the name.
    let old: Version?
}

extension GroupItem {
    private static let none = [String](repeating: "-", count: 4)

    func record(_ id: UInt64) -> RecordLine {
        var record = RecordLine(["item", id] + (new?.fields ?? Self.none) + (old?.fields ?? Self.none))
        record.fields += [folder.bytes, Array(name.bytes), Array(hidden.bytes)]
        return record
    }

    init?(_ record: RecordLine) {
        guard record.fields.count == 13, let name = EntryName(record.fields[11]), let hidden = EntryName(record.fields[12]),
            let folder = StorePath(parsing: record.fields[10]), folder.bytes == record.fields[10]
        else { return nil }
        new = Version(record, from: 2)
        old = Version(record, from: 6)
        (self.folder, self.name, self.hidden) = (folder, name, hidden)
    }
}
