import Coordination
import Testing

/// Which processes belong to a save and see its working copy (rule 4).
struct SaveLineageTests {
    typealias Document = DrivenDocument
    let saver = Document.process(10)
    let other = Document.process(20)

    @Test func descendantsStartedLaterSeeTheWorkingCopy() {
        let document = Document()
        let save = document.open(saver)
        let child = Document.child(30, of: saver)
        #expect(document.saves.lookup(child) == save.version)
        #expect(document.saves.lookup(Document.child(31, of: child)) == save.version)
        #expect(document.saves.lookup(Document.child(32, of: other)) == Document.original)
    }

    @Test func whatAnOlderChildStartsDoesNot() {
        let document = Document()
        _ = document.open(saver)
        let watcher = SaveCaller(
            thread: ThreadID(30), process: SaveProcess(id: 30, start: 99), ancestors: [saver.process!])
        #expect(document.saves.lookup(watcher) == Document.original)
        #expect(document.saves.lookup(Document.child(31, of: watcher)) == Document.original)
    }

    /// Start, number, and whether that process is younger than a save of tick 100 after process 500.
    @Test(arguments: [(99, 900, false), (100, 500, false), (100, 501, true), (101, 3, true)])
    func processNumbersSettleWhatATickLeavesOpen(start: UInt64, id: Int32, isYounger: Bool) {
        let document = Document()
        let save = document.open(saver)
        let child = SaveCaller(
            thread: ThreadID(id), process: SaveProcess(id: id, start: start), ancestors: [saver.process!])
        #expect(document.saves.lookup(child) == (isYounger ? save.version : Document.original))
    }

    @Test func aProcessOfTheSameNumberIsAnother() {
        let document = Document()
        _ = document.open(saver)
        let later = SaveCaller(thread: ThreadID(10), process: SaveProcess(id: 10, start: 5_000))
        #expect(document.saves.lookup(later) == Document.original)
    }

    @Test func whoUsesAnInheritedDescriptorBelongsToIt() {
        let document = Document()
        let save = document.open(saver)
        let orphan = Document.process(30)
        document.write(save, by: orphan)
        #expect(document.saves.lookup(orphan) == save.version)
        #expect(document.saves.lookup(Document.child(31, of: orphan)) == save.version)
    }

    @Test func whoIsFoundToHoldADescriptorBelongsToIt() {
        let document = Document()
        let save = document.open(saver)
        let orphan = Document.process(30)
        #expect(document.saves.flushing(save.handle, by: saver.process)?.holders?.processes == [saver.process!])
        var facts = FlushFacts()
        facts.inheritors = [orphan.process!]
        #expect(document.saves.flush(save.handle, facts) == .none)
        #expect(document.saves.lookup(orphan) == save.version)
        #expect(
            document.saves.flushing(save.handle, by: saver.process)?.holders?.processes
                == [saver.process!, orphan.process!])
    }

    @Test func whoBelongsToTwoSavesWorksOnTheNewest() {
        let document = Document()
        let first = document.open(saver)
        let second = document.open(other)
        document.write(first, by: other)
        #expect(document.saves.lookup(other) == second.version)
        #expect(document.open(other, [.writes], starting: Document.original).version == second.version)
    }

    @Test func whoJoinsDoesNotBelongToIt() {
        let document = Document()
        let save = document.open(saver)
        let joined = document.append(other)
        document.write(joined, by: other)
        #expect(document.saves.lookup(other) == Document.original)
        #expect(document.saves.lookup(saver) == save.version)
    }

    @Test func ancestorsAreAskedForOnlyWhereTheyMatter() {
        let document = Document()
        #expect(!document.saves.needsAncestors(of: saver.process))
        _ = document.open(saver)
        #expect(!document.saves.needsAncestors(of: saver.process))
        #expect(document.saves.needsAncestors(of: other.process))
        #expect(!document.saves.needsAncestors(of: nil))
    }
}
