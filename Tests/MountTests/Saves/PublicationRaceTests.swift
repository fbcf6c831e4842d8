import Glibc
import TestSupport
import Testing

extension MountTests {
    /// What happens to a document in the moment in which a version of it is published.
    @Suite(.sharedMounts)
    struct PublicationRaceTests {
        /// A file that another took the place of has no save to go on with: the walk to the new one begins it.
        @Test(arguments: SaveMount.allCases)
        func oneSaverRenamesAndOneTruncates(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell("SaveExerciser renamed doc \(isLongRun ? 40_000 : 600)", limit: .seconds(1800))
                    == "torn 0 faults 0, errors 0")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func attributesSetWhileAVersionIsPublishedAreKept(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell("SaveExerciser attributes doc \(isLongRun ? 200_000 : 3_000)", limit: .seconds(3600))
                    == "lost 0, errors 0")
            }
        }

        /// The first version of a document that is published through a mount has no older one.
        @Test(arguments: SaveMount.accounts)
        func attributesSetWhileTheFirstVersionIsPublishedAreKept(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell(
                    "for n in $(seq \(isLongRun ? 2_000 : 40)); do SaveExerciser attributes $n 16; done | sort -u", limit: .seconds(1800)
                ) == "lost 0, errors 0")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func timesSetWhileAVersionIsPublishedAreKept(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell("SaveExerciser times doc \(isLongRun ? 50_000 : 500)", limit: .seconds(3600))
                    == "lost 0, errors 0")
            }
        }

        /// How many opens the environment may say (QUIRE_OPENS).
        @Test(arguments: SaveMount.accounts)
        func noOpenForWritingIsAnsweredStale(kind: SaveMount) throws {
            let opens = getenv("QUIRE_OPENS").flatMap { Int(String(cString: $0)) } ?? (isLongRun ? 1_000_000 : 1_000)
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell("SaveExerciser opens doc \(opens) 12", limit: .seconds(7200)) == "errors 0")
            }
        }

        /// The kernel keeps listings, and does not see that a version has taken the document's name.
        @Test(arguments: SaveMount.accounts)
        func aListingAfterTheCloseHasTheInodeOfTheVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc; echo other >other") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os
                    def listed(): return {entry.name: entry.inode() for entry in os.scandir(".")}["doc"]
                    wrong = 0
                    for number in range(20):
                        listed(); listed()
                        with open("doc", "w") as file: file.write("new")
                        wrong += listed() != os.stat("doc").st_ino
                    print(wrong)
                    """) == "0")
            }
        }

        /// A long publication in place holds up who opens the document for writing, and fails nobody.
        @Test(arguments: SaveMount.allCases)
        func opensForWritingAmidALongPublicationInPlaceWait(kind: SaveMount) throws {
            try withMount(kind.account, kind.options + ["save-pause=0.3,redirected-pause=0.3"]) { (mount: Mount) throws in
                for _ in 0..<(isLongRun ? 20 : 1) {
                    #expect(try mount.shell("SaveExerciser stream doc \"$S/doc\" \(isLongRun ? 600 : 128) 40", limit: .seconds(600))
                        == "opened meanwhile, errors 0")
                }
                try expectNothingHidden(mount)
            }
        }

        /// Other users' processes that are started meanwhile leave no doubt who has the document: when close(2) has returned the version
        /// is in the store, and anybody who opens the document gets it.
        @Test(arguments: SaveMount.accounts)
        func whoOpensAfterTheCloseSeesTheVersionThoughProcessesComeAndGo(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                try mount.shell(#"""
                    others='while [ ! -e "$0" ]; do /bin/true; done'
                    for n in 1 2 3; do timeout 3600 bash -c "$others" "$T/stop" </dev/null >/dev/null 2>&1 & done
                    """#, in: "/", as: 0)
                let found = try mount.shell(
                    "SaveExerciser seen doc \(isLongRun ? 50_000 : 1_000) \"$S/doc\"; touch \"$T/stop\"", limit: .seconds(3600))
                #expect(found == "older 0, unpublished 0, errors 0")
            }
        }
    }
}
