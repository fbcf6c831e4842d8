import CLinux
public import StorePrimitives

/// File systems that others can change without this kernel knowing: no watch tells of what another machine, or the server
/// behind a FUSE mount, does there.
public enum RemoteFileSystem {
    /// f_type of statfs(2), from linux/magic.h and the file systems' sources.
    private static let types: Set<UInt32> = [
        0x6969,  // NFS
        0xFF53_4D42, 0xFE53_4D42, 0x517B,  // CIFS, SMB 2, SMB
        0x6573_5546,  // FUSE and virtiofs
        0x0102_1997,  // 9P
        0x00C3_6400,  // Ceph
        0x5346_414F, 0x6B41_4653,  // AFS
        0x7375_7245,  // Coda
        0x0116_1970, 0x7461_636F,  // GFS2, OCFS2
        0x0BD0_0BD0, 0x4750_4653, 0x1983_0326,  // Lustre, GPFS, BeeGFS
        0x786F_4256, 0xBACB_ACBC, 0x7C7C_6673,  // folders shared by VirtualBox, VMware, Parallels
    ]

    /// Whether the file system `descriptor` (O_PATH will do) lies on is one of them; false if it cannot be asked.
    public static func holds(_ descriptor: Descriptor) -> Bool {
        let type = cl_filesystem_type(descriptor.number)
        return type > 0 && types.contains(UInt32(truncatingIfNeeded: type))
    }
}
