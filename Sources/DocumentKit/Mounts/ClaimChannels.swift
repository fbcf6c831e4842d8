import Dispatch
import MountClient
import MountProtocol
import Synchronization

/// The connections for claims of this process. Some that are done with are kept for the next accesses: an access costs one
/// round trip for its claim and one for its end, and a new connection now and then.
final class ClaimChannels: Sendable {
    static let shared = ClaimChannels()

    /// At a time, of the 2,048 that the daemon allows a user in all processes together.
    private static let most = 512
    private static let mostIdle = 8

    /// A leaf lock.
    private let idle = Mutex<[ClaimChannel]>([])
    private let room = DispatchSemaphore(value: most)

    /// Has `body` make a claim on a channel of its own, to be given back by `give`.
    func take<Result>(
        to mount: QuireMount, _ wait: AccessWait, _ body: (ClaimChannel) throws(ServiceCallError) -> Result
    ) throws(FileCoordinationError) -> (ClaimChannel, Result) {
        // Rare, and the wait may be ended: so it looks now and then.
        while room.wait(timeout: .now() + .milliseconds(50)) == .timedOut { try wait.check() }
        do throws(FileCoordinationError) {
            return try attempt(to: mount, wait, body)
        } catch {
            room.signal()
            throw error
        }
    }

    private func attempt<Result>(
        to mount: QuireMount, _ wait: AccessWait, _ body: (ClaimChannel) throws(ServiceCallError) -> Result
    ) throws(FileCoordinationError) -> (ClaimChannel, Result) {
        while true {
            let kept = idle.withLock { idle in
                idle.lastIndex { $0.mount == mount }.map { idle.remove(at: $0) }
            }
            let channel = if let kept { kept } else { try ClaimChannel(to: mount) }
            var isGone = false
            do throws(FileCoordinationError) {
                let result = try wait.run(interrupt: { channel.cut() }) { () throws(FileCoordinationError) in
                    do throws(ServiceCallError) { return try body(channel) } catch {
                        isGone = error == .disconnected
                        // An answer that comes too late would be taken for the next one's.
                        if case .refused = error { give(channel, hasRoom: false) } else { channel.cut() }
                        throw FileCoordinationError(error, in: mount)
                    }
                }
                return (channel, result)
            } catch {
                // One that was idle may have been ended by the daemon, or be of a daemon that is gone.
                guard kept != nil, isGone, error != .cancelled else { throw error }
            }
        }
    }

    /// Takes back a channel that no claim is held on.
    func give(_ channel: ClaimChannel) { give(channel, hasRoom: true) }

    private func give(_ channel: ClaimChannel, hasRoom: Bool) {
        idle.withLock { idle in
            idle.append(channel)
            if idle.count > Self.mostIdle { idle.removeFirst() }
        }
        if hasRoom { room.signal() }
    }

    /// A channel that is of no use any more.
    func drop(_ channel: ClaimChannel) {
        channel.cut()
        room.signal()
    }
}
