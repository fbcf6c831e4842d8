import Glibc
import WorkerProtocol

/// What is in an archive, for who browses it.
enum ArchiveContents {
    /// Regular files and folders; links, devices and the like are left out.
    static func list(_ input: Int32) throws(WorkRefusal) -> ArchiveListing {
        let archive = try ArchiveReader(input)
        var entries: [ArchiveListing.Entry] = []
        var index = 0
        while entries.count < WorkLimits.entries, let entry = try archive.next() {
            defer { index += 1 }
            guard entry.isFolder || entry.isFile else { continue }
            entries.append(
                ArchiveListing.Entry(
                    index: index, path: [entry.path], isFolder: entry.isFolder, size: entry.size, modified: entry.modified))
        }
        return ArchiveListing(entries: entries)
    }

    static func extract(_ input: Int32, entry wanted: Int) throws(WorkRefusal) -> [UInt8] {
        let archive = try ArchiveReader(input)
        var index = 0
        while let entry = try archive.next() {
            if index == wanted {
                guard entry.isFile else { throw WorkRefusal("it is no file") }
                return try archive.content(limit: WorkLimits.result)
            }
            index += 1
        }
        throw WorkRefusal("there is nothing of that number in it")
    }
}
