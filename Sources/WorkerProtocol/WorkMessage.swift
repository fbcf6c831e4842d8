/// Requests and replies as they go over the channel: fields of text, each ended by a NUL.
struct FieldWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ text: String) {
        bytes += text.utf8.filter { $0 != 0 }
        bytes.append(0)
    }

    mutating func add(_ number: Int) { add(String(number)) }
}

/// Takes fields off a message. What does not fit ends it: nil.
struct FieldReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func text() -> String? {
        guard let end = rest.firstIndex(of: 0) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return String(validating: rest[..<end], as: UTF8.self)
    }

    /// All that are left.
    mutating func texts() -> [String]? {
        var texts: [String] = []
        while !isAtEnd {
            guard let text = text() else { return nil }
            texts.append(text)
        }
        return texts
    }

    mutating func number(in range: ClosedRange<Int>) -> Int? {
        guard let number = text().flatMap({ Int($0) }), range.contains(number) else { return nil }
        return number
    }
}

extension WorkRequest {
    public var message: [UInt8] {
        var fields = FieldWriter()
        switch self {
        case .render(let subject, let maximum, let page):
            fields.add("draw")
            fields.add(subject.rawValue)
            fields.add(maximum)
            fields.add(page)
        case .collage(let count, let maximum):
            fields.add("collage")
            fields.add(count)
            fields.add(maximum)
        case .facts(let subject):
            fields.add("facts")
            fields.add(subject.rawValue)
        case .text(let subject, let page):
            fields.add("text")
            fields.add(subject.rawValue)
            fields.add(page ?? -1)
        case .words(let subject, let form):
            fields.add("words")
            fields.add(subject.rawValue)
            fields.add(form.rawValue)
        case .links(let subject, let page):
            fields.add("links")
            fields.add(subject.rawValue)
            fields.add(page)
        case .list: fields.add("list")
        case .extract(let entry):
            fields.add("extract")
            fields.add(entry)
        case .convert(let command, let suffix, let result):
            fields.add("convert")
            fields.add(suffix)
            fields.add(result)
            for word in command { fields.add(word) }
        case .probe(let path):
            fields.add("probe")
            fields.add(path)
        }
        return fields.bytes
    }

    public init?(message: [UInt8]) {
        var fields = FieldReader(message)
        switch fields.text() {
        case "draw":
            guard let subject = fields.text().flatMap({ Subject(rawValue: $0) }), let maximum = fields.number(in: 1...WorkLimits.side),
                let page = fields.number(in: 0...1_000_000)
            else { return nil }
            self = .render(subject, maximum: maximum, page: page)
        case "collage":
            guard let count = fields.number(in: 1...8), let maximum = fields.number(in: 1...WorkLimits.side) else { return nil }
            self = .collage(count: count, maximum: maximum)
        case "facts":
            guard let subject = fields.text().flatMap({ Subject(rawValue: $0) }) else { return nil }
            self = .facts(subject)
        case "text":
            guard let subject = fields.text().flatMap({ Subject(rawValue: $0) }), let page = fields.number(in: -1...1_000_000)
            else { return nil }
            self = .text(subject, page: page < 0 ? nil : page)
        case "words":
            guard let subject = fields.text().flatMap({ Subject(rawValue: $0) }), let form = fields.text().flatMap({ TextForm(rawValue: $0) })
            else { return nil }
            self = .words(subject, form)
        case "links":
            guard let subject = fields.text().flatMap({ Subject(rawValue: $0) }), let page = fields.number(in: 0...1_000_000)
            else { return nil }
            self = .links(subject, page: page)
        case "list": self = .list
        case "extract":
            guard let entry = fields.number(in: 0...WorkLimits.entries) else { return nil }
            self = .extract(entry: entry)
        case "convert":
            guard let suffix = fields.text(), let result = fields.text(), let command = fields.texts() else { return nil }
            self = .convert(command: command, suffix: suffix, result: result)
        case "probe":
            guard let path = fields.text() else { return nil }
            self = .probe(path: path)
        default: return nil
        }
        guard fields.isAtEnd else { return nil }
    }
}

extension WorkReply {
    public var message: [UInt8] {
        var fields = FieldWriter()
        switch self {
        case .picture(let width, let height, let bands):
            fields.add("picture")
            fields.add(width)
            fields.add(height)
            fields.add(bands)
        case .refused(let reason, let isPassing):
            fields.add("refused")
            fields.add(String(reason.prefix(1_000)))
            fields.add(isPassing ? 1 : 0)
        case .facts(let facts):
            fields.add("facts")
            for fact in facts {
                fields.add(fact.name)
                fields.add(fact.value)
            }
        case .written(let count):
            fields.add("written")
            fields.add(count)
        case .possible(let findings):
            fields.add("possible")
            for finding in findings { fields.add(finding) }
        }
        return fields.bytes
    }

    public init?(message: [UInt8]) {
        var fields = FieldReader(message)
        switch fields.text() {
        case "picture":
            guard let width = fields.number(in: 1...WorkLimits.side), let height = fields.number(in: 1...WorkLimits.side),
                let bands = fields.number(in: 3...4)
            else { return nil }
            self = .picture(width: width, height: height, bands: bands)
        case "refused":
            guard let reason = fields.text(), let isPassing = fields.number(in: 0...1) else { return nil }
            self = .refused(Fact.plain(reason), isPassing: isPassing == 1)
        case "possible":
            guard let findings = fields.texts() else { return nil }
            self = .possible(findings)
        case "facts":
            guard let words = fields.texts(), words.count.isMultiple(of: 2) else { return nil }
            self = .facts(stride(from: 0, to: words.count, by: 2).map { Fact(words[$0], words[$0 + 1]) })
        case "written":
            guard let count = fields.number(in: 0...WorkLimits.result) else { return nil }
            self = .written(count)
        default: return nil
        }
        guard fields.isAtEnd else { return nil }
    }
}
