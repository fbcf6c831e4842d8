import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage
import Testing

/// What is to be published together, by a daemon that ends on the way.
extension RecoveryTests {
    private static func staged(_ text: String, of name: String, _ store: VersionFixture, _ versions: VersionStore) throws -> EntryName {
        let document = try Descriptor(opening: store.path + "/" + name, flags: O_RDWR)
        let copy = try versions.workingCopy(of: document, in: store.root, by: .daemon)
        let hidden = try copy.stage(in: store.root).name
        _ = try check(cl_ftruncate(copy.file.number, 0))
        try store.put(text, into: copy)
        return hidden
    }

    /// Saves `one` and `two`, makes `three` and removes `four`.
    private static func publishAll(_ store: VersionFixture, _ versions: VersionStore) throws {
        let three = versions.stagedName(for: EntryName("three"))
        let file = try three.withCString { try Descriptor(opening: $0, in: store.root, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600) }
        _ = try check(cl_pwrite(file.number, "new", 3, 0))
        let versionsOfNames = [
            ("one", try staged("new", of: "one", store, versions)), ("two", try staged("new", of: "two", store, versions)),
            ("three", three), ("four", nil),
        ]
        var group = try versions.prepare(
            versionsOfNames.map { GroupChange(EntryName($0), in: store.root, at: .root, staged: $1) })
        try group.commit()
        group.finish()
    }

    private static func prepare(_ store: VersionFixture) throws {
        for name in ["one", "two", "four"] { try store.write("old", to: name) }
    }

    private static func state(_ store: VersionFixture) throws -> String {
        try store.output("for name in one two three four; do cat $name 2>/dev/null || printf -- -; done")
    }

    @Test(arguments: TestFolder.bases) func aDaemonKilledWhilePublishingAGroupLeavesAllOrNothing(_ base: String) async {
        await #expect(processExitsWith: .success) { [base] in
            var seen: Set<String> = []
            let names = [["four", "one", "two"], ["one", "three", "two"]]
            try RecoveryTests.killedEverywhere(base, leaves: names, prepare: RecoveryTests.prepare, RecoveryTests.publishAll) { store, next, call, wasLogged in
                let state = try RecoveryTests.state(store)
                #expect(state == "newnewnew-" || state == "oldold-old" && !wasLogged, "call \(call)")
                // A version that was not published is kept.
                if state == "oldold-old" { seen.formUnion(next.kept.list(for: 0).filter { $0.reason == .unpublished }.map { "\($0.document)" }) }
                seen.insert(state)
            }
            #expect(seen == ["newnewnew-", "oldold-old", "one", "three", "two"])
        }
    }

    /// What came under a name meanwhile stays, and so does everything else.
    @Test(arguments: TestFolder.bases) func aGroupThatMeetsAnotherFileChangesNothing(_ base: String) throws {
        for name in ["one", "two", "four"] {
            let store = try VersionFixture(on: base)
            try Self.prepare(store)
            let changes = try ["one", "two", "four"].map { name in
                let staged = name == "four" ? nil : try Self.staged("new", of: name, store, store.versions)
                return GroupChange(EntryName(name), in: store.root, at: .root, staged: staged)
            }
            var group = try store.versions.prepare(changes)
            try store.shell("echo -n other >x; mv x \(name)")
            #expect(throws: Errno.staleNFSFileHandle) { try group.commit() }
            group.abandon()
            #expect(try store.output("cat one two four") == ["one", "two", "four"].map { $0 == name ? "other" : "old" }.joined())
            #expect(try store.output("cat ../state/intents") == "")
        }
    }
}
