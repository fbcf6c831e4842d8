public import Coordination
public import DocumentStore

/// What the `-o` lists of a mount say.
public struct MountOptions: Hashable, Sendable {
    public enum Passthrough: String, CaseIterable, Sendable {
        /// The kernel reads and writes documents itself where it can and the daemon may set that up.
        case auto
        case off
    }

    public enum VirtualFolderMode: String, CaseIterable, Sendable {
        /// Shown by readdir of the mount's root.
        case listed
        /// Reached by name only.
        case hidden
        /// Not there at all.
        case off
    }

    public enum Restarting: String, CaseIterable, Sendable {
        /// The mount is made again when its daemon has died.
        case on
        /// It is left as it is: apps get an error until somebody mounts or unmounts.
        case off
    }

    public enum TextSearching: String, CaseIterable, Sendable {
        /// Searches find words in documents' texts, which are read in the background.
        case on
        case off
        /// And in pictures, where Tesseract is installed.
        case pictures
    }

    /// Other users than the one who mounts may use the mount.
    public var allowOther = false
    public var readOnly = false
    public var passthrough = Passthrough.auto
    public var restarting = Restarting.on
    public var virtualFolders = VirtualFolderMode.listed
    /// Nil: on if one user has the mount. Root does not read the documents of all users unless told to.
    public var textSearching: TextSearching?
    /// Which folders are documents.
    public var packages = PackageEndings.standard
    /// A mount point beside the store may have entries, which the mount hides.
    public var nonEmpty = false
    /// After what time a save is a stream: written in place from then on.
    public var streamTimes = StreamTimes()
    /// What is never saved by transactions.
    public var livePatterns = LivePatterns.standard
    /// Programs that serve others' files, by their names as ps(1) shows them.
    public var relays = Relays.standard
    /// Whether a save is safe from a power cut when its close returns: the rename is made durable, not the content alone.
    public var syncsSaves = false
    /// How long claims, opens and presenters are waited for.
    public var coordinationTimes = CoordinationTimes()
    /// What is kept for `quire recover`.
    public var keptLimits = KeptVersions.Limits()
    /// Options for the kernel, as libfuse takes them (`nosuid`, `noexec`, `sync` …), each once, `ro` among them.
    public var kernelOptions: [String] = []

    public init() {}

    /// Parses lists such as `["allow_other,ro", "virtual=hidden"]`. Where two options contradict, the later holds. Options
    /// that only concern mount(8) and fstab are accepted and have no effect here.
    public init(parsing lists: [String]) throws(MountOptionError) {
        for list in lists {
            for option in list.split(separator: ",") { try apply(String(option)) }
        }
    }

    private mutating func apply(_ option: String) throws(MountOptionError) {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let value = parts.count > 1 ? String(parts[1]) : nil
        if try applySaveOption(name, value) { return }
        switch name {
        case "passthrough": passthrough = try Self.choice(name, value)
        // Earlier versions took the kernel's requests through io_uring with it.
        case "uring": break
        case "restart": restarting = try Self.choice(name, value)
        case "virtual": virtualFolders = try Self.choice(name, value)
        case "packages": try addPackages(value)
        case "search-text": textSearching = try Self.choice(name, value) as TextSearching
        case _ where Self.isForMountCommand(name): break
        case _ where value != nil: throw .unknown(option, nearest: Self.nearest(to: name))
        case "allow_other": allowOther = true
        case "nonempty": nonEmpty = true
        case "ro", "rw":
            readOnly = name == "ro"
            pass(name, instead: name == "ro" ? "rw" : "ro")
        case _ where Self.opposites[name] != nil: pass(name, instead: Self.opposites[name]!)
        case _ where Self.withoutEffect.contains(name): break
        default: throw .unknown(option, nearest: Self.nearest(to: name))
        }
    }

    private mutating func pass(_ option: String, instead opposite: String) {
        kernelOptions.removeAll { $0 == option || $0 == opposite }
        kernelOptions.append(option)
    }

    /// The kernel's options that libfuse knows, with what each takes back.
    private static let opposites = [
        "suid": "nosuid", "nosuid": "suid", "dev": "nodev", "nodev": "dev", "exec": "noexec", "noexec": "exec",
        "sync": "async", "async": "sync", "noatime": "atime", "atime": "noatime", "dirsync": "dirsync",
    ]

    /// Accepted because fstab lines carry them: mount(8) acts on them, they are in force anyway, or they speak of access
    /// times, which the store's own file system keeps.
    private static let withoutEffect: Set<String> = [
        "defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail", "_netdev", "silent", "loud",
        "default_permissions", "relatime", "norelatime", "strictatime", "nostrictatime", "diratime", "nodiratime",
        "lazytime", "nolazytime",
    ]

    /// Comments and settings for other readers of fstab, with or without a value.
    private static func isForMountCommand(_ name: String) -> Bool {
        name.hasPrefix("x-") || name.hasPrefix("X-") || name == "comment" || name == "user" || name.isEmpty
    }

    private static func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, _ value: String?
    ) throws(MountOptionError) -> Choice where Choice.RawValue == String {
        guard let choice = Choice(rawValue: value ?? "") else {
            throw .badValue(option: name, value: value, allowed: Choice.allCases.map(\.rawValue))
        }
        return choice
    }

    /// Quire's own options and the kernel's, as they are completed: those that take a value end in `=`.
    public static let names: [String] = {
        let withValue = ["passthrough", "restart", "virtual", "search-text", "packages"] + coordinationOptionNames.filter { $0 != "sync-saves" }
        return (["allow_other", "nonempty", "ro", "rw", "sync-saves"] + withValue.map { $0 + "=" } + opposites.keys).sorted()
    }()

    /// The known option that differs least from `name`, if by two fifths of its letters at most.
    private static func nearest(to name: String) -> String? {
        let known =
            ["allow_other", "nonempty", "packages", "passthrough", "restart", "search-text", "virtual", "ro", "rw"]
            + coordinationOptionNames + opposites.keys + withoutEffect
        let measured = known.sorted().map { (name: $0, distance: editDistance(name, $0)) }
        guard let best = measured.min(by: { $0.distance < $1.distance }), best.distance * 5 <= max(name.count, 3) * 2
        else { return nil }
        return best.name
    }

    /// The number of single-letter changes between two words (Levenshtein).
    private static func editDistance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let replaced = diagonal + (letter == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}

/// Why an option list was not understood.
public enum MountOptionError: Error, Hashable, Sendable {
    case unknown(String, nearest: String?)
    case badValue(option: String, value: String?, allowed: [String])
    /// A value that is one of too many to name.
    case unusable(option: String, value: String?, expected: String)
}

extension MountOptionError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknown(let option, let nearest?): "unknown mount option '\(option)'; did you mean '\(nearest)'?"
        case .unknown(let option, nil): "unknown mount option '\(option)'; 'quire mount --help' lists them"
        case .badValue(let option, let value?, let allowed):
            "mount option '\(option)' cannot be '\(value)': use \(allowed.joined(separator: ", or "))"
        case .badValue(let option, nil, let allowed):
            "mount option '\(option)' needs a value: \(allowed.map { "\(option)=\($0)" }.joined(separator: " or "))"
        case .unusable(let option, let value?, let expected): "mount option '\(option)' cannot be '\(value)': it takes \(expected)"
        case .unusable(let option, nil, let expected): "mount option '\(option)' needs a value: it takes \(expected)"
        }
    }
}
