import CLinux
import Glibc
public import StorePrimitives
import Synchronization
public import SystemPackage

/// Where a version stands under a hidden name.
typealias HiddenPlace = (folder: Descriptor, name: EntryName)

/// The hidden name of a working copy. From the start on file systems that have no files without a name; on others it gets one to be
/// published, or when the save has lasted for a moment: what has no name is gone with the daemon.
extension WorkingCopy {
    struct Naming {
        var place: HiddenPlace?
        /// Published or dropped: it gets no name any more.
        var isOver = false
    }

    /// How long the save has lasted, in nanoseconds. By the clock that people set.
    public var age: Int64 { cl_realtime_coarse_ns() &- time }

    public var hasName: Bool { naming.withLock { $0.place != nil || $0.isOver } }

    /// Has the sweep of the next daemon find the copy if this one dies (`VersionStore.sweep`). One linkat(2). Does nothing if the
    /// copy has a name, or is published or discarded. Throws what keeps it from having one.
    public func makeFindable(in folder: Descriptor) throws(Errno) {
        try naming.withLock { (naming) throws(Errno) in
            if naming.place == nil, !naming.isOver { naming.place = try named(in: folder, .part) }
        }
    }

    /// Moves the name, if the copy has one in `folder`, to another folder; nil: the copy loses it. False if it has none there.
    public func moveName(outOf folder: FileIdentity, to other: Descriptor?) -> Bool {
        naming.withLock { naming in
            guard let place = naming.place, let status = try? FileStatus(of: place.folder), FileIdentity(status) == folder
            else { return false }
            if let other,
                place.name.withCString({ cl_renameat2(place.folder.number, $0, other.number, $0, CL_RENAME_NOREPLACE) }) == 0
            {
                naming.place = (other, place.name)
            } else {
                versions.leftNames.remove(place)
                naming = Naming(place: nil, isOver: true)
            }
            return true
        }
    }

    /// Gives the copy a hidden name if it has none; `isNew` if it had none. `document`: the inode number of the one that it belongs to, if
    /// that is another than the one it was made of.
    func nameHidden(
        in folder: Descriptor, _ kind: HiddenName.Kind = .whole, for document: UInt64? = nil
    ) throws(Errno) -> (place: HiddenPlace, isNew: Bool) {
        try naming.withLock { (naming) throws(Errno) in
            if let place = naming.place { return (place, false) }
            let place = try named(in: folder, kind, for: document)
            naming.place = place
            return (place, true)
        }
    }

    func dropName() {
        naming.withLock { naming in
            if let place = naming.place { versions.leftNames.remove(place) }
            naming = Naming(place: nil, isOver: true)
        }
    }

    /// The name is another file's by now.
    func giveUpName() { naming.withLock { $0 = Naming(place: nil, isOver: true) } }

    private func named(in folder: Descriptor, _ kind: HiddenName.Kind, for document: UInt64? = nil) throws(Errno) -> HiddenPlace {
        while true {
            let name = versions.names.next(for: document ?? documentIdentity.inode, kind)
            do throws(Errno) {
                _ = try check(name.withCString { cl_link_open_file(file.number, folder.number, $0) })
                return (folder, name)
            } catch .fileExists {
                // Left from a process that had the same pid and start time.
            }
        }
    }

    /// 0, or the errno of unlinkat(2), negative.
    @discardableResult
    static func unlink(_ hidden: HiddenPlace) -> Int32 {
        hidden.name.withCString { cl_unlinkat(hidden.folder.number, $0, 0) }
    }
}
