import Glibc

/// A time in nanoseconds since 1970, the nearest there is for times before 1677 and after 2262: a file may carry any time that
/// its file system can store, ext4 up to 2446.
public func saturatedNanoseconds(_ time: timespec) -> Int64 {
    let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = product.addingReportingOverflow(Int64(time.tv_nsec))
    return overflow || carry ? (time.tv_sec < 0 ? .min : .max) : sum
}
