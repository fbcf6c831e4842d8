/// `org.quire.Recover`: what `quire recover` asks for.
enum RecoverInterface {
    static let name = "org.quire.Recover"

    struct ListRequest: Codable, Sendable { let before: UInt64? }
    struct ListReply: Codable, Sendable { let versions: [RecoverableVersion] }
    struct ReadRequest: Codable, Sendable {
        let id: UInt64
        let offset: Int64
        let count: Int?
    }
    struct ReadReply: Codable, Sendable {
        let offset: Int64
        let content: Base64Bytes
    }
    struct Named: Codable, Sendable { let id: UInt64 }
    struct KeepRequest: Codable, Sendable { let path: DocumentPath }
    struct KeepReply: Codable, Sendable { let id: UInt64? }

    /// What one reply holds at most: a third more in base64.
    static let mostBytes = 256 << 10

    static func interface(_ service: any RecoverService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod("List") { (request: ListRequest, peer) in
                    ListReply(versions: try service.keptVersions(before: request.before, for: peer))
                },
                VarlinkMethod("Read") { (request: ReadRequest, peer) in
                    guard request.offset >= 0 else { throw VarlinkError.invalidParameter("offset") }
                    let count = request.count ?? mostBytes
                    guard count > 0 else { throw VarlinkError.invalidParameter("count") }
                    let part = try service.keptContent(
                        of: request.id, from: request.offset, count: min(count, mostBytes), for: peer)
                    return ReadReply(offset: part.offset, content: Base64Bytes(part.bytes))
                },
                VarlinkMethod("Drop") { (request: Named, peer) in
                    try service.dropKeptVersion(request.id, for: peer)
                    return Empty()
                },
                VarlinkMethod("Keep", isLong: true) { (request: KeepRequest, peer) in
                    KeepReply(id: try service.keepPresentVersion(of: request.path, for: peer))
                },
            ])
    }

    static let text = """
        # Versions of documents that can be had back for some days: what was written
        # by saves that failed or were killed, and what lost against another save.
        #
        # A version is its document's owner's, and root's; for others there is none.
        # Paths are as in org.quire.Mount, errors are those of org.quire.Mount.
        #
        # To restore a version, read it and write it to the document through the
        # mount, as any program would.
        interface org.quire.Recover

        type Saver (pid: int, process: string, uid: int)

        # path: where the document stood. time: seconds since 1970. hasContent: false
        # if it was too large to be kept. saver: who wrote it, if that is known.
        # reason: killed, relay-ended, write-error, publish-error, overtaken, relayed,
        # replaced, removed, unpublished, unfinished, edited, restored. explanation: the same in words.
        # owner, group, mode: the document's.
        type Version (
          id: int,
          path: string,
          time: float,
          size: int,
          hasContent: bool,
          saver: ?Saver,
          reason: string,
          explanation: string,
          owner: int,
          group: int,
          mode: int
        )

        # Newest first; those older than the version before, if it is given. A reply
        # holds some hundred; an empty one says that there are no more.
        method List(before: ?int) -> (versions: []Version)

        # Content from offset on, in base64: count bytes at most, 262144 unless given.
        # The reply's offset is later than the one asked for if there is a hole in
        # between, which reads as zeros. At the end content is empty, and offset is
        # the size.
        method Read(id: int, offset: int, count: ?int) -> (offset: int, content: string)

        method Drop(id: int) -> ()

        # Keeps the present content of a document which the caller may write, for
        # its owner, before another version is restored over it. No id: it is too
        # large.
        method Keep(path: string) -> (id: ?int)

        """
}
