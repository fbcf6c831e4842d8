import SystemCalls

/// What a process of the run tells the one that started it, over a pipe.
enum CheckReport: UInt8 {
    case mismatch = 1
    case skipped, value
}

/// Where this process reports to; the runner's own value lines go to standard output.
nonisolated(unsafe) private var reportPipe: Int32 = -1

/// One message: kind, length in two bytes, text.
func report(_ kind: CheckReport, _ text: String) {
    let bytes = Array(text.utf8.prefix(60000))
    guard reportPipe >= 0 else { return }
    _ = try? write(reportPipe, [kind.rawValue, UInt8(bytes.count & 0xff), UInt8(bytes.count >> 8)] + bytes)
}

/// A forked process that runs a part of a check, in step with its parent.
///
/// Forking is sound because the program has a single thread. The child ends when its parent does.
final class Child {
    let process: Int32
    private let reports: Int32
    private let toChild: Int32
    private let fromChild: Int32
    private var finished = false

    /// What the child uses to keep in step.
    struct Side {
        let input: Int32
        let output: Int32
        /// Tells the parent to go on from its `awaitChild`.
        func tell() throws { try write(output, [1]) }
        /// Waits for the parent's `tell`. If the parent is gone, the child ends.
        func awaitParent() throws {
            if try retrying({ () throws(Errno) in try read(input, 1) }).isEmpty { exitNow(0) }
        }
    }

    /// Starts `body` in a child, as `identity` or as the caller. Throws the errno of fork or pipe.
    init(as identity: Identity? = nil, _ body: (Side) throws -> Void) throws {
        let (reportsRead, reportsWrite) = try pipe()
        let (childRead, parentWrite) = try pipe()
        let (parentRead, childWrite) = try pipe()
        process = Int32(try done(sc_fork(), name: "fork"))
        if process == 0 {
            for end in [reportsRead, parentWrite, parentRead] { try? close(end) }
            runAndExit(reportingTo: reportsWrite, as: identity) {
                try body(Side(input: childRead, output: childWrite))
            }
        }
        for end in [reportsWrite, childRead, childWrite] { try close(end) }
        (reports, toChild, fromChild) = (reportsRead, parentWrite, parentRead)
    }

    /// Lets the child go on from its `awaitParent`.
    func tell() throws { try write(toChild, [1]) }

    /// Waits until the child tells. Throws what the child threw if it ended instead.
    func awaitChild(line: Int = #line) throws {
        if try !retrying({ () throws(Errno) in try read(fromChild, 1) }).isEmpty { return }
        try finish(line: line)
        throw Mismatch(expected: "a sign from the child", got: "its end", line: line)
    }
    /// Whether the child tells within so long; a child that ends counts as one that does not.
    func tells(within milliseconds: Int) throws -> Bool {
        guard try readable(fromChild, within: milliseconds) else { return false }
        return try !retrying { () throws(Errno) in try read(fromChild, 1) }.isEmpty
    }

    /// Waits until the child sleeps, for a lock that it has just asked for: seen five times in a row.
    func awaitSleep(line: Int = #line) throws { try Child.awaitSleep(of: [self], line: line) }

    /// As above, of all these at once.
    static func awaitSleep(of children: [Child], line: Int = #line) throws {
        var seen = 0
        try eventually(line: line) {
            let allSleep = try children.allSatisfy { child in
                // "pid (name) state ...": S sleeping, D sleeping without being interrupted.
                let status = String(decoding: try content("/proc/\(child.process)/stat"), as: UTF8.self)
                let state = status.split(separator: ") ").last?.first
                return state == "S" || state == "D"
            }
            seen = allSleep ? seen + 1 : 0
            return seen == 5
        }
    }

    /// Lets the child go on to its end and waits for it. Throws what it threw.
    func letGo(line: Int = #line) throws {
        try tell()
        try finish(line: line)
    }
    /// Waits for the child to end, and throws what it threw.
    func finish(line: Int = #line) throws {
        guard !finished else { return }
        let ending = try end()
        if ending != .exited(0) { throw Mismatch(expected: "the child to end well", got: "\(ending)", line: line) }
    }
    /// Waits for the child to end, passes on its reports, and tells how it ended.
    func end() throws -> Ending {
        finished = true
        let messages = try drain(reports)
        let ending = try wait(for: process)!
        for fd in [reports, toChild, fromChild] { try close(fd) }
        for (kind, text) in messages {
            switch kind {
            case .value: report(.value, text)
            case .skipped: throw Skipped(reason: text)
            case .mismatch: throw Mismatch(text: text)
            }
        }
        return ending
    }
    /// Ends the child by a signal and reaps it.
    func end(by signal: Int32) throws {
        try kill(process, signal)
        _ = try end()
    }
}

/// Runs `body` in this forked process, reports what it throws, and ends the process: status 0, or 1 after an error.
func runAndExit(reportingTo pipe: Int32, as identity: Identity?, _ body: () throws -> Void) -> Never {
    reportPipe = pipe
    _ = sc_call(SYS_prctl, Int(PR_SET_PDEATHSIG), Int(SIGKILL), 0, 0, 0, 0)
    do {
        if let identity {
            try become(uid: identity.uid, gid: identity.gid, groups: identity.groups)
            _ = sc_call(SYS_prctl, Int(PR_SET_PDEATHSIG), Int(SIGKILL), 0, 0, 0, 0)
        }
        try body()
        exitNow(0)
    } catch let error as Mismatch {
        report(.mismatch, error.text)
    } catch let error as Skipped {
        report(.skipped, error.reason)
    } catch let error as Errno {
        report(.mismatch, "expected success, got \(error.symbol) from \(lastFailure)")
    } catch {
        report(.mismatch, "\(error)")
    }
    exitNow(1)
}

/// All messages until every writer of the pipe is gone.
func drain(_ pipe: Int32) throws -> [(CheckReport, String)] {
    var bytes: [UInt8] = []
    while true {
        let more = try retrying { () throws(Errno) in try read(pipe, 65536) }
        if more.isEmpty { break }
        bytes += more
    }
    var messages: [(CheckReport, String)] = []
    var position = 0
    while position + 3 <= bytes.count, let kind = CheckReport(rawValue: bytes[position]) {
        let length = Int(bytes[position + 1]) | Int(bytes[position + 2]) << 8
        let text = bytes[(position + 3)..<min(bytes.count, position + 3 + length)]
        messages.append((kind, String(decoding: text, as: UTF8.self)))
        position += 3 + length
    }
    return messages
}

/// How a child ends that runs `body`: for accesses that raise a signal. A body that ends, ends well.
func ending(_ body: @escaping () throws -> Void) throws -> Ending {
    try Child { _ in
        for signal in [SIGBUS, SIGSEGV, SIGXFSZ] { try done(sc_set_handler(signal, 0)) }
        try body()
    }.end()
}
