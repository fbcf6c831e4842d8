import CGio
import CLinux
import Glibc
import StorePrimitives
import Synchronization

/// Who renders which type: what is built in, and the programs that are described in the folders `thumbnailers`. Those are read
/// again when they have changed, or programs have come or gone, within two seconds.
public final class ProviderTable: Sendable {
    private struct State {
        var files: [(file: ThumbnailerFile, isOwn: Bool)] = []
        var seen: [String] = []
        var stamp = ""
        var checked: Int64 = .min
        var found: [DocumentType: [Provider]] = [:]
    }
    /// The user's own first.
    private let folders: [String]
    private let state = Mutex(State())
    private static let checkInterval: Int64 = 2_000_000_000

    /// - Parameter ownFolder: the user's; what stands there comes before what is built in. Nil for a daemon that serves all.
    public init(ownFolder: String?, systemFolders: [String]) { folders = [ownFolder ?? ""] + systemFolders }

    /// The folders of the calling user (XDG Base Directory Specification); root's are the system's.
    public convenience init() {
        let dataFolders = g_get_system_data_dirs()
        var systemFolders: [String] = []
        var index = 0
        while let folder = dataFolders?[index] {
            systemFolders.append(String(cString: folder).trimmingSlashes + "/thumbnailers")
            index += 1
        }
        let own = geteuid() == 0 ? nil : String(cString: g_get_user_data_dir()) + "/thumbnailers"
        self.init(ownFolder: own, systemFolders: systemFolders)
    }

    /// Who is to be tried for a type, in this order: the nearest in the type's tree first; of those as near, the user's own
    /// programs, what is built in, the system's programs.
    public func providers(for type: DocumentType) -> [Provider] {
        if type == .folder { return [.folder] }
        return state.withLock { state in
            refresh(&state)
            if let found = state.found[type] { return found }
            let ancestors = type.ancestors
            let kinds = [type] + ancestors
            var candidates: [(steps: Int, origin: Int, provider: Provider)] = BuiltInProviders.matches(type, ancestors)
                .map { ($0.steps, 1, .builtIn($0.subject)) }
            for (file, isOwn) in state.files {
                guard file.thumbnail != nil, let steps = kinds.firstIndex(where: { file.types.contains($0) }) else { continue }
                candidates.append((steps, isOwn ? 0 : 2, .program(file)))
            }
            // Stable: files are in the order of their names.
            let ordered = candidates.enumerated().sorted {
                ($0.element.steps, $0.element.origin, $0.offset) < ($1.element.steps, $1.element.origin, $1.offset)
            }
            let found = ordered.map(\.element.provider)
            state.found[type] = found
            return found
        }
    }

    /// Tells one table from another, and from itself when programs have come or gone, or there is another worker.
    public var stamp: String {
        state.withLock { state in
            refresh(&state)
            return state.stamp
        }
    }

    /// Who makes of a document of a type what can be shown, in this order: programs that apps brought along, the nearest in the
    /// type's tree first, and an office.
    func converters(for type: DocumentType) -> [Converter] {
        let kinds = [type] + type.ancestors
        var found = state.withLock { state in
            refresh(&state)
            return state.files.enumerated().compactMap { index, entry in
                entry.file.preview.flatMap { line in
                    kinds.firstIndex { entry.file.types.contains($0) }.map { (steps: $0, index: index, converter: Converter(line)) }
                }
            }
        }
        found.sort { ($0.steps, $0.index) < ($1.steps, $1.index) }
        let office = Converter.isOffice(type) ? Converter.office : nil
        return found.map(\.converter) + (office.map { [$0] } ?? [])
    }

    private func refresh(_ state: inout State) {
        let now = cl_monotonic_ns()
        guard state.checked == .min || now - state.checked > Self.checkInterval else { return }
        state.checked = now
        var places: [(path: String, isOwn: Bool)] = []
        var names: Set<String> = []
        for (index, folder) in folders.enumerated() {
            // A file hides those of its name in later folders.
            for name in Self.names(in: folder).sorted() where name.hasSuffix(".thumbnailer") && names.insert(name).inserted {
                places.append(("\(folder)/\(name)", index == 0))
            }
        }
        let described = places.map { Self.dated($0.path) }
        let seen = Self.programFolders.map(Self.dated) + described
        guard seen != state.seen else { return }
        state.seen = seen
        state.found = [:]
        state.files = places.compactMap { place in ThumbnailerFile(path: place.path).map { ($0, place.isOwn) } }
        let programs = state.files.map { $0.file.program }
        state.stamp = DesktopURI.md5(([Self.dated(WorkerProgram.path)] + described + programs).joined(separator: "\n"))
    }

    /// A path, and when what is there was changed.
    private static func dated(_ path: String) -> String {
        var status = stat()
        return "\(path) \(stat(path, &status) == 0 ? saturatedNanoseconds(status.st_mtim) : 0)"
    }

    /// What a file names as TryExec comes and goes here.
    private static let programFolders = ["/usr/bin", "/usr/local/bin"]

    static func names(in folder: String) -> [String] {
        guard !folder.isEmpty, let listing = g_dir_open(folder, 0, nil) else { return [] }
        defer { g_dir_close(listing) }
        var names: [String] = []
        while let name = g_dir_read_name(listing) { names.append(String(cString: name)) }
        return names
    }
}

extension String {
    fileprivate var trimmingSlashes: String { String(reversed().drop { $0 == "/" }.reversed()) }
}
