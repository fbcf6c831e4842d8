import CLinux
import func CSystemCalls.sc_run_until_call
import DocumentStore
import Foundation
import StorePrimitives
import Synchronization
import SystemPackage
import Testing

/// What a daemon that ended leaves behind, and what the next mount makes of it. Serialized: it forks.
///
/// The tests that fork run in processes of their own: in this one, other tests' threads may hold any lock at the fork.
@Suite(.serialized) struct RecoveryTests {
    /// What a child does in one test's store, until it is killed.
    private final class Work {
        let base: VersionFixture
        let body: (VersionFixture, VersionStore) throws -> Void

        init(_ base: VersionFixture, _ body: @escaping (VersionFixture, VersionStore) throws -> Void) {
            self.base = base
            self.body = body
        }
    }

    /// Runs `body` as a daemon of its own in a child, killed before its system call number `call`. Whether that was reached.
    private static func run(
        _ store: VersionFixture, killedAt call: Int, _ body: @escaping (VersionFixture, VersionStore) throws -> Void
    ) throws -> Bool {
        let work = Work(store, body)
        let result = withExtendedLifetime(work) {
            Int(sc_run_until_call(
                call,
                { context in
                    // Safe: the parent holds the object until the child is gone.
                    let work = Unmanaged<Work>.fromOpaque(context!).takeUnretainedValue()
                    do { try work.body(work.base, try work.base.remounted()) } catch { _exit(1) }
                }, Unmanaged.passUnretained(work).toOpaque()))
        }
        return try check(result) == 1
    }

    /// Kills `body` at each of its system calls in turn, mounts again and calls `verify` with the number, and whether a publication
    /// stood in the log then.
    static func killedEverywhere(
        _ base: String, leaves names: [[String]] = [["doc"]],
        prepare: (VersionFixture) throws -> Void = { try $0.write(RecoveryTests.old, to: "doc") },
        _ body: @escaping (VersionFixture, VersionStore) throws -> Void,
        verify: (VersionFixture, VersionStore, _ call: Int, _ wasLogged: Bool) throws -> Void
    ) throws {
        let test = try TestFolder(on: base)
        // Once here: the child must not have to wait for what another thread was just making when it was forked.
        let trial = try VersionFixture(on: base)
        try prepare(trial)
        try body(trial, trial.versions)
        var call = 0
        while true {
            let store = try VersionFixture(in: test, number: call)
            try prepare(store)
            let killed = try run(store, killedAt: call, body)
            let wasLogged = try !log(store).isEmpty
            let next = try store.remounted()
            let completing = next.completeIntents(), sweeping = next.sweep()
            #expect(completing.failed == 0 && sweeping.failed == 0, "call \(call)")
            try verify(store, next, call, wasLogged)
            #expect(names.contains(try store.names), "call \(call)")
            #expect(try log(store).isEmpty, "call \(call)")
            if !killed { break }
            call += 1
        }
        // A sequence that did nothing would pass all of the above.
        #expect(call > 20)
    }

    private static func log(_ store: VersionFixture) throws -> String {
        try String(contentsOfFile: store.statePath + "/intents", encoding: .utf8)
    }

    static let old = String(repeating: "old ", count: 5_000)
    /// Shorter: between the copying and the cutting to length the document is in parts.
    private static let new = String(repeating: "new", count: 3_000)

    /// Which of the two the document is; "parts" if neither.
    private static func version(_ store: VersionFixture) throws -> String {
        switch try store.read("doc") {
        case Self.old: "old"
        case Self.new: "new"
        default: "parts"
        }
    }

    private static func saved(_ store: VersionFixture, _ versions: VersionStore, unnamed: Bool) throws -> WorkingCopy {
        let document = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
        let copy = try versions.workingCopy(of: document, in: store.root, unnamed: unnamed, by: .daemon)
        try store.put(new, into: copy)
        return copy
    }

    @Test(arguments: VersionSetting.all) func aDaemonKilledWhilePublishingLeavesAWholeVersion(_ setting: VersionSetting) async {
        await #expect(processExitsWith: .success) { [setting] in
            let reason: KeptVersion.Reason = setting.unnamed ? .unpublished : .unfinished
            let expected: Set = ["old", "new", "\(reason)"]
            var seen: Set<String> = []
            // The number of calls before the one that matters differs beside load: one turn may pass it by.
            for _ in 0..<5 where seen != expected {
                try RecoveryTests.killedEverywhere(setting.base) { store, versions in
                    try RecoveryTests.saved(store, versions, unnamed: setting.unnamed).publishFully(as: EntryName("doc"), in: store.root, durably: true)
                } verify: { store, next, call, _ in
                    let version = try RecoveryTests.version(store)
                    #expect(version != "parts", "call \(call)")
                    seen.insert(version)
                    for kept in next.kept.list(for: 0) {
                        #expect(kept.document == StorePath("doc") && version == "old")
                        seen.insert("\(kept.reason)")
                    }
                }
            }
            #expect(seen == expected, "what was written can be had back")
        }
    }

    @Test(arguments: VersionSetting.all) func aDaemonKilledWhilePublishingInPlaceIsCompleted(_ setting: VersionSetting) async {
        await #expect(processExitsWith: .success) { [setting] in
            var seen: Set<String> = []
            var loggedAt: Set<Int> = []
            try RecoveryTests.killedEverywhere(setting.base) { store, versions in
                try RecoveryTests.saved(store, versions, unnamed: setting.unnamed).publishInPlace(at: StorePath("doc")!, in: store.root)
            } verify: { store, next, call, wasLogged in
                let version = try RecoveryTests.version(store)
                #expect(version == "new" || version == "old" && !wasLogged, "call \(call), \(version)")
                seen.insert(version)
                if wasLogged { loggedAt.insert(call) }
            }
            #expect(seen == ["old", "new"])
            #expect(loggedAt.count >= 5, "syncing the log, copying, cutting, syncing the document, clearing the log")
        }
    }

    /// A publishing in place that is killed in its middle: when the document is in parts.
    private static func halfDone(_ base: String) throws -> VersionFixture {
        let likely = Self.partsAt.load(ordering: .relaxed)
        for attempt in [likely, likely, likely] + Array(1..<100) {
            let store = try VersionFixture(on: base)
            try store.write(Self.old, to: "doc")
            if try run(store, killedAt: attempt, Self.publishInPlace), try version(store) == "parts" {
                Self.partsAt.store(attempt, ordering: .relaxed)
                return store
            }
        }
        throw Errno.timedOut
    }

    /// The call at which it was so last time: the child's own calls, for memory say, are not always the same ones.
    private static let partsAt = Atomic<Int>(40)

    private static func publishInPlace(_ store: VersionFixture, _ versions: VersionStore) throws {
        try saved(store, versions, unnamed: true).publishInPlace(at: StorePath("doc")!, in: store.root)
    }

    @Test(arguments: TestFolder.bases) func aDaemonKilledWhileCompletingIsCompletedByTheNext(_ base: String) async {
        await #expect(processExitsWith: .success) { [base] in
            let stores = try (0..<80).map { _ in try RecoveryTests.halfDone(base) }
            // The time up to which the first daemon wrote is over: the second one must have said anew that it does.
            sleep(5)
            var partsSeen = 0, ended = false
            for (call, store) in stores.enumerated() {
                let killed = try RecoveryTests.run(store, killedAt: call) { _, versions in _ = versions.completeIntents() }
                if try RecoveryTests.version(store) == "parts" { partsSeen += 1 }
                let next = try store.remounted()
                #expect(next.completeIntents().kept == 0, "call \(call)")
                #expect(next.sweep() == VersionStore.Recovery())
                #expect(try RecoveryTests.version(store) == "new", "call \(call)")
                #expect(try store.names == ["doc"], "call \(call)")
                #expect(try RecoveryTests.log(store).isEmpty, "call \(call)")
                if !killed {
                    ended = true
                    break
                }
            }
            #expect(ended && partsSeen > 10)
        }
    }

    @Test(arguments: TestFolder.bases) func aDocumentEditedSinceIsLeftAlone(_ base: String) async {
        await #expect(processExitsWith: .success) { [base] in
            for edit in ["sed s/x/x/ </dev/null >doc; echo edited >>doc; touch -d '+1 hour' doc", "touch -d 2001-01-01 doc"] {
                let store = try RecoveryTests.halfDone(base)
                try store.shell(edit)
                let content = try store.read("doc")
                let next = try store.remounted()
                let recovery = next.completeIntents()
                #expect(recovery.completed == 0 && recovery.kept == 1 && recovery.failed == 0)
                #expect(try store.read("doc") == content)
                #expect(next.kept.list(for: geteuid()).map(\.reason) == [.edited])
                #expect(try store.names == ["doc"])
            }
        }
    }

    @Test(arguments: TestFolder.bases) func aDocumentMovedSinceIsFoundAndCompleted(_ base: String) async {
        await #expect(processExitsWith: .success) { [base] in
            for move in ["mv doc other", "mkdir -p a/b; mv doc a/b/other", "mkdir a; mv doc .quire* a; mv a b"] {
                let store = try RecoveryTests.halfDone(base)
                try #require(try store.shell(move) == 0)
                let recovery = try store.remounted().completeIntents()
                #expect(recovery.completed == 1 && recovery.failed == 0, "\(move)")
                #expect(try store.output("find . -type f | xargs cat") == RecoveryTests.new)
                #expect(try store.output("find . -name '.quire*'; cat ../state/intents") == "")
            }
        }
    }

    @Test func aDocumentReplacedOrRemovedSinceIsLeftAlone() async {
        await #expect(processExitsWith: .success) {
            for (change, names) in [("rm doc", []), ("echo x >x; mv x doc", ["doc"])] {
                let store = try RecoveryTests.halfDone("/tmp")
                try store.shell(change)
                let next = try store.remounted()
                #expect(next.completeIntents().kept == 1)
                #expect(next.kept.list(for: geteuid()).map(\.reason) == [.removed])
                #expect(try store.names == names)
                if !names.isEmpty { #expect(try store.read("doc") == "x\n") }
            }
        }
    }

    @Test func anIntentThatWasNotWrittenWholeIsNone() async {
        await #expect(processExitsWith: .success) {
            let store = try RecoveryTests.halfDone("/tmp")
            try store.shell("truncate -s -3 ../state/intents")
            let before = try store.read("doc")
            let next = try store.remounted()
            #expect(next.completeIntents() == VersionStore.Recovery())
            #expect(try store.read("doc") == before)
            // The log goes on: a new intent after the damaged one is found.
            try store.write("old", to: "other")
            let document = try Descriptor(opening: store.path + "/other", flags: O_RDWR)
            let copy = try next.workingCopy(of: document, in: store.root, by: .daemon)
            try store.put("new", into: copy)
            try copy.publishInPlace(at: StorePath("other")!, in: store.root)
            #expect(try store.read("other") == "new")
        }
    }

    @Test(arguments: TestFolder.bases) func theSweepTakesWhatIsOursAndOfNoLiveDaemon(_ base: String) throws {
        let store = try VersionFixture(on: base)
        try store.shell("mkdir -p a/b")
        try store.write("old", to: "a/b/doc")
        let folder = try Descriptor(opening: store.path + "/a/b", flags: CL_O_PATH | O_DIRECTORY)
        let document = try Descriptor(opening: store.path + "/a/b/doc", flags: O_RDWR)
        // Of this process, which is a live daemon.
        let mine = try store.versions.workingCopy(of: document, in: folder, unnamed: false, by: .daemon)
        let inode = String(try store.identity("a/b/doc").inode, radix: 16)
        try store.shell("cd a/b; echo whole >.quire-save-7ffffff-1-1-\(inode)-w; echo part >.quire-save-7ffffff-1-2-\(inode)-p")
        try store.shell("cd a; : >.quire-save-7ffffff-1-3-1-w; echo lost >.quire-save-7ffffff-1-4-1-w; chmod 200 .quire*")
        let others = [".quire-save", ".quire-save-", ".quire-save-1-1-1-1", ".quire-save-1-1-1-1-other", ".quire-save-mine", ".quire"]
        for name in others { try store.write("x", to: "a/" + name) }
        let recovery = try store.remounted().sweep()
        #expect(recovery.kept == 3 && recovery.failed == 0 && recovery.completed == 0)
        #expect(try store.output("ls -A a | LC_ALL=C sort") == (others + ["b"]).sorted().joined(separator: "\n"))
        #expect(try store.output("ls -A a/b | wc -l") == "2", "the document and the live daemon's copy")
        let kept = try store.remounted().kept.list(for: geteuid())
        #expect(Set(kept.map { "\($0.document) \($0.reason)" }) == [
            "a/b/doc \(KeptVersion.Reason.unpublished)", "a/b/doc \(KeptVersion.Reason.unfinished)",
            "a/.quire-save-7ffffff-1-4-1-w \(KeptVersion.Reason.unpublished)",
        ])
        mine.discard()
        #expect(try store.output("ls -A a/b") == "doc")
    }

    /// Its parent may wait for it late, or never.
    @Test func whatADaemonLeftThatHasEndedAndIsNotWaitedForIsSwept() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.shell("""
            (sleep 0.3 & echo $! >../pid; exec sleep 3) >/dev/null 2>&1 & while ! [ -s ../pid ]; do sleep 0.01; done; pid=$(cat ../pid)
            start=$(awk '{ print $22 }' /proc/$pid/stat); echo lost >.quire-save-$(printf %x-%x $pid $start)-1-1-w
            echo lives >.quire-save-$(printf %x-%x $! $(awk '{ print $22 }' /proc/$!/stat))-1-1-w
            while [ $(awk '{ print $3 }' /proc/$pid/stat) != Z ]; do sleep 0.01; done
            """)
        #expect(try store.remounted().sweep().kept == 1)
        #expect(try store.output("cat .quire-save-*") == "lives")
    }
}
