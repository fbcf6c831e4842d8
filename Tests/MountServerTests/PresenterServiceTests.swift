import Glibc
import MountClient
import MountProtocol
import TestSupport
import Testing

struct PresenterServiceTests {
    @Test func aClientIsAskedAndAnswers() throws {
        try withServer { socket, mount in
            let attending = try ServiceConnection(to: socket)
            let calls = try ServiceConnection(to: socket)
            let question = PresenterMessage.Question(
                id: 5, path: DocumentPath("/store/a".utf8), access: .reading, saves: true, deletes: false)
            var seen: [PresenterMessage] = []
            try attending.stream(PresenterInterface.attend, Empty()) { (found) throws(ServiceCallError) in
                if let session = found.session {
                    #expect(found.messages.isEmpty && !found.overflow)
                    let item = PresentedItem(path: DocumentPath("/store/a".utf8), contents: true, unsaved: true)
                    let presenter = try calls.call(PresenterInterface.present, .init(item, in: session)).presenter
                    #expect(presenter == 7)
                    try calls.call(PresenterInterface.setUnsaved, .init(false, of: 7, in: session))
                    try calls.call(PresenterInterface.answer, .init(to: 5, from: 7, failure: "full", in: session))
                    try calls.call(PresenterInterface.answer, .init(to: 6, from: 7, in: session))
                    try calls.call(PresenterInterface.withdraw, .init(7, in: session))
                    #expect(throws: ServiceCallError.self) { try calls.call(PresenterInterface.withdraw, .init(8, in: session)) }
                    #expect(throws: ServiceCallError.self) { try calls.call(PresenterInterface.withdraw, .init(7, in: session + "0")) }
                    mount.presenters.tell(PresenterMessage(presenter: 7, question: question))
                    mount.presenters.tell(PresenterMessage(over: 5))
                }
                seen += found.messages
                return seen.count < 2
            }
            #expect(seen == [PresenterMessage(presenter: 7, question: question), PresenterMessage(over: 5)])
            let asked = mount.presenters.asked.withLock { $0 }
            #expect(asked == [
                "present /store/a true true", "unsaved 7 false", "answer 5 7 full", "answer 6 7 -", "withdraw 7", "withdraw 8",
            ])
        }
    }

    @Test func presentersEndWithTheConnectionThatAttends() throws {
        try withServer { socket, mount in
            var peer: RawPeer? = RawPeer(socket)
            peer?.send(#"{"method":"org.quire.Presenters.Attend","more":true}"#)
            let reply = try #require(peer?.receive())
            let session = String(try #require(reply.split(separator: #""session":""#).last?.split(separator: "\"").first))
            let calls = try ServiceConnection(to: socket)
            try calls.call(PresenterInterface.withdraw, .init(7, in: session))
            peer = nil
            eventually { mount.presenters.asked.withLock { $0.last } == "end" }
            #expect(throws: ServiceCallError.self) { try calls.call(PresenterInterface.withdraw, .init(7, in: session)) }
        }
    }
}
