import CoordinationService
import StorePrimitives

/// A mounted store as its daemon runs it.
protocol ServedStore: AnyObject, Sendable {
    /// Answers the service's questions about this mount.
    var service: any MountService { get }

    /// What users have of what is bounded for each.
    var shares: UserShares { get }

    /// Serves the mount until it is unmounted, from inside or outside. Calls `onReady` once the kernel's first question has
    /// been answered.
    func serve(onReady: @escaping @Sendable () -> Void) throws

    /// Asks for a clean unmount; `serve` returns when it is done. From any thread.
    func requestUnmount()
}
