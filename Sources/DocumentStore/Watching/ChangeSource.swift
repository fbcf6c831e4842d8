import SystemPackage

/// Where a watcher gets its changes from. Used by the watcher's thread alone, once it runs.
protocol ChangeSource: AnyObject {
    /// Readable when there is something to collect.
    var queue: Int32 { get }

    /// Reads all there is, without waiting, and appends what is to be told. Returns when to be asked again.
    func collect(into changes: inout [OutsideChange]) throws(Errno) -> NextCollection

    /// File systems were mounted or unmounted inside the store; appends what is to be told.
    func innerMountsChanged(to mounts: [InnerMount], telling changes: inout [OutsideChange])

    /// Nothing is to be told any more: a collection that is going on ends soon. From any thread.
    func end()

    var coverage: StoreWatcher.Coverage { get }
}

enum NextCollection {
    /// When the queue is readable again.
    case whenReadable
    /// After the usual pause, even if nothing comes.
    case afterPause
    /// At once: there was more than one batch holds.
    case atOnce
}
