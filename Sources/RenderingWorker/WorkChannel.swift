import CLinux
import Glibc
import WorkerProtocol

/// The descriptors of one request, closed with it.
final class WorkFiles {
    private var numbers: [Int32]

    init(numbers: [Int32]) { self.numbers = numbers }

    /// From now on there is the output alone.
    func closeInputs() {
        for number in numbers.dropFirst() { close(number) }
        numbers = Array(numbers.prefix(1))
    }

    deinit { for number in numbers { close(number) } }

    var output: Int32 { numbers[0] }

    func input(_ index: Int) throws(WorkRefusal) -> Int32 {
        guard numbers.indices.contains(index + 1) else { throw WorkRefusal("nothing to read was given") }
        return numbers[index + 1]
    }

    func inputs(_ count: Int) throws(WorkRefusal) -> [Int32] {
        _ = try input(count - 1)
        return Array(numbers[1...count])
    }
}

/// The channel to the daemon.
struct WorkChannel {
    let number: Int32

    /// The next request; nil when the daemon has closed its end, or sends what this worker does not know.
    func next() -> (WorkRequest, WorkFiles)? {
        var bytes = [UInt8](repeating: 0, count: WorkLimits.message)
        var numbers = [Int32](repeating: -1, count: Int(CL_MESSAGE_DESCRIPTORS))
        var count = Int32(numbers.count)
        let length = cl_receive_message(number, &bytes, bytes.count, &numbers, &count, -1)
        let files = WorkFiles(numbers: Array(numbers.prefix(Int(count))))
        guard length > 0, count > 0, let request = WorkRequest(message: Array(bytes.prefix(Int(length)))) else { return nil }
        return (request, files)
    }

    func answer(_ reply: WorkReply) {
        let message = reply.message
        _ = cl_send_message(number, message, message.count, nil, 0)
    }
}
