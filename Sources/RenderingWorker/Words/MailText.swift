import CMail
import Glibc
import WorkerProtocol

/// The text of mail (RFC 5322, MIME) and of mailboxes (mbox): subject, people, the parts that are text, and the names of attachments.
enum MailText {
    private static let mostMessages = 10_000
    private static let mostParts = 1_000

    /// UTF-8. Throws if there is no mail.
    static func read(_ input: Int32, isMailbox: Bool) throws(WorkRefusal) -> [UInt8] {
        g_mime_init()
        // The stream closes the descriptor that it is given.
        let stream = g_mime_stream_fs_new_with_bounds(dup(input), 0, -1)
        let parser = g_mime_parser_new_with_stream(stream)
        defer {
            g_object_unref(parser)
            g_object_unref(stream)
        }
        g_mime_parser_set_format(parser, isMailbox ? GMIME_FORMAT_MBOX : GMIME_FORMAT_MESSAGE)
        var text = Text()
        var count = 0
        while count < mostMessages, !text.isFull, let message = g_mime_parser_construct_message(parser, nil) {
            defer { g_object_unref(message) }
            count += 1
            add(message, to: &text)
            if !isMailbox || g_mime_parser_eos(parser) != 0 { break }
        }
        guard count > 0 else { throw WorkRefusal("it is no mail") }
        return text.bytes
    }

    private struct Text {
        var bytes: [UInt8] = []
        var isFull: Bool { bytes.count >= WorkLimits.words }

        mutating func add(_ more: some Sequence<UInt8>) {
            bytes += more
            bytes.append(UInt8(ascii: "\n"))
        }

        mutating func add(_ text: UnsafePointer<CChar>?) {
            if let text { add(UnsafeRawBufferPointer(start: text, count: strlen(text))) }
        }
    }

    private static func add(_ message: UnsafeMutablePointer<GMimeMessage>, to text: inout Text) {
        text.add(g_mime_message_get_subject(message))
        for kind in [GMIME_ADDRESS_TYPE_FROM, GMIME_ADDRESS_TYPE_TO, GMIME_ADDRESS_TYPE_CC] {
            guard let list = g_mime_message_get_addresses(message, kind), let people = internet_address_list_to_string(list, nil, 0) else { continue }
            text.add(people)
            g_free(people)
        }
        // Goes through the parts of parts, too.
        guard let top = g_mime_message_get_mime_part(message), let parts = g_mime_part_iter_new(top) else { return }
        defer { g_mime_part_iter_free(parts) }
        var count = 0
        repeat {
            if let part = g_mime_part_iter_get_current(parts) { add(part, to: &text) }
            count += 1
        } while count < mostParts && !text.isFull && g_mime_part_iter_next(parts) != 0
    }

    private static func add(_ part: UnsafeMutablePointer<GMimeObject>, to text: inout Text) {
        func isA(_ type: GType) -> Bool {
            part.withMemoryRebound(to: GTypeInstance.self, capacity: 1) { g_type_check_instance_is_a($0, type) != 0 }
        }
        if isA(g_mime_part_get_type()) {
            part.withMemoryRebound(to: GMimePart.self, capacity: 1) { text.add(g_mime_part_get_filename($0)) }
        }
        guard isA(g_mime_text_part_get_type()), !isAttachment(part) else { return }
        let words = part.withMemoryRebound(to: GMimeTextPart.self, capacity: 1) { g_mime_text_part_get_text($0) }
        guard let words else { return }
        defer { g_free(words) }
        let bytes = UnsafeRawBufferPointer(start: words, count: strlen(words))
        let isMarkup = g_mime_object_get_content_type(part).map { g_mime_content_type_is_type($0, "text", "html") != 0 } ?? false
        text.add(isMarkup ? MarkupText.text(of: Array(bytes)) : Array(bytes))
    }

    private static func isAttachment(_ part: UnsafeMutablePointer<GMimeObject>) -> Bool {
        g_mime_object_get_disposition(part).map { strcasecmp($0, "attachment") == 0 } ?? false
    }
}
