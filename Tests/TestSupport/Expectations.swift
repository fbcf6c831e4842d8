public import SystemPackage
public import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// The call in `body` throws exactly this errno; anything else is recorded as an issue.
public func expectErrno<Result>(
    _ errno: Errno, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) {
    do {
        let result = try body()
        Issue.record("expected \(errno), got \(result)", sourceLocation: sourceLocation)
    } catch let error as Errno {
        if error != errno { Issue.record("expected \(errno), got \(error)", sourceLocation: sourceLocation) }
    } catch {
        Issue.record("expected \(errno), got \(error)", sourceLocation: sourceLocation)
    }
}

/// The libc call in `body` answers -1 with exactly this errno; anything else is recorded as an issue.
public func expectErrno(
    _ expected: Errno, sourceLocation: SourceLocation = #_sourceLocation, _ body: () -> Int32
) {
    errno = 0
    let result = body()
    let got = Errno(rawValue: errno)
    if result != -1 {
        Issue.record("expected \(expected), got \(result)", sourceLocation: sourceLocation)
    } else if got != expected {
        Issue.record("expected \(expected), got \(got)", sourceLocation: sourceLocation)
    }
}

/// Waits until `condition` holds, looking every 5 ms; records an issue if it never does within `limit`, which is
/// generous: other programs may have the processors meanwhile, and a virtual machine may be halted for a minute. Whether it held.
@discardableResult
public func eventually(
    within limit: Duration = .seconds(180), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () throws -> Bool
) rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while true {
        if try condition() { return true }
        if ContinuousClock.now >= end { break }
        usleep(5000)
    }
    Issue.record("not within \(limit)", sourceLocation: sourceLocation)
    return false
}
