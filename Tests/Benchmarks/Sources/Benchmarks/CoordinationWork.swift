import Glibc

/// The work of the rows about coordination. Each prints its figures as the others do.
enum CoordinationWork {
    /// Claims and releases, each of its own document, by clients at the same time.
    static func claims(in folder: String, clients: Int, pairs: Int) {
        let start = monotonicSeconds()
        let threads = (0..<clients).map { number in
            Thread {
                let client = ServiceClient()
                let intent = "{\"intents\":[{\"path\":\"\(folder)/claimed\(number)\",\"access\":\"writing\"}]}"
                for _ in 0..<pairs {
                    guard let claim = client.call("Coordination.Claim", intent).number("claim") else { stop("no claim") }
                    _ = client.call("Coordination.Release", "{\"claim\":\(claim)}")
                }
            }
        }
        for thread in threads { thread.join() }
        print("quire\tclaims-\(clients)\t\(Double(clients * pairs) / (monotonicSeconds() - start))")
    }

    /// How long after close(2) was called a presenter in another process has been told. The presenter is the child: what a
    /// presenter's own children do it is not told.
    static func latency(in folder: String, count: Int) {
        save("0", as: folder + "/shown")
        let presenter = popen("exec '\(CommandLine.arguments[0])' present '\(folder)/shown' \(count)", "r")!
        var line = [CChar](repeating: 0, count: 100)
        guard fgets(&line, 100, presenter) != nil else { stop("no presenter") }
        let closed = (0..<count).map { number in
            usleep(10_000)
            return save("\(number)", as: folder + "/shown")
        }
        var told: [Double] = []
        while fgets(&line, 100, presenter) != nil { told.append(atof(line)) }
        pclose(presenter)
        let times = zip(told, closed).map { ($0 - $1) * 1000 }.sorted()
        guard times.count == count else { stop("\(times.count) of \(count) saves were told") }
        print("quire\ttold-median\t\(times[times.count / 2])")
        print("quire\ttold-99th\t\(times[times.count * 99 / 100])")
    }

    /// Returns when close(2) was called.
    @discardableResult
    private static func save(_ text: String, as path: String) -> Double {
        let file = require(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644), path)
        require(Int32(write(file, text, text.utf8.count)), "write")
        let time = monotonicSeconds()
        close(file)
        return time
    }

    /// Presents a document; prints a line when it does, and then when it was told of each change.
    static func present(_ path: String, changes: Int) {
        let attending = ServiceClient()
        attending.send("Presenters.Attend", "{}", more: true)
        let first = attending.reply()
        let name = Array("\"session\":\"".utf8)
        guard let place = first.indices.first(where: { first[$0...].starts(with: name) }) else { stop("no session") }
        let session = String(decoding: first[(place + name.count)...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        let calling = ServiceClient()
        _ = calling.call("Presenters.Present", "{\"session\":\"\(session)\",\"path\":\"\(path)\"}")
        print("presents")
        fflush(nil)
        var told = 0
        while told < changes {
            // One reply tells of several, if it comes late.
            let count = attending.reply().count(of: "\"kind\":\"changed\"")
            for _ in 0..<count { print(monotonicSeconds()) }
            told += count
        }
    }

    /// How much slower a busy store is while many listen to all that happens there, in percent: the median of rounds with and
    /// without them in turn. The best would not do: rounds differ by a third, by where the scheduler puts caller and server.
    static func subscribers(in folder: String, count: Int, rounds: Int) {
        var ratios: [Double] = []
        for _ in 0..<rounds {
            let alone = busy(in: folder)
            let listeners = popen("exec '\(CommandLine.arguments[0])' listen '\(folder)' \(count)", "r")!
            var line = [CChar](repeating: 0, count: 100)
            guard fgets(&line, 100, listeners) != nil else { stop("no listeners") }
            ratios.append(busy(in: folder) / alone)
            kill(pid_t(atoi(line)), SIGKILL)
            pclose(listeners)
        }
        print("quire\tslowed-\(count)\t\(max(0, 100 * (1 - ratios.sorted()[rounds / 2])))")
    }

    /// Listens to all that happens until it is killed; prints its process when all are connected.
    static func listen(in folder: String, count: Int) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let clients = (0..<count).map { _ in ServiceClient() }
        // The service begins to serve a user's connections one after the other: all are served when each has answered.
        for client in clients { _ = client.call("Mount.Recents", "{\"limit\":1}") }
        for client in clients { client.send("Events.Watch", "{}", more: true) }
        usleep(500_000)
        print(getpid())
        fflush(nil)
        var polled = clients.map { pollfd(fd: $0.handle, events: Int16(POLLIN), revents: 0) }
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while poll(&polled, nfds_t(count), -1) > 0 {
            for entry in polled where entry.revents != 0 {
                if read(entry.fd, &chunk, chunk.count) <= 0 { return }
            }
        }
    }

    /// Documents made, saved and removed a second.
    private static func busy(in folder: String) -> Double {
        let names = Names("\(folder)/busy", count: 1_000).pointers
        let start = monotonicSeconds()
        for flags in [O_CREAT | O_WRONLY, O_WRONLY | O_TRUNC] {
            for name in names {
                let file = require(open(name, flags, 0o644), "busy")
                require(Int32(write(file, "content", 7)), "write")
                close(file)
            }
        }
        for name in names { require(unlink(name), "unlink") }
        return 3_000 / (monotonicSeconds() - start)
    }
}

/// A thread with its end.
struct Thread {
    private let thread: pthread_t

    init(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Box(body: body))
        pthread_create(&thread, nil, { Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body(); return nil }, box.toOpaque())
        self.thread = thread
    }

    func join() { pthread_join(thread, nil) }

    private final class Box {
        let body: @Sendable () -> Void
        init(body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
