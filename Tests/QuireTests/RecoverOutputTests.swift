import MountProtocol
import Testing
import quire

struct FiguresTests {
    @Test(arguments: [
        (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"), (10_239, "9.9 KiB"), (10_240, "10 KiB"),
        (1_048_575, "1023 KiB"), (1 << 20, "1.0 MiB"), (5 << 30, "5.0 GiB"), (Int64.max, "7.9 EiB"),
    ]) func sizesHaveTwoFigures(bytes: Int64, text: String) { #expect(Figures.size(bytes) == text) }

    @Test(arguments: [
        (-5, "0 s"), (0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3_599, "59 min"), (3_600, "1 h"), (172_799, "47 h"),
        (172_800, "2 d"), (604_800, "7 d"), (Double.infinity, "11574074 d"),
    ]) func agesHaveOneUnit(seconds: Double, text: String) { #expect(Figures.age(seconds) == text) }
}

struct RecoveryListTests {
    private func version(
        _ id: UInt64, _ path: [UInt8], age: Double, size: Int64, hasContent: Bool = true,
        saver: RecoverableVersion.Saver? = nil, _ explanation: String
    ) -> RecoverableVersion {
        RecoverableVersion(
            id: id, path: DocumentPath(path), time: 1_000_000 - age, size: size, hasContent: hasContent, saver: saver,
            reason: "any", explanation: explanation, owner: 0, group: 0, mode: 0o600)
    }

    @Test func linesAreAlignedAndSayWhy() {
        let lines = RecoveryList.lines(
            [
                version(
                    120, Array("/docs/a b".utf8), age: 90, size: 4_096, saver: .init(pid: 7, process: "vim", uid: 1),
                    "its process was ended by signal 9"),
                version(9, [0x2f, 0xff], age: 200_000, size: 5, "the document was removed meanwhile"),
                version(
                    8, [0x2f, 0x78], age: 1, size: 3 << 30, hasContent: false, saver: .init(pid: 7, process: "", uid: 1),
                    "another process saved over it"),
            ], now: 1_000_000)
        #expect(lines == [
            "120  1 min  4.0 KiB  /docs/a b: its process was ended by signal 9; written by vim, process 7",
            #"  9    2 d      5 B  /\xFF: the document was removed meanwhile"#,
            "  8    1 s  3.0 GiB  /x: another process saved over it; written by process 7; too large to be kept",
        ])
    }
}
