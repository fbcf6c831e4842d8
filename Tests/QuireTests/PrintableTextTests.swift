import Testing
import quire

struct PrintableTextTests {
    @Test func whatMovesACursorIsEscaped() {
        #expect(PrintableText.line("\u{1B}]0;x\u{07}") == #"\x1B]0;x\x07"#)
        #expect(PrintableText.line("a\nb\tc\rd\u{7F}") == #"a\x0Ab\x09c\x0Dd\x7F"#)
        #expect(PrintableText.line("\u{85}\u{9B}2J") == #"\u{85}\u{9B}2J"#)
    }

    @Test func whatTurnsOrHidesTextIsEscaped() {
        #expect(PrintableText.line("x\u{202E}txt.exe\u{2066}\u{200F}\u{FEFF}\u{2028}") == #"x\u{202E}txt.exe\u{2066}\u{200F}\u{FEFF}\u{2028}"#)
    }

    @Test func whatIsNoTextIsEscaped() {
        #expect(PrintableText.line([0x61, 0xFF, 0x62] as [UInt8]) == #"a\xFFb"#)
        #expect(PrintableText.line([0xC3] as [UInt8]) == #"\xC3"#)
        // A surrogate, and a sequence that is longer than it has to be.
        #expect(PrintableText.line([0xED, 0xA0, 0x80, 0xC0, 0xAF] as [UInt8]) == #"\xED\xA0\x80\xC0\xAF"#)
    }

    @Test func textOfAnyLanguageIsAsItIs() {
        for text in ["", "plain.txt", "Überschrift é", "文書", "مستند", "נייר", "नमस्ते\u{200D}", "👩‍👩‍👧", "~/a b"] {
            #expect(PrintableText.line(text) == text)
        }
    }

    @Test func linesOfTheCommandsOwnStay() {
        #expect(PrintableText.lines("a\n  b\tc\u{1B}[1m\n") == "a\n  b\tc\\x1B[1m\n")
    }
}
