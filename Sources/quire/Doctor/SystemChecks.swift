import CLinux
import DocumentRendering
import Glibc
import StorePrimitives
import SystemPackage

/// One thing a mount needs or is better with.
struct SystemCheck: Encodable {
    enum Result: String, Encodable {
        case ok
        /// Works without, but less well.
        case advice
        /// Mounting fails without.
        case missing

        var mark: String {
            switch self {
            case .ok: "ok       "
            case .advice: "advice   "
            case .missing: "MISSING  "
            }
        }
    }

    let name: String
    let result: Result
    let finding: String
    let remedy: String?

    init(_ name: String, _ result: Result, _ finding: String, remedy: String? = nil) {
        self.name = name
        self.result = result
        self.finding = finding
        self.remedy = result == .ok ? nil : remedy
    }
}

/// What `quire doctor` looks at, for the calling user.
enum SystemChecks {
    static func all(folder: [UInt8]) -> [SystemCheck] {
        let isRoot = getuid() == 0
        return [
            device(), fusermount(isRoot: isRoot), allowOther(isRoot: isRoot), library(), fstab(), units(isRoot: isRoot),
            passthrough(), attributes(of: folder), openFiles(), watches(), thumbnails(), notifications(), exports(of: folder),
        ]
    }

    /// Documents are rendered in a sandbox or not at all.
    private static func thumbnails() -> SystemCheck {
        let name = "thumbnails"
        switch SandboxCheck.run(workerProgram: WorkerProgram.path, path: "/proc/self/exe") {
        case .holds: return SystemCheck(name, .ok, "are drawn in a sandbox that holds")
        case .leaks(let findings):
            return SystemCheck(
                name, .advice, "who draws them could \(findings.joined(separator: ", "))", remedy: "update bubblewrap and the kernel")
        case .fails(let reason):
            return SystemCheck(
                name, .advice, "are not drawn: \(reason)",
                remedy: "install the packages bubblewrap and libvips42, and \(WorkerProgram.name) beside quire; the kernel must let users "
                    + "make namespaces")
        }
    }

    private static func exports(of folder: [UInt8]) -> SystemCheck {
        let path = (try? CanonicalPath.resolve(folder)) ?? folder
        guard let exported = NetworkExports.current().reaching(path) else {
            return SystemCheck("NFS", .ok, "\(shown(path)) is not exported")
        }
        return SystemCheck("NFS", .advice, "\(shown(exported)) is exported: \(NetworkExports.finding)", remedy: NetworkExports.remedy)
    }

    private static func device() -> SystemCheck {
        let name = "/dev/fuse"
        var status = stat()
        guard stat(name, &status) == 0 else {
            return SystemCheck(name, .missing, "not found", remedy: "load the kernel's FUSE module: modprobe fuse")
        }
        do {
            _ = try Descriptor(opening: name, flags: O_RDWR)
            return SystemCheck(name, .ok, "can be opened")
        } catch {
            return SystemCheck(name, .missing, "cannot be opened: \(error)", remedy: Fusermount.deviceRemedy)
        }
    }

    private static func fusermount(isRoot: Bool) -> SystemCheck {
        let name = "fusermount3"
        // Root mounts without it.
        let without = isRoot ? SystemCheck.Result.advice : .missing
        guard let path = Fusermount.path else {
            return SystemCheck(name, without, "not found in PATH", remedy: "install the package fuse3")
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_ISUID != 0, status.st_uid == 0 else {
            return SystemCheck(name, without, "\(path) is not set-uid root", remedy: "chown root \(path); chmod u+s \(path)")
        }
        return SystemCheck(name, .ok, "\(path), set-uid root")
    }

    private static func allowOther(isRoot: Bool) -> SystemCheck {
        if isRoot { return SystemCheck("allow_other", .ok, "root may always say it") }
        if Fusermount.allowsOther { return SystemCheck("allow_other", .ok, "\(Fusermount.configuration) allows it") }
        return SystemCheck(
            "allow_other", .advice, "\(Fusermount.configuration) does not let ordinary users say it",
            remedy: "only if other users are to use your mounts: root adds the line user_allow_other there")
    }

    private static func library() -> SystemCheck {
        // The version of the library that is loaded, not of the headers Quire was built with.
        guard let symbol = dlsym(nil, "fuse_pkgversion") else {
            return SystemCheck("libfuse", .missing, "not loaded", remedy: "install the package libfuse3-3")
        }
        // Safe: fuse_lowlevel.h declares const char *fuse_pkgversion(void), a constant string.
        typealias Version = @convention(c) () -> UnsafePointer<CChar>
        return SystemCheck("libfuse", .ok, String(cString: unsafeBitCast(symbol, to: Version.self)()))
    }

    /// mount(8) runs mount.fuse3, which looks for the program of the type `fuse.quire` where the system's programs are.
    private static func fstab() -> SystemCheck {
        let name = "mount -t fuse.quire"
        let helpers = ["/sbin/mount.fuse3", "/usr/sbin/mount.fuse3", "/sbin/mount.fuse", "/usr/sbin/mount.fuse"]
        guard helpers.contains(where: { access($0, X_OK) == 0 }) else {
            return SystemCheck(name, .advice, "mount.fuse3 not found", remedy: "for fstab: install the package fuse3")
        }
        let places = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"].map { $0 + "/quire" }
        guard let place = places.first(where: { access($0, X_OK) == 0 }) else {
            return SystemCheck(
                name, .advice, "mount(8) does not find quire",
                remedy: "for fstab: install quire in /usr/local/bin")
        }
        return SystemCheck(name, .ok, "mount(8) finds \(place)")
    }

    /// Whether `quire enable` can be used, and what it enabled has started.
    private static func units(isRoot: Bool) -> SystemCheck {
        let name = isRoot ? "mounts at boot" : "mounts at login"
        // As sd_booted(3) finds out.
        guard access("/run/systemd/system", F_OK) == 0 else {
            return SystemCheck(name, .advice, "systemd does not run here, so 'quire enable' fails", remedy: "use fstab (quire help mounting)")
        }
        guard ServiceUnit.isInstalled else {
            return SystemCheck(
                name, .advice, "the unit quire@.service is not installed, so 'quire enable' fails", remedy: "install the package (quire help installing)")
        }
        guard !ServiceUnit.haveFailed else {
            return SystemCheck(
                name, .advice, "a unit quire@… has failed", remedy: "see why: systemctl\(isRoot ? "" : " --user") status 'quire@*'")
        }
        return SystemCheck(name, .ok, "'quire enable FOLDER' can be used")
    }

    private static func notifications() -> SystemCheck {
        let name = "notifications"
        guard FileSystem.program("notify-send") != nil else {
            return SystemCheck(
                name, .advice, "'quire notify' cannot show that a save was rescued: there is no notify-send",
                remedy: "on a desktop: install the package libnotify-bin")
        }
        return SystemCheck(name, .ok, "'quire notify' can show that a save was rescued")
    }

    private static func passthrough() -> SystemCheck {
        var names = utsname()
        uname(&names)
        let release = withUnsafeBytes(of: &names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        guard numbers.count == 2, (numbers[0], numbers[1]) >= (6, 9) else {
            return SystemCheck(
                "passthrough", .advice, "kernel \(release) does not know it",
                remedy: "Linux 6.9 or newer reads and writes faster")
        }
        guard cl_has_capability(Int32(truncatingIfNeeded: CL_CAP_SYS_ADMIN)) != 0 else {
            return SystemCheck(
                "passthrough", .advice, "kernel \(release) knows it, but only root (CAP_SYS_ADMIN) may use it",
                remedy: "mounts of ordinary users work without, slower")
        }
        return SystemCheck("passthrough", .ok, "kernel \(release), CAP_SYS_ADMIN")
    }

    private static func attributes(of folder: [UInt8]) -> SystemCheck {
        let name = "attributes of \(shown(folder))"
        do {
            _ = try FileSystem.attribute("user.xdg.tags", of: folder)
        } catch .noData {
        } catch .notSupported {
            return SystemCheck(
                name, .advice, "this file system keeps none",
                remedy: "tags live in Quire's index only, and other programs do not see them; ext4, btrfs, xfs keep them")
        } catch {
            return SystemCheck(name, .missing, "\(error)", remedy: "name a folder that you may read")
        }
        return SystemCheck(name, .ok, "kept, tags live with the documents")
    }

    private static func openFiles() -> SystemCheck {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(clamping: RLIMIT_NOFILE.rawValue), &limit)
        let finding = "\(limit.rlim_cur) now, \(limit.rlim_max) at most"
        return SystemCheck(
            "open files", limit.rlim_max < 1024 ? .advice : .ok, finding, remedy: "raise it: ulimit -n 1024 or more")
    }

    private static func watches() -> SystemCheck {
        let text = FileSystem.contents("/proc/sys/fs/inotify/max_user_watches") ?? []
        let limit = Int(String(decoding: text, as: UTF8.self).filter(\.isNumber)) ?? 0
        // One watch a folder, and the daemon of root uses fanotify instead.
        return SystemCheck(
            "inotify watches", limit < 100_000 ? .advice : .ok, "\(limit) for each user",
            remedy: "a store of more folders is not watched whole: sysctl fs.inotify.max_user_watches=524288")
    }
}
