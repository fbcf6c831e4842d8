import CLinux
import Glibc
import Testing

/// What the kernel writes is taken apart without trusting its lengths.
struct EventParsingTests {
    private static func bytes<Value>(_ value: Value) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    /// One fanotify event: metadata, then records.
    private static func event(mask: UInt64, pid: Int32, _ records: [UInt8] = []) -> [UInt8] {
        let head = 24
        return bytes(UInt32(head + records.count)) + [3, 0] + bytes(UInt16(head)) + bytes(mask) + bytes(Int32(-1))
            + bytes(pid) + records
    }

    private static func record(_ type: UInt8, handle: [UInt8], name: [UInt8]) -> [UInt8] {
        var body = [UInt8](repeating: 7, count: 8) + bytes(UInt32(handle.count)) + bytes(Int32(1)) + handle + name + [0]
        while (body.count + 4) % 4 != 0 { body.append(0) }
        return [type, 0] + bytes(UInt16(body.count + 4)) + body
    }

    @Test func eventsFollowEachOtherInTheBuffer() {
        let buffer =
            Self.event(mask: CL_FAN_Q_OVERFLOW, pid: 0)
            + Self.event(mask: CL_FAN_CREATE, pid: 42, Self.record(2, handle: [1, 2, 3, 4], name: Array("name".utf8)))
        var event = cl_fanotify_event()
        var offset = 0
        #expect(cl_fanotify_next(buffer, buffer.count, &offset, &event) == 1)
        #expect(event.mask == CL_FAN_Q_OVERFLOW)
        #expect(offset == 24)
        buffer.withUnsafeBytes { raw in
            #expect(cl_fanotify_next(raw.baseAddress, raw.count, &offset, &event) == 1)
            #expect(event.mask == CL_FAN_CREATE)
            #expect(event.pid == 42)
            var (at, from, to) = (cl_fanotify_place(), cl_fanotify_place(), cl_fanotify_place())
            #expect(cl_fanotify_places(&event, &at, &from, &to) == 0)
            #expect(at.key_length == 20)
            #expect(String(cString: at.name) == "name")
            #expect(at.key[Int(CL_FANOTIFY_KEY_HANDLE) + 4] == 1)
            #expect(from.key == nil)
            #expect(to.key == nil)
            #expect(cl_fanotify_next(raw.baseAddress, raw.count, &offset, &event) == 0)
        }
    }

    @Test func aRenameHasTwoPlaces() {
        let records =
            Self.record(10, handle: [1, 1, 1, 1], name: [0xFF]) + Self.record(12, handle: [2, 2], name: Array("new".utf8))
        let buffer = Self.event(mask: CL_FAN_RENAME, pid: 1, records)
        buffer.withUnsafeBytes { raw in
            var event = cl_fanotify_event()
            var offset = 0
            #expect(cl_fanotify_next(raw.baseAddress, raw.count, &offset, &event) == 1)
            var (at, from, to) = (cl_fanotify_place(), cl_fanotify_place(), cl_fanotify_place())
            #expect(cl_fanotify_places(&event, &at, &from, &to) == 0)
            #expect(at.key == nil)
            #expect(UInt8(bitPattern: from.name[0]) == 0xFF)
            #expect(to.key_length == 18)
            #expect(String(cString: to.name) == "new")
        }
    }

    @Test func cutOffEventsAreRefused() {
        let whole = Self.event(mask: CL_FAN_CREATE, pid: 1, Self.record(2, handle: [1, 2, 3, 4], name: Array("name".utf8)))
        for length in 1..<whole.count {
            var event = cl_fanotify_event()
            var offset = 0
            #expect(cl_fanotify_next(whole, length, &offset, &event) == -EINVAL)
        }
    }

    private static let zeros = [UInt8](repeating: 0, count: 16)
    private static let malformed: [[UInt8]] = [
        Array(record(2, handle: [], name: []).prefix(20)),  // longer than the event
        [2, 0, 3, 0],  // shorter than a header
        [2, 0, 20, 0] + zeros,  // no name
        [2, 0, 24, 0] + zeros.prefix(8) + [255, 0, 0, 0] + zeros.prefix(8),  // the handle longer than the record
        [2, 0, 22, 0] + zeros + [65, 65],  // a name without an end
    ]

    @Test(arguments: malformed)
    func malformedRecordsAreRefused(_ record: [UInt8]) {
        let buffer = Self.event(mask: CL_FAN_CREATE, pid: 1, record)
        buffer.withUnsafeBytes { raw in
            var event = cl_fanotify_event()
            var offset = 0
            #expect(cl_fanotify_next(raw.baseAddress, raw.count, &offset, &event) == 1)
            var (at, from, to) = (cl_fanotify_place(), cl_fanotify_place(), cl_fanotify_place())
            #expect(cl_fanotify_places(&event, &at, &from, &to) == -EINVAL)
        }
    }

    @Test func inotifyEventsAreTakenApartAndCutOffOnesRefused() {
        let name = Array("name".utf8) + [0, 0, 0, 0]
        let buffer =
            Self.bytes(Int32(-1)) + Self.bytes(CL_IN_Q_OVERFLOW) + Self.bytes(UInt32(0)) + Self.bytes(UInt32(0))
            + Self.bytes(Int32(5)) + Self.bytes(CL_IN_MOVED_TO) + Self.bytes(UInt32(9)) + Self.bytes(UInt32(name.count))
            + name
        buffer.withUnsafeBytes { raw in
            var event = cl_inotify_event()
            var offset = 0
            #expect(cl_inotify_next(raw.baseAddress, raw.count, &offset, &event) == 1)
            #expect(event.mask == CL_IN_Q_OVERFLOW)
            #expect(event.name == nil)
            for length in 17..<raw.count {
                var cut = offset
                #expect(cl_inotify_next(raw.baseAddress, length, &cut, &event) == -EINVAL)
            }
            #expect(cl_inotify_next(raw.baseAddress, raw.count, &offset, &event) == 1)
            #expect(event.watch == 5)
            #expect(event.cookie == 9)
            #expect(String(cString: event.name) == "name")
            #expect(cl_inotify_next(raw.baseAddress, raw.count, &offset, &event) == 0)
        }
    }
}
