import Foundation
import MountProtocol
import Testing


/// The service's own JSON against Foundation's.
@Suite struct JSONTests {
    /// Any JSON value, as either decoder sees it.
    indirect enum AnyValue: Codable, Hashable {
        case null, bool(Bool), integer(Int), real(Double), string(String), array([AnyValue]), object([String: AnyValue])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let bool = try? container.decode(Bool.self) {
                self = .bool(bool)
            } else if let integer = try? container.decode(Int.self) {
                // Of larger ones with a fraction Foundation takes the whole part.
                self = integer.magnitude < 1 << 53 ? .integer(integer) : .real(Double(integer))
            } else if let real = try? container.decode(Double.self) {
                self = .real(real)
            } else if let string = try? container.decode(String.self) {
                self = .string(string)
            } else if let array = try? container.decode([AnyValue].self) {
                self = .array(array)
            } else {
                self = .object(try container.decode([String: AnyValue].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .null: try container.encodeNil()
            case .bool(let bool): try container.encode(bool)
            case .integer(let integer): try container.encode(integer)
            case .real(let real): try container.encode(real)
            case .string(let string): try container.encode(string)
            case .array(let array): try container.encode(array)
            case .object(let object): try container.encode(object)
            }
        }
    }

    private func ours(_ text: [UInt8]) -> AnyValue? { try? JSONValue(parsing: text).decode(AnyValue.self) }
    private func theirs(_ text: [UInt8]) -> AnyValue? { try? JSONDecoder().decode(AnyValue.self, from: Data(text)) }

    static let texts = [
        #"{"method":"org.quire.Coordination.Claim","parameters":{"intents":[{"path":"/a b/é","access":"writing","options":["moving"]}],"within":7,"timeout":0.25},"more":true}"#,
        #"{"a":[1,-2,3.5,0,-0,1e3,2.0,-4.25E-2,1234567,-98765432.125]}"#,
        #" [ true , false , null , "" , { } , [ ] ] "#,
        #"["\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0041","é","😀","\u2028"]"#,
        #"{"":{"":{"":[[[[[[]]]]]]}}}"#, "0", "\"x\"", "null", "-1.5e+10", "\t\r\n1",
    ]

    @Test func whatOthersWriteIsReadAlike() throws {
        for text in Self.texts {
            let value = try #require(ours(Array(text.utf8)), "\(text)")
            #expect(value == theirs(Array(text.utf8)), "\(text)")
            // And what is written is read alike again.
            let written = try JSONText.encode(value)
            #expect(theirs(written) == value, "\(String(decoding: written, as: UTF8.self))")
            #expect(ours(written) == value)
        }
    }

    @Test(arguments: [
        "", " ", "{", "}", "[", "[1", "[1,", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "[1 2]", "1 2", "nul",
        "nulll", "True", "01", "-", "-01", "1.", ".5", "1e", "1e+", "+1", "0x10", "NaN", "Infinity", "\"", "\"\\\"", "\"\\x\"",
        "\"\\u12\"", "\"\\u12g4\"", "\"\\ud83d\"", "\"\\ud83dx\"", "\"\\ud83d\\n\"", "\"\\ude00\"", "\"a\nb\"", "\"\u{1}\"", "[1]]", "{}{}",
        "// x\n1", "[1]//", "\u{b}1", "\u{a0}1",
    ])
    func whatIsNoJSONIsRefused(_ text: String) {
        #expect(ours(Array(text.utf8)) == nil)
        #expect(throws: JSONSyntaxError.self) { _ = try JSONValue(parsing: Array(text.utf8)) }
    }

    @Test(arguments: [[0x22, 0xff, 0x22], [0x22, 0xc3, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc0, 0xaf, 0x22], [0xff]] as [[UInt8]])
    func textThatIsNotUTF8IsRefused(_ text: [UInt8]) {
        #expect(throws: JSONSyntaxError.self) { _ = try JSONValue(parsing: text) }
    }

    @Test func nestingIsBounded() throws {
        let opening = [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)
        #expect(throws: JSONSyntaxError(offset: 512)) { _ = try JSONValue(parsing: opening) }
        let deep = String(repeating: "[", count: 511) + String(repeating: "]", count: 511)
        _ = try JSONValue(parsing: Array(deep.utf8))
    }

    /// 40,000 messages with bytes changed, taken out and doubled: both take and refuse the same, and see the same in it. Foundation
    /// lets a comma end a list, which RFC 8259 does not.
    @Test func damagedMessagesAreTakenAndRefusedAlike() {
        var random = SystemRandomNumberGenerator()
        var taken = 0
        let bytes = Array("{}[]\",:\\0123456789-+.eEutrfalsn /\u{1}".utf8) + [0x80, 0xc3, 0xe2, 0xff]
        for round in 0..<40_000 {
            var text = Array(Self.texts[round % Self.texts.count].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: text[place] = bytes.randomElement(using: &random)!
                case 1: text.insert(bytes.randomElement(using: &random)!, at: place)
                case 2 where text.count > 1: text.remove(at: place)
                default: text.insert(contentsOf: text[place..<min(place + 8, text.count)], at: place)
                }
            }
            let (mine, other) = (ours(text), theirs(text))
            if mine == nil, String(decoding: text, as: UTF8.self).contains(/,[ \n]*[\]}]/) { continue }
            #expect(mine == other, "\(String(decoding: text, as: UTF8.self))")
            if mine != nil { taken += 1 }
        }
        // Else it would say little.
        #expect(taken > 4_000)
    }

    @Test func numbersAreWhatTheirTypeCanHold() throws {
        func decode<Value: Decodable>(_ text: String, _ type: Value.Type) throws -> Value { try JSONValue(parsing: Array(text.utf8)).decode(type) }
        #expect(try decode("18446744073709551615", UInt64.self) == .max)
        #expect(try decode("-9223372036854775808", Int64.self) == .min)
        #expect(try decode("2e3", Int.self) == 2_000)
        for text in ["1.5", "300", "-1", "1e400", "\"1\"", "true"] {
            #expect(throws: DecodingError.self) { _ = try decode(text, UInt8.self) }
        }
        #expect(throws: DecodingError.self) { _ = try decode("1e400", Double.self) }
        #expect(throws: EncodingError.self) { _ = try JSONText.encode([Double.infinity]) }
        #expect(try JSONText.encode([UInt64.max]) == Array("[18446744073709551615]".utf8))
    }

    @Test func membersAreWrittenInTheirOrderAndStringsEscaped() throws {
        struct Sample: Codable {
            var second: Int? = 2
            var first: String? = "\"\\\n\u{1}\u{1f}/é"
            var none: Int?
            var list: [Int?] = [1, nil]
            var empty = Empty()
            struct Empty: Codable {}
        }
        let text = String(decoding: try JSONText.encode(Sample()), as: UTF8.self)
        #expect(text == #"{"second":2,"first":"\"\\\n\u0001\u001f/é","list":[1,null],"empty":{}}"#)
    }
}
