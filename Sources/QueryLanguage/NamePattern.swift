internal import CLinux

/// A pattern for names or paths, without regard to case and accents: `*` is any number of characters, `?` one, `[abc]` and `[a-z]` one
/// of several (`[!abc]`: none of them), `**` as `*` and across slashes. Without any of these it is found anywhere in a name.
///
/// It is matched by bytes of the folded text; `?` and brackets mean one character of UTF-8.
public struct NamePattern: Sendable, Hashable {
    private enum Part: Sendable, Hashable {
        case byte(UInt8)
        case anyCharacter(crossing: Bool)
        case anyNumber(crossing: Bool)
        case oneOf([ClosedRange<UInt8>], isNegated: Bool, crossing: Bool)
    }

    private let parts: [Part]
    /// The longest run of plain bytes, which every match has; empty if there is none.
    public let literal: [UInt8]
    /// Whether all of it is plain: a text that has `literal` in it is a match.
    public let isPlain: Bool

    /// - Parameter isPath: whether `*` and `?` stop at slashes.
    public init(_ text: String, isPath: Bool = false) {
        let bytes = Folding.fold(text.utf8)
        var parts: [Part] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "*"):
                var count = 1
                while rest.first == UInt8(ascii: "*") {
                    rest.removeFirst(1)
                    count &+= 1
                }
                parts.append(.anyNumber(crossing: !isPath || count > 1))
            case UInt8(ascii: "?"): parts.append(.anyCharacter(crossing: !isPath))
            case UInt8(ascii: "["):
                if let set = Self.set(&rest, crossing: !isPath) { parts.append(set) } else { parts.append(.byte(byte)) }
            default: parts.append(.byte(byte))
            }
        }
        var (run, longest): ([UInt8], [UInt8]) = ([], [])
        for part in parts {
            if case .byte(let byte) = part { run.append(byte) } else { run = [] }
            if run.count > longest.count { longest = run }
        }
        literal = longest
        isPlain = longest.count == parts.count
        self.parts = parts
    }

    /// What is behind an opening bracket; nil, and nothing taken, if no bracket closes it.
    private static func set(_ rest: inout ArraySlice<UInt8>, crossing: Bool) -> Part? {
        var inner = rest
        let isNegated = inner.first == UInt8(ascii: "!") || inner.first == UInt8(ascii: "^")
        if isNegated { inner.removeFirst(1) }
        var ranges: [ClosedRange<UInt8>] = []
        while let byte = inner.popFirst() {
            if byte == UInt8(ascii: "]"), !ranges.isEmpty {
                rest = inner
                return .oneOf(ranges, isNegated: isNegated, crossing: crossing)
            }
            if inner.first == UInt8(ascii: "-"), let end = inner.dropFirst().first, end != UInt8(ascii: "]") {
                inner.removeFirst(2)
                if byte <= end { ranges.append(byte...end) }
            } else {
                ranges.append(byte...byte)
            }
        }
        return nil
    }

    /// Whether the folded text is a match. O(length times the number of stars).
    public func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        if isPlain { return Self.contains(text, literal) }
        var (part, at) = (0, 0)
        // Where to go on if what follows the last star does not fit: a byte further on.
        var retry: (part: Int, at: Int, crossing: Bool)?
        var outer: (part: Int, at: Int)?
        while true {
            if part < parts.count, case .anyNumber(let crossing) = parts[part] {
                part &+= 1
                retry = (part, at, crossing)
                if crossing { outer = (part, at) }
                continue
            }
            if part == parts.count {
                if at == text.count { return true }
            } else if at < text.count, let length = Self.length(of: parts[part], at: at, in: text) {
                part &+= 1
                at &+= length
                continue
            }
            guard let star = retry, star.at < text.count else { return false }
            if !star.crossing, text[star.at] == Self.slash {
                // This star ends here; one before it that crosses slashes may go on.
                guard let star = outer, star.at < text.count else { return false }
                (part, at) = (star.part, star.at &+ 1)
                outer = (part, at)
                retry = (part, at, true)
                continue
            }
            (part, at) = (star.part, star.at &+ 1)
            retry = (part, at, star.crossing)
            if star.crossing { outer = (part, at) }
        }
    }

    /// How many bytes of the text the part takes; nil if it does not fit.
    private static func length(of part: Part, at: Int, in text: UnsafeRawBufferPointer) -> Int? {
        let byte = text[at]
        switch part {
        case .byte(let wanted): return byte == wanted ? 1 : nil
        case .anyCharacter(let crossing): return crossing || byte != slash ? characterLength(at: at, in: text) : nil
        case .oneOf(let ranges, let isNegated, let crossing):
            guard crossing || byte != slash, ranges.contains(where: { $0.contains(byte) }) != isNegated else { return nil }
            return characterLength(at: at, in: text)
        case .anyNumber: return nil
        }
    }

    private static func characterLength(at: Int, in text: UnsafeRawBufferPointer) -> Int {
        var end = at &+ 1
        while end < text.count, text[end] & 0xC0 == 0x80 { end &+= 1 }
        return end &- at
    }

    private static let slash = UInt8(ascii: "/")

    package static func contains(_ text: UnsafeRawBufferPointer, _ literal: [UInt8]) -> Bool {
        literal.isEmpty
            || literal.withUnsafeBytes { cl_find(text.baseAddress, text.count, $0.baseAddress, $0.count) } != nil
    }
}
