import StorePrimitives

/// The places of KDE's file managers and dialogs: an XBEL file (XML Bookmark Exchange Language) with elements of KDE's own, which stay as
/// they are. A change is kept only if the parser then finds what was to be.
struct KDEPlaces: SidebarFile {
    let path: String

    func folders(in content: [UInt8]) throws(CommandFailure) -> [[UInt8]] {
        guard !content.isEmpty else { return [] }
        do throws(CommandFailure) {
            return try XMLText(content: content).starts("href").filter { $0.element == "bookmark" }.compactMap { $0.value.flatMap { FileURI.path(of: $0) } }
        } catch { throw notUnderstood }
    }

    func adding(_ folder: [UInt8], to content: [UInt8]) throws(CommandFailure) -> [UInt8] {
        let name = folder.split(separator: UInt8(ascii: "/")).last ?? []
        guard let end = content.ranges(of: Array("</xbel>".utf8)).last?.lowerBound else { throw notUnderstood }
        let element = """
             <bookmark href="\(XMLText.escaped(FileURI.text(of: folder)))">
              <title>\(XMLText.escaped(name))</title>
              <info>
               <metadata owner="http://freedesktop.org">
                <bookmark:icon name="folder"/>
               </metadata>
              </info>
             </bookmark>

            """
        let added = content.prefix(end) + Array(element.utf8) + content.dropFirst(end)
        return try checked(Array(added), has: try folders(in: content) + [folder])
    }

    func removing(_ folder: [UInt8], from content: [UInt8]) throws(CommandFailure) -> [UInt8] {
        let kept = try XMLText(content: content).removing("bookmark", where: "href") { FileURI.path(of: $0) == folder }
        return try checked(kept.content, has: try folders(in: content).filter { $0 != folder })
    }

    private func checked(_ content: [UInt8], has folders: [[UInt8]]) throws(CommandFailure) -> [UInt8] {
        guard try self.folders(in: content) == folders else { throw notUnderstood }
        return content
    }

    private var notUnderstood: CommandFailure { CommandFailure("\(path): is no file of places as KDE writes them; it is left as it is") }
}
