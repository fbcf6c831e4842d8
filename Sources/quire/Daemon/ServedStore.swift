import CoordinationService
import StorePrimitives
import SystemPackage

/// A mounted store as its daemon runs it.
protocol ServedStore: AnyObject, Sendable {
    /// Answers the service's questions about this mount.
    var service: any MountService { get }

    /// How threads act for the users whose calls they carry out.
    var callThreads: CallThreads { get }

    /// What users have of what is bounded for each.
    var shares: UserShares { get }

    /// Serves the mount until it is unmounted, from inside or outside. Calls `onReady` once the kernel's first question has
    /// been answered, and `lettingGo` when no more will be: descriptors of `duplicateDevice` are to be closed then.
    func serve(onReady: @escaping @Sendable () -> Void, lettingGo: () -> Void) throws

    /// Another descriptor of the device that the kernel's questions come by.
    func duplicateDevice() throws(Errno) -> Descriptor

    /// Asks for a clean unmount; `serve` returns when it is done. From any thread.
    func requestUnmount()
}
