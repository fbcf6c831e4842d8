import CLinux
import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import SystemPackage

/// A kept version's content in an unnamed file of this process's own: whole, before anything is written with it.
struct RecoveredContent {
    private let file: Descriptor
    let size: Int64

    /// Asks the daemon for all of it. Holes stay holes.
    init(of version: RecoverableVersion, in entry: MountTable.Entry) throws(CommandFailure) {
        guard version.hasContent else {
            throw CommandFailure(
                "version \(version.id) of \(version.path) was too large to be kept (\(Figures.size(version.size))); "
                    + "the mount option keep-size says how much is kept")
        }
        let file = try Self.unnamedFile()
        let service: ServiceConnection
        do {
            service = try MountLocator.connect(to: entry)
        } catch {
            throw CommandFailure(error, mountPoint: entry.mountPoint)
        }
        var offset: Int64 = 0
        while true {
            let part: RecoveredPart
            do {
                part = try service.call(RecoverInterface.read, .init(version.id, from: offset))
            } catch {
                throw CommandFailure(error, mountPoint: entry.mountPoint)
            }
            offset = part.offset + Int64(part.bytes.count)
            do throws(Errno) {
                try Self.write(part.bytes[...], to: file.number, at: part.offset)
                if part.bytes.isEmpty { _ = try check(cl_ftruncate(file.number, off_t(offset))) }
            } catch {
                throw CommandFailure("a temporary file cannot be written: \(error); TMPDIR names the folder for it")
            }
            if part.bytes.isEmpty { break }
        }
        self.file = file
        size = offset
    }

    /// Writes it to an empty regular file, with its holes.
    func fill(_ target: Int32) throws(Errno) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset: Int64 = 0
        while true {
            let data = Int64(cl_lseek(file.number, off_t(offset), CL_SEEK_DATA))
            if data == -Int64(ENXIO) { break }
            // Where the file system knows no holes, all is data.
            if data > offset { offset = data }
            let count = try check(cl_pread(file.number, &buffer, buffer.count, off_t(offset)))
            if count == 0 { break }
            try Self.write(buffer[..<count], to: target, at: offset)
            offset += Int64(count)
        }
        if offset < size { _ = try check(cl_ftruncate(target, off_t(size))) }
    }

    /// Writes it where a file may be, or a pipe: holes as zeros.
    func print(to target: Int32) throws(Errno) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset: Int64 = 0
        while true {
            let count = try check(cl_pread(file.number, &buffer, buffer.count, off_t(offset)))
            if count == 0 { return }
            offset += Int64(count)
            var rest = buffer[..<count]
            while !rest.isEmpty {
                rest = rest.dropFirst(try check(rest.withUnsafeBytes { cl_write(target, $0.baseAddress, $0.count) }))
            }
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to target: Int32, at offset: Int64) throws(Errno) {
        var rest = bytes
        var offset = offset
        while !rest.isEmpty {
            let count = try check(rest.withUnsafeBytes { cl_pwrite(target, $0.baseAddress, $0.count, off_t(offset)) })
            rest = rest.dropFirst(count)
            offset += Int64(count)
        }
    }

    /// On a disk rather than in memory, which /tmp may be.
    private static func unnamedFile() throws(CommandFailure) -> Descriptor {
        let own = getenv("TMPDIR").map { [String(cString: $0)] } ?? []
        for folder in own + ["/var/tmp", "/tmp"] where folder.hasPrefix("/") {
            var template = Array("\(folder)/quire-recover.XXXXXX".utf8CString)
            let number = mkstemp(&template)
            guard number >= 0 else { continue }
            unlink(template)
            return Descriptor(owning: number)
        }
        throw CommandFailure("no temporary file can be made; set TMPDIR to a folder you may write")
    }
}
