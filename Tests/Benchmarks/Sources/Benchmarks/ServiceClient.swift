import Glibc

/// A client of a mount's service, of as little code as that takes: what is measured is the service.
final class ServiceClient {
    let handle: Int32
    private var received: [UInt8] = []

    /// To the socket in QUIRE_SOCKET.
    init() {
        guard let path = getenv("QUIRE_SOCKET") else { exit(saying: "benchmarks: QUIRE_SOCKET names no socket", code: 64) }
        handle = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            target.copyBytes(from: UnsafeRawBufferPointer(start: path, count: min(strlen(path), target.count - 1)))
        }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(handle, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        require(result, "connect")
    }

    deinit { close(handle) }

    /// Sends a call; `parameters` are JSON.
    func send(_ method: String, _ parameters: String, more: Bool = false) {
        let message = Array("{\"method\":\"org.quire.\(method)\",\"parameters\":\(parameters)\(more ? ",\"more\":true" : "")}".utf8) + [0]
        guard write(handle, message, message.count) == message.count else { stop(method) }
    }

    /// The next reply, without its NUL.
    func reply() -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let end = received.firstIndex(of: 0) {
                defer { received.removeFirst(end + 1) }
                return Array(received[..<end])
            }
            let count = read(handle, &chunk, chunk.count)
            guard count > 0 else { stop("the service ended the connection") }
            received += chunk[..<count]
        }
    }

    func call(_ method: String, _ parameters: String) -> [UInt8] {
        send(method, parameters)
        return reply()
    }
}

extension [UInt8] {
    /// The number after the last `"name":`; nil if there is none.
    func number(_ name: String) -> Int? {
        let key = Array("\"\(name)\":".utf8)
        guard count >= key.count, let place = (0...(count - key.count)).last(where: { self[$0..<($0 + key.count)].elementsEqual(key) })
        else { return nil }
        return Int(String(decoding: self[(place + key.count)...].prefix { $0 >= 48 && $0 <= 57 }, as: UTF8.self))
    }

    func count(of text: String) -> Int {
        let text = Array(text.utf8)
        guard count >= text.count else { return 0 }
        return (0...(count - text.count)).count { self[$0..<($0 + text.count)].elementsEqual(text) }
    }
}
