import Testing
import WorkerProtocol

/// What goes between daemon and worker, which may have been taken over.
struct WorkMessageTests {
    static let requests: [WorkRequest] = [
        .render(.pages, maximum: 128, page: 7), .collage(count: 4, maximum: 256),
        .convert(command: ["a", "", "b c"], suffix: ".x", result: "/tmp/y"), .facts(.media), .text(.pages, page: nil), .text(.code, page: 0),
        .links(.pages, page: 3), .words(.pages, .plain), .words(.code, .markup), .words(.text, .mailbox), .list, .extract(entry: 99), .probe(path: "/x"),
    ]
    static let replies: [WorkReply] = [.picture(width: 1, height: 4_096, bands: 4), .refused("é", isPassing: false), .refused("", isPassing: true),
        .facts([Fact("title", "a"), Fact("pages", 3)]), .written(0), .written(64 << 20), .possible(["a", "b"]), .possible([])]

    @Test(arguments: requests) func aRequestIsReadAsItWasMade(request: WorkRequest) { #expect(WorkRequest(message: request.message) == request) }

    @Test(arguments: replies) func aReplyIsReadAsItWasMade(reply: WorkReply) { #expect(WorkReply(message: reply.message) == reply) }

    @Test(arguments: [
        "", "picture", "picture\0", "picture\01\02\03", "picture\00\01\03\0", "picture\01\05000\03\0", "picture\01\01\05\0",
        "picture\01\01\03\0x\0", "picture\0-1\01\03\0", "picture\099999999999999999999\01\03\0", "other\0", "refused\0a\0b\0",
    ])
    func anythingElseIsNoReply(text: String) { #expect(WorkReply(message: Array(text.utf8)) == nil) }

    @Test func bytesThatAreNoTextAreNoReply() { #expect(WorkReply(message: Array("refused\0".utf8) + [0xff, 0]) == nil) }

    @Test func noPartOfAReplyIsOne() {
        for reply in Self.replies.dropLast() {
            let message = reply.message
            for length in 0..<message.count {
                switch WorkReply(message: Array(message.prefix(length))) {
                case nil, .possible, .facts: break
                case let part?: Issue.record("\(part) is a part of \(reply)")
                }
            }
        }
    }
}
