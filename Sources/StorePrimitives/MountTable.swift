/// The mounts of a process's mount namespace, as /proc/PID/mountinfo lists them (proc(5)).
package struct MountTable {
    package struct Entry: Hashable {
        package let id: Int
        package let parentID: Int
        /// `major:minor`, as the kernel writes it here and, in hexadecimal, in /proc/PID/maps.
        package let major, minor: UInt32
        package let mountPoint: [UInt8]
        package let options: [String]
        package let fileSystemType: String
        package let source: [UInt8]
        package let superOptions: [String]

        package var isQuire: Bool { fileSystemType == "fuse.quire" }

        /// The user who mounted a FUSE file system.
        package var owner: UInt32? {
            superOptions.first { $0.hasPrefix("user_id=") }.flatMap { UInt32($0.dropFirst("user_id=".count)) }
        }
    }

    /// In the kernel's order: what was mounted later comes later.
    package let entries: [Entry]

    /// Parses the file's text. Lines that are not of its form are passed over.
    package init(parsing text: [UInt8]) {
        entries = text.split(separator: UInt8(ascii: "\n")).compactMap { Self.entry($0) }
    }

    /// Of this process's mount namespace. Empty if /proc cannot be read.
    package static func current() -> MountTable { MountTable(parsing: (try? WholeFile.read("/proc/self/mountinfo")) ?? []) }

    package var quireMounts: [Entry] { entries.filter { $0.isQuire && top(at: $0.mountPoint) == $0 } }

    /// What is mounted at exactly this path; the uppermost if several are.
    package func top(at mountPoint: [UInt8]) -> Entry? { entries.last { $0.mountPoint == mountPoint } }

    /// Mounts directly on top of, or inside, this one.
    package func children(of entry: Entry) -> [Entry] { entries.filter { $0.parentID == entry.id && $0.id != entry.id } }

    /// `36 35 98:0 / /mnt rw,noatime shared:1 - ext3 /dev/root rw`, with any number of fields before the hyphen.
    private static func entry(_ line: ArraySlice<UInt8>) -> Entry? {
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.count >= 9, let hyphen = fields[6...].firstIndex(where: { $0.elementsEqual("-".utf8) }),
            fields.count > hyphen + 3, let id = Int(text(fields[0])), let parentID = Int(text(fields[1]))
        else { return nil }
        let device = text(fields[2]).split(separator: ":").compactMap { UInt32($0) }
        guard device.count == 2 else { return nil }
        return Entry(
            id: id, parentID: parentID, major: device[0], minor: device[1], mountPoint: unescaped(fields[4]),
            options: list(fields[5]), fileSystemType: text(unescaped(fields[hyphen + 1])[...]),
            source: unescaped(fields[hyphen + 2]), superOptions: list(fields[hyphen + 3]))
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
    private static func list(_ bytes: ArraySlice<UInt8>) -> [String] { text(bytes).split(separator: ",").map(String.init) }

    /// Space, tab, newline, hash and backslash are written as a backslash and three octal digits.
    package static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3, let value = UInt8(text(digits), radix: 8) {
                result.append(value)
                rest = rest.dropFirst(3)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}
