import MountClient
import MountProtocol
import Synchronization

/// A connection for claims: of one access at a time and of those within it, as a connection that waits for one claim can
/// neither ask for another one nor end one.
final class ClaimChannel: Sendable {
    let mount: QuireMount
    private let breaker: ConnectionBreaker
    /// Held during calls, which block.
    private let connection: Mutex<ServiceConnection>

    init(to mount: QuireMount) throws(FileCoordinationError) {
        self.mount = mount
        let connection = try mount.connect()
        breaker = connection.breaker
        self.connection = Mutex(connection)
    }

    func claim(_ request: ClaimCall) throws(ServiceCallError) -> GrantedClaim {
        try connection.withLock { (connection) throws(ServiceCallError) in
            try connection.call(CoordinationInterface.claim, request, timeout: request.longestWait)
        }
    }

    func release(_ claim: GrantedClaim, discards: Bool, pictures: [DocumentPicture] = []) throws(ServiceCallError) {
        try connection.withLock { (connection) throws(ServiceCallError) in
            _ = try connection.call(CoordinationInterface.release, .init(claim, discards: discards, pictures: pictures))
        }
    }

    /// Ends the connection and all its claims, also while one is waited for. From any thread.
    func cut() { breaker.cut() }
}
