import SystemPackage

// The standard library's `Int32(x)` ends the process when `x` does not fit, and most numbers here come from outside: from the
// kernel, files, the socket, /proc. In targets that have this file these conversions throw EOVERFLOW instead, so that one which may
// fail does not compile without `try`. Say what is to come out: `clamping:` the nearest, `truncatingIfNeeded:` or `bitPattern:` the low
// bits, `exactly:` nil. Conversions that always fit are the standard library's, and cost nothing.
//
// This file is a part of each target that runs in the daemon, by a link, and not a module: what a module adds to the standard
// library's types is seen by all that use a user of it.

/// Types with values that an Int8, UInt8, Int16 or UInt16 has not.
protocol Beyond16Bits: BinaryInteger {}
/// Types with values that an Int32 has not.
protocol BeyondInt32: BinaryInteger {}
/// Types with values that a UInt32 has not.
protocol BeyondUInt32: BinaryInteger {}
/// Types with values that an Int64 or Int has not.
protocol BeyondInt64: BinaryInteger {}

extension Int32: Beyond16Bits, BeyondUInt32 {}
extension UInt32: Beyond16Bits, BeyondInt32 {}
extension Int64: Beyond16Bits, BeyondInt32, BeyondUInt32 {}
extension Int: Beyond16Bits, BeyondInt32, BeyondUInt32 {}
extension UInt64: Beyond16Bits, BeyondInt32, BeyondUInt32, BeyondInt64 {}
extension UInt: Beyond16Bits, BeyondInt32, BeyondUInt32, BeyondInt64 {}

extension FixedWidthInteger {
    @inline(__always)
    init(checking source: some BinaryInteger) throws(Errno) {
        guard let value = Self(exactly: source) else { throw .overflow }
        self = value
    }
}

extension Int8 {
    init(_ source: some Beyond16Bits) throws(Errno) { try self.init(checking: source) }
}
extension UInt8 {
    init(_ source: some Beyond16Bits) throws(Errno) { try self.init(checking: source) }
    init(_ source: UInt16) throws(Errno) { try self.init(checking: source) }
}
extension Int16 {
    init(_ source: some Beyond16Bits) throws(Errno) { try self.init(checking: source) }
}
extension UInt16 {
    init(_ source: some Beyond16Bits) throws(Errno) { try self.init(checking: source) }
}
extension Int32 {
    init(_ source: some BeyondInt32) throws(Errno) { try self.init(checking: source) }
}
extension UInt32 {
    init(_ source: some BeyondUInt32) throws(Errno) { try self.init(checking: source) }
}
extension Int64 {
    init(_ source: some BeyondInt64) throws(Errno) { try self.init(checking: source) }
    init(_ source: Double) throws(Errno) { try self.init(whole: source) }
}
extension Int {
    init(_ source: some BeyondInt64) throws(Errno) { try self.init(checking: source) }
    init(_ source: Double) throws(Errno) { try self.init(whole: source) }
}
extension UInt64 {
    init(_ source: some SignedInteger) throws(Errno) { try self.init(checking: source) }
}
extension UInt {
    init(_ source: some SignedInteger) throws(Errno) { try self.init(checking: source) }
}

extension FixedWidthInteger {
    @inline(__always)
    init(whole source: Double) throws(Errno) {
        guard let value = Self(exactly: source.rounded(.towardZero)) else { throw .overflow }
        self = value
    }

    /// The nearest whole number towards zero; 0 for what is no number.
    @inline(__always)
    init(clamping source: Double) {
        let whole = source.rounded(.towardZero)
        self = Self(exactly: whole) ?? (source.isNaN ? 0 : source < 0 ? .min : .max)
    }
}

extension FixedWidthInteger {
    /// The sum; where it does not fit, the nearest value there is.
    @inline(__always)
    func adding(clamping other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return !overflow ? sum : other < 0 ? .min : .max
    }

    /// The product; where it does not fit, the nearest value there is.
    @inline(__always)
    func multiplied(clamping other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return !overflow ? product : (self < 0) != (other < 0) ? .min : .max
    }
}
