internal import CLinux
import Glibc
public import SystemPackage

/// A pthread with a name, for `top` and `ps` (15 bytes at most). Threads that wait in system calls are these, never those of
/// Swift's cooperative pool, which may not wait. To be joined or detached, once.
public final class NamedThread: @unchecked Sendable {
    private let thread: pthread_t

    /// Starts `body` on a new thread. Traps if there may be no more threads: a daemon without its threads is none.
    public convenience init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        do throws(Errno) {
            try self.init(starting: name, body)
        } catch {
            fatalError("no thread to be had (\(error)): raise the limit on processes (ulimit -u)")
        }
    }

    /// As above, but throws EAGAIN if there may be no more threads.
    public init(starting name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                // Safe: the one reference that passRetained made is taken here, once.
                let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                _ = cl_set_thread_name(start.name)
                start.body()
                return nil
            }, start.toOpaque())
        guard result == 0 else {
            start.release()
            throw Errno(rawValue: result)
        }
        self.thread = thread
    }

    /// Whether this is the calling thread.
    public var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }

    public func join() { pthread_join(thread, nil) }

    /// Ends a system call in which the thread waits, with EINTR. Only before it is joined.
    public func interrupt() {
        Self.installHandler
        pthread_kill(thread, SIGURG)
    }

    /// SIGURG, which is ignored unless handled, with a handler that does nothing: without SA_RESTART.
    private static let installHandler: Void = {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGURG, &action, nil)
    }()

    public func detach() { pthread_detach(thread) }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
