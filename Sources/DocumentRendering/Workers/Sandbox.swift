import CGio
import Glibc

/// The command line of bubblewrap (bwrap(1)) that a worker runs in: no network, no home, no processes but its own, of the file
/// system the programs and libraries alone, and an empty folder in memory. All in it ends when the daemon's thread does.
struct Sandbox {
    /// The worker's program.
    let worker: String
    /// A program of somebody else's, by its path: the worker runs it. Nil for the worker's own decoders.
    var program: String?
    /// Bytes of the folder in memory.
    private static let scratch = 320 << 20
    /// Where the worker stands.
    private static let place = "/quire-worker"

    static var isInstalled: Bool {
        guard let path = g_find_program_in_path("bwrap") else { return false }
        g_free(path)
        return true
    }

    /// The words, the first of which is the program to start.
    var command: [String] {
        // As root it is nobody who reads documents.
        let descent = geteuid() == 0 ? ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"] : []
        // When memory runs out it is this that goes, and not what somebody works with (choom(1)).
        return descent + ["choom", "-n", "1000", "--", "bwrap"] + options + ["--", Self.place] + (program == nil ? [] : ["--programs"])
    }

    private var options: [String] {
        var words = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "worker"]
        words += ["--ro-bind", "/usr", "/usr"]
        for folder in ["bin", "sbin", "lib", "lib32", "lib64"] { words += Self.systemFolder(folder) }
        for path in Self.settings { words += ["--ro-bind-try", path, path] }
        for folder in Self.libraries { words += ["--ro-bind-try", folder, folder] }
        words += ["--ro-bind", worker, Self.place, "--size", "\(Self.scratch)", "--tmpfs", "/tmp", "--dev", "/dev"]
        if let program {
            // Programs of others may need to know themselves; the decoders are better off without.
            words += ["--proc", "/proc"]
            // Nothing of bubblewrap's own is in there, which has no filter of system calls.
            words += ["--as-pid-1"]
            for path in Self.settingsOfPrograms { words += ["--ro-bind-try", path, path] }
            if !program.hasPrefix("/usr/") { words += ["--ro-bind-try", program, program] }
        }
        // What is in memory besides /tmp has no limit.
        words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
        for (name, value) in environment { words += ["--setenv", name, value] }
        return words
    }

    private var environment: [(String, String)] {
        [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/tmp"), ("XDG_CACHE_HOME", "/tmp"), ("LANG", "C.UTF-8")]
    }

    /// What libraries read of /etc, and caches that spare them work.
    private static let settings = [
        "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/ImageMagick-6", "/etc/ImageMagick-7", "/etc/papersize",
        "/var/cache/fontconfig", "/opt",
    ]

    /// What LibreOffice does not start without, which everybody may read.
    private static let settingsOfPrograms = ["/etc/passwd", "/etc/libreoffice", "/var/lib/libreoffice"]

    /// A folder of the system's as it is: a link into /usr, as on most, or a folder.
    private static func systemFolder(_ name: String) -> [String] {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/\(name)", &target, target.count - 1)
        guard length > 0 else { return ["--ro-bind-try", "/\(name)", "/\(name)"] }
        return ["--symlink", String(decoding: target[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self), "/\(name)"]
    }

    /// Where the Swift libraries are, if this program was not built with them in it.
    private static let libraries: [String] = {
        guard let maps = fopen("/proc/self/maps", "re") else { return [] }
        defer { fclose(maps) }
        var line = [CChar](repeating: 0, count: Int(PATH_MAX) + 128)
        while fgets(&line, Int32(clamping: line.count), maps) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard let start = text.firstIndex(of: "/"), let end = text.range(of: "/libswiftCore.so")?.lowerBound, start < end
            else { continue }
            let folder = String(text[start..<end])
            return folder.hasPrefix("/usr/") ? [] : [folder]
        }
        return []
    }()
}

extension String {
    fileprivate func range(of part: String) -> Range<Index>? {
        indices.first { self[$0...].hasPrefix(part) }.map { $0..<index($0, offsetBy: part.count) }
    }
}
