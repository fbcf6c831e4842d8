import TestSupport
import Testing

extension MountTests {
    /// Pictures go where their documents go, whoever moves, changes or removes these, and whenever.
    struct PictureFollowingTests {
        /// `cached COUNT` waits until so many pictures are in the cache.
        private static let helpers = ThumbnailFolderTests.helpers + """
            cached() { eventually '[ $(find "$QUIRE_CACHE_HOME" -name "*.png" | wc -l) = '"$1 ]"; }

            """

        @Test func whatLeavesBeneathTheMountTakesItsPicturesAlong() throws {
            try withMount(prepare: "mkdir -p d/e; convert -size 200x100 xc:red d/a.png; convert -size 90x90 xc:blue d/e/b.png; cp d/a.png c.png") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.helpers + """
                    cat .thumbnails/normal/d/a.png.png .thumbnails/normal/d/e/b.png.png .thumbnails/normal/d/e.png .thumbnails/normal/c.png.png >/dev/null; cached 4
                    mv "$S/d" "$T/d"; cached 1
                    """)
            }
        }

        @Test func whatHappensWhileNothingIsMountedIsFoundOut() throws {
            try withMount(prepare: "for n in stays changes goes moves; do convert -size 90x90 xc:red $n.png; done") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.helpers + "cat .thumbnails/normal/{stays,changes,goes,moves}.png.png >/dev/null; cached 4")
                try mount.unmount()
                try mount.shell("convert -size 90x90 xc:blue $S/changes.png; rm $S/goes.png; mkdir $S/d; mv $S/moves.png $S/d/moved.png", in: mount.store)
                try mount.mount()
                try mount.scanned()
                // The one that changed is rendered again, and nothing else.
                try mount.shell(Self.helpers + """
                    cached 3; eventually '[ $(count) = 1 ]'; sleep 0.3; test $(count) = 1
                    cat .thumbnails/normal/{stays,changes,d/moved}.png.png >/dev/null; test $(count) = 1
                    """)
            }
        }

        @Test func whatIsEmptiedHasNoPictureAnyMore() throws {
            try withMount(prepare: "convert -size 200x100 xc:red a.png; convert -size 200x100 xc:red b.png") { (mount: Mount) throws in
                try mount.shell(Self.helpers + """
                    cat .thumbnails/normal/{a,b}.png.png >/dev/null; : >a.png; test "$(ls .thumbnails/normal)" = b.png.png; ls .recents; cached 1
                    """)
            }
        }

        @Test func aFolderHidesThePictureOfItsName() throws {
            try withMount(prepare: "convert -size 99x99 xc:red png:a; mkdir a.png; cp a a.png/b.png") { (mount: Mount) throws in
                try mount.shell("cat .thumbnails/normal/a.png/b.png.png .thumbnails/normal/a.png.png >/dev/null; ls .thumbnails/normal; sleep 1")
                #expect(try mount.shell("ls .thumbnails/normal | paste -sd' '") == "a.png a.png.png")
            }
        }

        @Test func aPictureBesideItsDocumentHidesNothing() throws {
            try withMount(prepare: "convert -size 64x64 xc:red x.png; convert -size 64x64 xc:blue x.png.png") { (mount: Mount) throws in
                #expect(try mount.python(Samples.colour + "print(colour('.thumbnails/large/x.png.png', 0.5, 0.5), colour('.thumbnails/large/x.png.png.png', 0.5, 0.5))")
                    == "(255, 0, 0) (0, 0, 255)")
            }
        }

        /// What a folder's picture shows may have been made private since, or be reached by nobody but its owner.
        @Test func aFoldersPictureIsForWhoMaySeeWhatIsInIt() throws {
            let prepare = "mkdir d e f; for d in d e f; do convert -size 99x99 xc:red $d/a.png; done; chmod 754 e; chmod 600 f/a.png; chmod 700 f"
            try withMount(prepare: prepare) { (mount: Mount) throws in
                let read = "for d in d e f; do cat .thumbnails/large/$d.png >/dev/null 2>&1 && echo $d || true; done | paste -sd' '"
                #expect(try mount.shell(read) == "d e f")
                #expect(try mount.shell(read, as: Account.alice) == "d")
                try mount.shell("chmod 600 d/a.png; chmod 755 f; sleep 1.1")
                #expect(try mount.shell(read, as: Account.alice) == "")
                // That nothing could be shown is remembered for a minute, or until something else is in it.
                try mount.shell("chmod 644 d/a.png; touch d; convert -size 99x99 xc:blue $T/b.png; cat $T/b.png >f/b.png; sleep 1.1")
                #expect(try mount.shell(read, as: Account.alice) == "d f")
            }
        }

        /// A folder that somebody replaced by a link, into the mount itself, is not followed: the daemon would wait for itself.
        @Test func aLinkInAFoldersPlaceIsNotFollowed() throws {
            try withMount(prepare: "mkdir d; chmod 777 . d; for i in $(seq 40); do convert -size 99x99 xc:red d/$i.png; done") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, subprocess, threading, time
                    held = [os.open(".thumbnails/normal/d/%d.png.png" % number, os.O_PATH) for number in range(1, 41)]
                    os.rename("d", "e"); os.symlink(os.environ["M"] + "/.tags", "d")
                    time.sleep(1.2)  # for so long the kernel need not ask
                    found = []
                    def look(number):
                        for _ in range(20):
                            try: os.stat("/proc/self/fd/%d" % held[number]); found.append("there")
                            except OSError as error: found.append(error.strerror)
                    threads = [threading.Thread(target=look, args=[number]) for number in range(40)]
                    for thread in threads: thread.start()
                    for thread in threads: thread.join()
                    print(len(found), "there" in found, os.path.exists(".tags"))
                    """, as: Account.alice, limit: .seconds(30)) == "800 False True")
            }
        }

        /// A picture that an app has made is of its document alone, whatever others hold the same.
        @Test func anAppsPictureIsNoOneElses() throws {
            try withMount(prepare: "echo old >a.txt; convert -size 500x500 xc:blue $T/blue.png") { (mount: Mount) throws in
                #expect(try mount.python(Samples.colour + """
                    subprocess.run(["CoordinatedProgram", "write", "a.txt", "text=new", "thumbnail=" + os.environ["T"] + "/blue.png"], check=True, stdout=subprocess.DEVNULL)
                    print(colour(".thumbnails/large/a.txt.png", 0.5, 0.9))
                    # The app's is used until it has been made in all sizes.
                    def drawn():
                        os.remove(".thumbnails/normal/a.txt.png")
                        return colour(".thumbnails/normal/a.txt.png", 0.5, 0.9)
                    end = time.monotonic() + 120
                    while str(found := drawn()) != "(255, 255, 255)" and time.monotonic() < end: time.sleep(0.1)
                    print(found)
                    subprocess.run(["cp", "a.txt", "b.txt"]); print(colour(".thumbnails/large/b.txt.png", 0.5, 0.9))
                    """) == "(0, 0, 255)\n(255, 255, 255)\n(255, 255, 255)")
            }
        }
    }
}
