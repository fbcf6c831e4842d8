import Synchronization

extension Array where Element: Sendable {
    /// Calls `body` with all elements, or from thousands on with each half, one of them on a thread of its own: for work that is mostly
    /// system calls. Returns what it returned, in their order. Without a thread to be had `body` is called with all of them.
    /// - Parameter name: the thread's, of 15 bytes at most.
    public func inHalves<Result: Sendable>(on name: String, _ body: @escaping @Sendable (ArraySlice<Element>) -> [Result]) -> [Result] {
        let half = count / 2
        guard half >= 1_000 else { return body(self[...]) }
        let second = Locked<[Result]>([])
        let thread = try? NamedThread(starting: name) {
            let results = body(self.dropFirst(half))
            second.withLock { $0 = results }
        }
        guard let thread else { return body(self[...]) }
        let first = body(self.prefix(half))
        thread.join()
        return first + second.withLock { $0 }
    }
}
