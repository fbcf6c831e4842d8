import CLinux
import DocumentStore
import Foundation
import Glibc
import StorePrimitives
import SystemPackage
import Testing

/// A store and a state folder of one test's own.
final class VersionFixture {
    let test: TestFolder
    let root: Descriptor
    let versions: VersionStore
    /// Where the store is, without a slash at the end.
    let path: String
    let statePath: String

    convenience init(on base: String, limits: KeptVersions.Limits = KeptVersions.Limits(), shares: UserShares? = nil) throws {
        try self.init(in: try TestFolder(on: base), limits: limits, shares: shares)
    }

    /// One of several in a folder: making and removing a folder for each takes long.
    init(in test: TestFolder, number: Int = 0, limits: KeptVersions.Limits = KeptVersions.Limits(), shares: UserShares? = nil) throws {
        self.test = test
        path = number == 0 ? test.path + "/store" : test.path + "/store\(number)"
        statePath = number == 0 ? test.path + "/state" : test.path + "/state\(number)"
        for folder in [path, statePath] { _ = try check(cl_mkdirat(AT_FDCWD, folder, 0o755)) }
        root = try Descriptor(opening: path, flags: CL_O_PATH | O_DIRECTORY)
        versions = try VersionStore(SharedStore(root), stateFolder: statePath, limits: limits, shares: shares)
    }

    /// Another daemon's view of the same store, after the one before has ended.
    func remounted() throws -> VersionStore { try VersionStore(SharedStore(root), stateFolder: statePath) }

    func write(_ text: String, to name: String) throws { try test.write(text, to: path.dropFirst(test.path.count + 1) + "/" + name) }

    func read(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }

    func bytes(_ name: String) throws -> [UInt8] {
        let file = try Descriptor(opening: path + "/" + name, flags: O_RDONLY)
        var all = [UInt8](repeating: 0, count: Int(try status(name).st.st_size))
        let count = try check(cl_pread(file.number, &all, all.count, 0))
        return Array(all[..<count])
    }

    func status(_ name: String) throws -> cl_status {
        var status = cl_status()
        _ = try check(cl_statx(root.number, name, AT_SYMLINK_NOFOLLOW, &status))
        return status
    }

    func identity(_ name: String) throws -> FileIdentity { FileIdentity(try status(name)) }

    /// A working copy of a document, with this content written to it.
    func copy(of name: String, _ text: String = "new", unnamed: Bool = true) throws -> WorkingCopy {
        let document = try Descriptor(opening: path + "/" + name, flags: O_WRONLY)
        let copy = try versions.workingCopy(of: document, in: root, unnamed: unnamed, by: .daemon)
        try put(text, into: copy)
        return copy
    }

    func put(_ text: String, into copy: WorkingCopy) throws {
        let bytes = Array(text.utf8)
        _ = try check(cl_pwrite(copy.file.number, bytes, bytes.count, 0))
    }

    /// What stands in the store, `.` and `..` left out.
    var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

    @discardableResult
    func shell(_ script: String) throws -> Int32 { try test.shell(script, in: path) }

    /// What a shell command writes to its standard output, without the last newline.
    func output(_ command: String) throws -> String {
        try test.shell("(\(command)) >../output", in: path)
        return try String(contentsOfFile: test.path + "/output", encoding: .utf8).trimmingCharacters(in: .newlines)
    }
}

let isRoot = geteuid() == 0

/// The kinds of working copies: without a name, and as on file systems where each file has one.
struct VersionSetting: CustomTestStringConvertible, Codable, Sendable {
    let base: String
    let unnamed: Bool

    static let all = TestFolder.bases.flatMap { base in [true, false].map { VersionSetting(base: base, unnamed: $0) } }

    var testDescription: String { "\(base), \(unnamed ? "unnamed" : "named")" }
}

extension WorkingCopy {
    /// Every step of a publication, as the mount takes them.
    func publishFully(
        as name: EntryName, in folder: Descriptor, replacing expected: FileIdentity? = nil, keepingTimes: Bool = false,
        durably: Bool = false
    ) throws(PublishFailure) {
        do throws(Errno) { try writeOut() } catch { throw .failed(error) }
        try publish(as: name, in: folder, replacing: expected, keepingTimes: keepingTimes)
        guard durably else { return }
        do throws(Errno) { try makeDurable(namesIn: folder) } catch { throw .failed(error) }
    }
}
