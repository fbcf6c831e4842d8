import Coordination
import DocumentMount
import DocumentStore
import Testing

struct SaveOptionsTests {
    private func options(_ list: String) throws -> MountOptions { try MountOptions(parsing: [list]) }

    @Test func withoutOptionsTheDefaultsHold() throws {
        let options = try options("")
        #expect(options.streamTimes == StreamTimes())
        #expect(options.livePatterns == .standard)
        #expect(!options.syncsSaves)
        #expect(options.keptLimits == KeptVersions.Limits())
    }

    @Test func eachTimeIsItsOwn() throws {
        let times = try options("redirected-pause=2,redirected-open=0.5,save-pause=inf").streamTimes
        #expect(times.redirectedPause == .seconds(2))
        #expect(times.redirectedOpen == .milliseconds(500))
        #expect(times.pause == nil)
    }

    @Test(arguments: [
        ("1", 1_000), ("0.001", 1), (".25", 250), ("1.5", 1_500), ("90.1239", 90_123), ("007", 7_000),
        ("999999999", 999_999_999_000),
    ])
    func secondsMayBeFractions(text: String, milliseconds: Int64) throws {
        #expect(try options("save-pause=\(text)").streamTimes.pause == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        "", "0", "0.0", "0.0001", "-1", "+1", "1e3", "0x10", "nan", "INF", "infinity", "5s", "1.", ".", "1;5", " 1", "1000000000",
        "1.2.3", "99999999999999999999", "٣",
    ])
    func whatIsNoTimeIsRefused(text: String) throws {
        #expect(throws: MountOptionError.self) { try options("redirected-open=\(text)") }
    }

    @Test func theMessageSaysWhatIsExpected() throws {
        let zero = #expect(throws: MountOptionError.self) { try options("save-pause=0") }
        #expect(
            zero?.description
                == "mount option 'save-pause' cannot be '0': it takes seconds, such as 60 or 0.5, or inf for never; with 0 no save "
                + "would be a transaction")
        let none = #expect(throws: MountOptionError.self) { try options("keep-days") }
        #expect(
            none?.description == "mount option 'keep-days' needs a value: it takes days, such as 7 or 0.5, or 0 to keep nothing")
        let unknown = #expect(throws: MountOptionError.self) { try options("save-pauses=3") }
        #expect(unknown == .unknown("save-pauses=3", nearest: "save-pause"))
        #expect(throws: MountOptionError.unknown("sync-saves=1", nearest: "sync-saves")) { try options("sync-saves=1") }
    }

    @Test func savesCanBeMadeDurable() throws {
        let options = try options("sync-saves")
        #expect(options.syncsSaves && options.kernelOptions == [])
    }

    @Test(arguments: [
        ("0", 0), ("1", 1), ("1024", 1024), ("3K", 3 << 10), ("512M", 512 << 20), ("2g", 2 << 30), ("1T", 1 << 40),
    ])
    func sizesMayHaveAUnit(text: String, bytes: Int64) throws {
        #expect(try options("keep-size=\(text)").keptLimits.bytes == bytes)
    }

    @Test(arguments: ["", "M", "-1", "1.5G", "1GB", "1P", "8388608T", "0x1"]) func whatIsNoSizeIsRefused(text: String) {
        #expect(throws: MountOptionError.self) { try options("keep-size=\(text)") }
    }

    @Test func daysAreKeptAsSeconds() throws {
        #expect(try options("keep-days=30").keptLimits.seconds == 30 * 86_400)
        #expect(try options("keep-days=0.5").keptLimits.seconds == 43_200)
        #expect(try options("keep-days=0").keptLimits.seconds == 0)
        #expect(throws: MountOptionError.self) { try options("keep-days=inf") }
        #expect(throws: MountOptionError.self) { try options("keep-days=-1") }
    }
}

struct LivePatternTests {
    private func names(_ names: [String], matching options: String...) throws -> [String] {
        let patterns = try MountOptions(parsing: options).livePatterns
        return names.filter { patterns.matches($0) }
    }

    @Test func someNamesAreLiveUnlessToldOtherwise() throws {
        let live = [
            "server.log", ".hidden.log", ".log", "typescript", "big.iso.part", "big.zip.crdownload", "daemon.pid", "mailbox.lck",
            "a\nb.log", "é\u{301}.log",
        ]
        let others = [
            "report.odt", "server.log.1", "catalog", "LOG", "server.LOG", "Cargo.lock", "typescript.md", "part", "log",
            "photos.sqlite", "",
        ]
        #expect(try names(live + others) == live)
    }

    @Test func patternsAreAdded() throws {
        let given = ["a.log", "a.trace", "b.out", "c.out2", "[x]", "d.txt"]
        let live = try names(given, matching: "live=*.trace:b.*", "live=?.out[0-9]:\\[x\\]")
        #expect(live == ["a.log", "a.trace", "b.out", "c.out2", "[x]"])
    }

    @Test func noneTakesAwayThoseSoFar() throws {
        let given = ["a.log", "a.trace", "a.part"]
        #expect(try names(given, matching: "live=none") == [])
        #expect(try names(given, matching: "live=*.trace", "live=none:*.log") == ["a.log"])
        #expect(try names(["none", "a.log"], matching: "live=none:[n]one") == ["none"])
    }

    @Test(arguments: ["live", "live=", "live=*.a:", "live=:", "live=sub/*.log"]) func whatMatchesNoNameIsRefused(option: String) {
        #expect(throws: MountOptionError.self) { try MountOptions(parsing: [option]) }
    }

    @Test func namesAreBytes() throws {
        let patterns = try MountOptions(parsing: ["live=x*"]).livePatterns
        let name: [CChar] = [0x78, -1, -2, 0x2e, 0]
        #expect(name.withUnsafeBufferPointer { patterns.matches($0.baseAddress!) })
    }
}
