import DocumentMount
import Glibc
import StorePrimitives
import SystemPackage

/// What `quire mount` was asked, checked against everything that can be known before the daemon starts. Nothing is
/// changed but a dead mount in the way, which is taken away.
struct MountRequest {
    let store: [UInt8]
    let mountPoint: [UInt8]
    let folders: MountedFolders
    let options: MountOptions
    /// Mount points whose dead mounts were taken away.
    let repaired: [[UInt8]]
    /// A dead mount is there yet, to be taken away just before this one is made.
    let replaces: Bool

    var isInPlace: Bool { store == mountPoint }

    /// - Parameter again: made in the place of a dead mount, of these folders with the same options. Throws if there is none any
    ///   more: somebody has unmounted it.
    init(
        store storePath: [UInt8], mountPoint mountPath: [UInt8], optionLists: [String], again: MountedFolders? = nil
    ) throws(CommandFailure) {
        do {
            options = try MountOptions(parsing: optionLists)
        } catch {
            throw CommandFailure("\(error)")
        }
        var repaired: [[UInt8]] = []
        store = try Self.folder(storePath, called: "store", repaired: &repaired)
        // In place the store is to be seen first.
        replaces = again != nil && storePath != mountPath
        if let again {
            (mountPoint, folders, self.repaired) = (mountPath, again, repaired)
            if !replaces, repaired.isEmpty { throw CommandFailure(unmountedMeanwhile) }
            try Self.checkSystem(options: options)
            return
        }
        mountPoint = try Self.folder(mountPath, called: "mount point", repaired: &repaired)
        self.repaired = repaired
        folders = try MountedFolders(store: store, mountPoint: mountPoint)
        try checkStore()
        try checkMountPoint()
        try Self.checkSystem(options: options)
    }

    /// The canonical path of an existing folder, once no dead mount covers it.
    private static func folder(
        _ path: [UInt8], called what: String, repaired: inout [[UInt8]]
    ) throws(CommandFailure) -> [UInt8] {
        do {
            let named = try CanonicalPath.mountPoint(path)
            if try repairing(named) { repaired.append(named) }
            let canonical = try CanonicalPath.resolve(named)
            guard FileSystem.isFolder(try FileSystem.status(canonical)) else { throw Errno.notDirectory }
            return canonical
        } catch let failure as CommandFailure {
            throw failure
        } catch Errno.noSuchFileOrDirectory {
            // A mistyped command comes here too.
            let hint = path.contains(UInt8(ascii: "/")) ? "" : ", nor a command of this name ('quire --help' lists them)"
            throw CommandFailure("\(shown(path)): there is no such folder to be the \(what)\(hint); make it with mkdir")
        } catch Errno.notDirectory {
            throw CommandFailure("\(shown(path)): is not a folder, so it cannot be the \(what)")
        } catch {
            throw CommandFailure("\(shown(path)): cannot be the \(what): \(error)")
        }
    }

    var unmountedMeanwhile: String { "\(shown(mountPoint)): was unmounted meanwhile, and is not mounted again" }

    private static func repairing(_ mountPoint: [UInt8]) throws(CommandFailure) -> Bool {
        try Unmounting.repair(mountPoint)
    }

    private func checkStore() throws(CommandFailure) {
        guard FileSystem.allows(R_OK | X_OK, store) else {
            throw CommandFailure("\(shown(store)): you may not read this folder; chmod or chown it, or mount as its owner")
        }
        guard !isInPlace else { return }
        if CanonicalPath.isWithin(store, mountPoint) {
            throw CommandFailure(
                "\(shown(store)): the store lies inside the mount point \(shown(mountPoint)), which would cover it; "
                    + "choose a mount point elsewhere, or mount in place: quire mount \(shown(store))")
        }
        if CanonicalPath.isWithin(mountPoint, store) {
            throw CommandFailure(
                "\(shown(mountPoint)): the mount point lies inside the store \(shown(store)), which would then contain "
                    + "itself; choose a mount point elsewhere, or mount in place: quire mount \(shown(store))")
        }
    }

    private func checkMountPoint() throws(CommandFailure) {
        let mount = shown(mountPoint)
        let table = MountTable.current()
        if table.top(at: mountPoint)?.isQuire == true {
            throw CommandFailure("\(mount): is already a Quire mount; 'quire unmount \(mount)' ends it")
        }
        // Users' mounts of one store are apart, and what another user says of a mount does not count.
        if let other = table.quireMounts.first(where: { $0.source == store && ($0.owner == 0 || $0.owner == getuid()) }) {
            let there = shown(other.mountPoint)
            throw CommandFailure("\(shown(store)): is already mounted at \(there); 'quire unmount \(there)' ends that")
        }
        if !isInPlace, !options.nonEmpty, FileSystem.entries(mountPoint)?.isEmpty == false {
            throw CommandFailure(
                "\(mount): the mount point is not empty, and its entries would be hidden; choose an empty folder, "
                    + "or say -o nonempty")
        }
        if getuid() != 0, !FileSystem.allows(W_OK, mountPoint) {
            throw CommandFailure("\(mount): only who may write a folder may mount on it; choose a folder of yours")
        }
    }

    private static func checkSystem(options: MountOptions) throws(CommandFailure) {
        var status = stat()
        guard stat("/dev/fuse", &status) == 0 else {
            throw CommandFailure("/dev/fuse: not found; load the kernel's FUSE module with 'modprobe fuse'")
        }
        guard FileSystem.allows(R_OK | W_OK, Array("/dev/fuse".utf8)) else {
            throw CommandFailure("/dev/fuse: you may not open it; \(Fusermount.deviceRemedy)")
        }
        guard getuid() != 0 else { return }
        guard Fusermount.path != nil else {
            throw CommandFailure("fusermount3: not found, and only root can mount without it; install the package fuse3")
        }
        if options.allowOther, !Fusermount.allowsOther {
            throw CommandFailure(
                "allow_other: \(Fusermount.configuration) does not let ordinary users say this; "
                    + "root adds the line 'user_allow_other' there, or mounts")
        }
    }
}

/// The set-uid program through which ordinary users mount.
enum Fusermount {
    static let configuration = "/etc/fuse.conf"
    /// libfuse opens the device itself before it asks fusermount3.
    static let deviceRemedy =
        "root makes it open to all, as udev does: chmod 666 /dev/fuse (in a container: pass the device and CAP_SYS_ADMIN in)"

    static var path: String? { FileSystem.program("fusermount3") }

    /// Whether its configuration lets ordinary users say allow_other.
    static var allowsOther: Bool {
        let lines = (FileSystem.contents(configuration) ?? []).split(separator: UInt8(ascii: "\n"))
        return lines.contains { line in
            String(decoding: line, as: UTF8.self).filter { !$0.isWhitespace } == "user_allow_other"
        }
    }
}
