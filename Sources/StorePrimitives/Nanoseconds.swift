import Glibc

/// A time in nanoseconds since 1970, the nearest there is for times before 1677 and after 2262: a file may carry any time that
/// its file system can store, ext4 up to 2446.
public func saturatedNanoseconds(_ time: timespec) -> Int64 {
    let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = product.addingReportingOverflow(Int64(time.tv_nsec))
    return overflow || carry ? (time.tv_sec < 0 ? .min : .max) : sum
}

/// A time in nanoseconds since 1970 as seconds and the rest of a second. Before 1970 the seconds are negative and the rest counts up
/// from them, as everywhere in Linux: it is never negative.
public func splitNanoseconds(_ time: Int64) -> (seconds: Int64, rest: Int64) {
    let (seconds, rest) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
    return rest < 0 ? (seconds - 1, rest + 1_000_000_000) : (seconds, rest)
}
