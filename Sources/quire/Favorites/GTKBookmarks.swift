/// The bookmarks of GTK's file choosers and of GNOME's and Xfce's file managers: a line each, a URI and, after a space, a label.
struct GTKBookmarks: SidebarFile {
    let path: String

    func folders(in content: [UInt8]) throws(CommandFailure) -> [[UInt8]] { Self.lines(content).compactMap { Self.folder($0) } }

    func adding(_ folder: [UInt8], to content: [UInt8]) throws(CommandFailure) -> [UInt8] {
        let newline = UInt8(ascii: "\n")
        return content + (content.isEmpty || content.last == newline ? [] : [newline]) + FileURI.text(of: folder) + [newline]
    }

    func removing(_ folder: [UInt8], from content: [UInt8]) throws(CommandFailure) -> [UInt8] {
        Array(Self.lines(content).filter { Self.folder($0) != folder }.joined(separator: [UInt8(ascii: "\n")]))
    }

    private static func lines(_ content: [UInt8]) -> [ArraySlice<UInt8>] { content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) }

    private static func folder(_ line: ArraySlice<UInt8>) -> [UInt8]? { FileURI.path(of: line.prefix { $0 != UInt8(ascii: " ") }) }
}
