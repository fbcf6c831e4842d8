/// Programs that serve others' files: many clients save under one process, so lineage means nothing, and a client that was killed looks
/// like one that has closed its document.
public enum Relays {
    /// By their names as ps(1) shows them.
    public static let standard = [
        // Sandboxed apps open documents by its mount.
        "xdg-document-portal",
        // Samba, SFTP (sshd where it serves that itself), FTP, NFS.
        "smbd", "sftp-server", "sshd", "vsftpd", "proftpd", "pure-ftpd", "nfsd",
        // Other file systems and clouds, with a mount or a server of their own.
        "gvfsd-fuse", "kio-fuse", "sshfs", "rclone",
        // Virtual machines and containers.
        "virtiofsd", "fuse-overlayfs",
    ]
}
