import DocumentIndex
import struct DocumentIndex.Tag
import StorePrimitives
import Testing

/// A classifier with the recents it leads to: what is settled is in, what is retracted is out again.
private struct Desk {
    var classifier = ReaderClassifier()
    var counted: [DocumentUse] = []
    var retracted: [DocumentUse] = []
    var now: Duration = .seconds(1000)

    var names: [String] { counted.map(\.path.description) }

    mutating func open(_ name: String, _ groups: ReaderGroup..., user: UserID = anna, isBackground: Bool = false) {
        let time = at(1_000_000).advanced(by: now)
        let open = ReadOpen(path: path(name), user: user, time: time, groups: groups, isBackground: isBackground)
        let taken = classifier.noteOpen(open, now: now)
        retracted += taken
        counted.removeAll { taken.contains($0) }
    }

    /// Time goes by, and the daemon asks as it should.
    mutating func wait(_ duration: Duration) {
        let end = now + duration
        while let next = classifier.nextSettling, next <= end {
            now = next
            counted += classifier.settle(now: now)
        }
        now = end
        counted += classifier.settle(now: now)
    }
}

private func process(_ id: Int32) -> ReaderGroup { .process(id: id, start: 1) }
private let shell = ReaderGroup.children(id: 10, start: 1)

@Suite struct ReaderClassifierTests {
    @Test func aPersonOpeningThreeDocumentsInAMinuteCounts() {
        var desk = Desk()
        for (number, name) in ["a", "b", "c"].enumerated() {
            desk.open(name, process(Int32(number)), shell)
            desk.wait(.seconds(20))
        }
        #expect(desk.names == ["a", "b", "c"])
        #expect(desk.retracted == [])
        #expect(desk.counted[1].time == at(1_000_000 + 1020))
    }

    @Test func anOpenCountsOnlyAfterTheSettlingTime() {
        var desk = Desk()
        #expect(desk.classifier.nextSettling == nil)
        desk.open("a", process(1))
        #expect(desk.classifier.nextSettling == .milliseconds(1_001_500))
        #expect(desk.classifier.settle(now: .milliseconds(1_001_499)) == [])
        #expect(desk.classifier.settle(now: .milliseconds(1_001_500)).map(\.path) == [path("a")])
        #expect(desk.classifier.nextSettling == nil)
    }

    @Test func aRecursiveReaderNeverCounts() {
        var desk = Desk()
        for number in 0..<500 {
            desk.open("d/\(number)", process(1), shell)
            desk.wait(.milliseconds(1))
        }
        desk.wait(.seconds(5))
        #expect(desk.counted == [])
        #expect(desk.retracted == [])
    }

    @Test func aLoopOfShortProcessesIsOneReader() {
        var desk = Desk()
        for number in 0..<50 {
            desk.open("d/\(number)", .departed(anna))
            desk.wait(.milliseconds(3))
        }
        desk.wait(.seconds(5))
        #expect(desk.counted == [])
    }

    @Test func aLoopIsKnownByTheShellThatRunsIt() {
        var desk = Desk()
        for number in 0..<50 {
            desk.open("d/\(number)", process(Int32(100 + number)), shell)
            desk.wait(.seconds(1))
        }
        desk.wait(.seconds(5))
        #expect(desk.counted == [])
        #expect(desk.retracted.count > 0)
    }

    @Test func afterALoopThePersonInThatShellCountsAgain() {
        var desk = Desk()
        for number in 0..<50 { desk.open("d/\(number)", process(Int32(100 + number)), shell) }
        desk.wait(.seconds(10))
        desk.open("letter", process(200), shell)
        desk.wait(.seconds(2))
        #expect(desk.names == ["letter"])
    }

    @Test func aSlowBackupIsFoundOutAndAllOfItTakenBack() {
        var desk = Desk()
        desk.open("mine", process(2))
        for number in 0..<100 {
            desk.open("d/\(number)", process(1))
            desk.wait(.seconds(12))
        }
        #expect(desk.names == ["mine"])
        #expect(desk.retracted.count == 20)
    }

    @Test func aSlowReaderStaysOneUntilItHasBeenIdleForTheWindow() {
        var desk = Desk()
        for number in 0..<21 {
            desk.open("d/\(number)", process(1))
            desk.wait(.seconds(12))
        }
        desk.wait(.seconds(580))
        desk.open("e", process(1))
        desk.wait(.seconds(599))
        desk.open("f", process(1))
        desk.wait(.seconds(600))
        desk.open("g", process(1))
        desk.wait(.seconds(2))
        #expect(desk.names == ["g"])
    }

    @Test(arguments: [50, 200, 400]) func aThumbnailerNeverCountsWhateverItsPace(milliseconds: Int) {
        var desk = Desk()
        for number in 0..<40 {
            desk.open("photos/\(number).jpg", process(1))
            desk.wait(.milliseconds(milliseconds))
        }
        // The next folder has few pictures.
        desk.wait(.seconds(60))
        for number in 0..<3 { desk.open("more/\(number).jpg", process(1)) }
        desk.wait(.seconds(5))
        #expect(desk.counted == [])
    }

    @Test func aSlowThumbnailerIsTakenBack() {
        var desk = Desk()
        for number in 0..<12 {
            desk.open("photos/\(number).jpg", process(1))
            desk.wait(.milliseconds(1600))
        }
        #expect(desk.counted == [])
        #expect(desk.retracted.map(\.path) == (0..<6).map { path("photos/\($0).jpg") })
    }

    @Test func aViewerThatReopensOneDocumentCountsItOnce() {
        var desk = Desk()
        for _ in 0..<100 {
            desk.open("report.pdf", process(1))
            desk.wait(.milliseconds(500))
        }
        desk.wait(.seconds(2))
        #expect(desk.names == ["report.pdf"])
        desk.wait(.seconds(120))
        desk.open("report.pdf", process(1))
        desk.wait(.seconds(2))
        #expect(desk.names == ["report.pdf", "report.pdf"])
        #expect(desk.retracted == [])
    }

    @Test func sixDocumentsAtOnceCountAndTheSeventhDropsAll() {
        var desk = Desk()
        for number in 0..<6 { desk.open("d/\(number)", process(1)) }
        desk.wait(.seconds(2))
        #expect(desk.names.count == 6)
        desk.open("d/7", process(1))
        #expect(desk.counted == [])
        #expect(desk.retracted.count == 6)
    }

    @Test func aFastReaderLosesOnlyWhatItCountedInTheFastWindow() {
        var desk = Desk()
        desk.open("opened/by/hand", process(1))
        desk.wait(.seconds(60))
        for number in 0..<10 { desk.open("d/\(number)", process(1)) }
        desk.wait(.seconds(2))
        #expect(desk.names == ["opened/by/hand"])
    }

    @Test func otherReadersAreNotTouchedByABulkReader() {
        var desk = Desk()
        for number in 0..<30 {
            desk.open("d/\(number)", process(1))
            if number == 3 { desk.open("letter", process(2)) }
        }
        desk.wait(.seconds(2))
        #expect(desk.names == ["letter"])
    }

    @Test func backgroundReadersNeverCount() {
        var desk = Desk()
        desk.open("a", process(1), isBackground: true)
        desk.wait(.seconds(5))
        #expect(desk.counted == [])
    }

    @Test func usesAreEachUsersOwn() {
        var desk = Desk()
        desk.open("a", .departed(anna), user: anna)
        desk.open("a", .departed(ben), user: ben)
        desk.wait(.seconds(2))
        #expect(Set(desk.counted.map(\.user)) == [anna, ben])
    }

    @Test func hiddenPathsDoNotCountButShowABulkReader() {
        var desk = Desk()
        for number in 0..<6 { desk.open(".git/objects/\(number)", process(1)) }
        desk.open("a", process(1))
        desk.open(".config/x", process(2))
        desk.wait(.seconds(5))
        #expect(desk.counted == [])
    }

    @Test(arguments: [
        ("a.txt", true), ("d/a", true), (".a", false), ("d/.git/a", false), (".d/a", false), ("a~", false),
        ("d/a.tmp", false),
        ("a.part", false), ("a.crdownload", false), ("a.lock", false), (".~lock.a.odt#", false), ("tmp", true),
        ("~a", true),
        ("a.party", true), ("d~/a", true),
    ])
    func namesOfHiddenAndUnfinishedFilesDoNotCount(name: String, counts: Bool) {
        #expect(ReaderClassifier.mayCount(path(name)) == counts)
    }

    @Test func aStormOfReadersIsBoundedAndForgotten() {
        var options = ReaderClassifier.Options()
        options.pendingLimit = 50
        options.groupLimit = 100
        var desk = Desk(classifier: ReaderClassifier(options: options))
        for number in 0..<5000 {
            desk.open("d/\(number)", process(Int32(number)))
        }
        desk.wait(.seconds(2))
        #expect(desk.counted.count == 50)
        desk.open("after", process(9999))
        desk.wait(.seconds(2))
        #expect(desk.names.last == "after")
    }
}
