internal import CFuse
internal import Glibc
public import SystemPackage

extension FuseSession {
    /// Registers an open file as backing: the kernel keeps it until `closeBacking`. Whoever writes through it later is checked
    /// against the identity and capabilities of the thread that registers. One ioctl, about 1 µs.
    ///
    /// Throws .tooManySymbolicLinkLevels when the store's file system is itself stacked (overlayfs), .operationNotPermitted
    /// without CAP_SYS_ADMIN.
    public func openBacking(_ descriptor: Int32) throws(Errno) -> BackingID {
        let id = quire_backing_open(device, descriptor)
        guard id > 0 else { throw Errno(rawValue: errno) }
        return BackingID(id)
    }

    public func closeBacking(_ id: BackingID) { _ = quire_backing_close(device, id.rawValue) }
}
