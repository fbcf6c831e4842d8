import MountClient
import MountProtocol
import MountServer
import TestSupport
import Testing

struct WatchedSearchTests {
    private func changes(inserting place: Int) -> ResultChanges {
        ResultChanges(
            complete: true, more: false, removed: [], moved: [], inserted: [PlacedDocument(at: place, document: StubMount.found)], changed: [])
    }

    @Test func resultsAreToldAsTheyChange() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            mount.results.add(.success(changes(inserting: 0)))
            try connection.open(SearchInterface.watch, SearchRequest(query: "a", limit: 1_000_000, folder: DocumentPath("/store/b".utf8)))
            #expect(try connection.nextReply(to: SearchInterface.watch) == changes(inserting: 0))
            mount.results.add(.success(changes(inserting: 1)))
            mount.results.add(.failure(.failed("too long")))
            #expect(try connection.nextReply(to: SearchInterface.watch) == changes(inserting: 1))
            #expect(throws: ServiceCallError.self) { _ = try connection.nextReply(to: SearchInterface.watch) }
            #expect(mount.asked.withLock { $0 } == ["watch a 20000 /store/b"])
        }
    }

    @Test func whatIsWrongEndsItAtOnce() throws {
        try withServer { socket, mount in
            for request in [SearchRequest(query: "("), SearchRequest(query: "a", limit: 0)] {
                let connection = try ServiceConnection(to: socket)
                try connection.open(SearchInterface.watch, request)
                #expect(throws: ServiceCallError.self) { _ = try connection.nextReply(to: SearchInterface.watch) }
            }
        }
    }

    @Test func aPeerThatGoesEndsIt() throws {
        try withServer { socket, mount in
            do {
                let connection = try ServiceConnection(to: socket)
                mount.results.add(.success(changes(inserting: 0)))
                try connection.open(SearchInterface.watch, SearchRequest(query: "a"))
                _ = try connection.nextReply(to: SearchInterface.watch)
            }
            eventually { mount.results.isEnded.load(ordering: .relaxed) }
        }
    }

    /// As any program may send that serves a socket.
    @Test func placesThatAreNoneArePassedOver() {
        let document = StubMount.found
        let hostile = ResultChanges(
            complete: true, more: false, removed: [5, -1, .max], moved: [PlaceChange(from: 9, to: -4), PlaceChange(from: 0, to: .max)],
            inserted: [PlacedDocument(at: .min, document: document), PlacedDocument(at: 1, document: document)],
            changed: [PlacedDocument(at: 77, document: document)])
        #expect(hostile.applied(to: [1, 2, 3]) { _ in 9 } == [2, 9, 3])
        let moving = ResultChanges(
            complete: true, more: false, removed: [1], moved: [PlaceChange(from: 3, to: 0)], inserted: [PlacedDocument(at: 2, document: document)],
            changed: [PlacedDocument(at: 3, document: document)])
        #expect(moving.applied(to: [10, 11, 12, 13]) { _ in 9 } == [13, 10, 9, 9])
    }
}
