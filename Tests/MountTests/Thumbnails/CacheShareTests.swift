import TestSupport
import Testing

extension MountTests {
    /// What users' pictures may take of the cache that root's mounts have.
    struct CacheShareTests {
        /// `own USER` are the bytes of a user's pictures, `share USER` what `quire status` says of them and of the bounds, `draw NAME…`
        /// renders one after another, `cached NAME` whether its picture is there.
        private static let helpers = #"""
            own() { find "$QUIRE_CACHE_HOME" -type f -uid $1 -printf '%s\n' | awk '{ n += int(($1 + 4095) / 4096) * 4096 } END { print n + 0 }'; }
            draw() { local name; for name; do cat .thumbnails/large/$name.png.png >/dev/null; done; }
            cached() { [ -e "$QUIRE_CACHE_HOME/thumbnails/large/$(printf %s "file://$M/$1.png" | md5sum | cut -c1-32).png" ]; }
            share() {
                setpriv --reuid $1 --regid $1 --clear-groups quire status --json "$M" | python3 -c '
            import json, sys
            share, = [s for s in json.load(sys.stdin)["shares"] if s["resource"] == "thumbnailBytes"]
            print(share["used"], share["limit"], share["limitOfAll"])'
            }
            # make USER NAME…: pictures of 192 KiB, of that user's.
            make() {
                local user=$1 name; shift
                for name; do head -c 196608 /dev/urandom | convert -size 256x256 -depth 8 rgb:- $name.png; chown $user $name.png; done
            }

            """#

        /// With a cache of 4 MiB in all, a tenth of its file system's 40, and 1 MiB for a user.
        private func withSmallCache(_ prepare: String, _ body: (Mount) throws -> Void) throws {
            let mount = try Mount(.root)
            try mount.shell("mount -t tmpfs -o size=40m quire-test \"$QUIRE_CACHE_HOME\"", in: "/")
            defer {
                mount.end()
                _ = try? mount.shell("umount \"$QUIRE_CACHE_HOME\"", in: "/")
            }
            try mount.shell(Self.helpers + prepare, in: mount.store)
            try mount.mount()
            try body(mount)
        }

        @Test func aUsersPicturesLeaveTheOthersTheirs() throws {
            let (alice, bob) = (Account.alice, Account.bob)
            try withSmallCache("make \(bob) b1 b2; make \(alice) a1 a2 a3 a4 a5 a6 a7 a8 a9") { (mount: Mount) throws in
                try mount.shell(Self.helpers + """
                    draw b1 b2 a1 a2 a3 a4 a5 a6 a7 a8 a9
                    within() { [ $(own \(alice)) -le 1048576 ]; }
                    eventually within
                    [ $(own \(alice)) -gt 400000 ]
                    # The oldest went, and it is drawn anew when somebody looks.
                    expect_fails cached a1
                    cached a9; cached b1; cached b2
                    draw a1; eventually within
                    same() { [ "$(share $1)" = "$(own $1) 1048576 4194304" ]; }
                    eventually same \(alice); same \(bob)
                    """)
                // A new daemon counts what it finds.
                try mount.unmount()
                try mount.mount()
                try mount.shell(Self.helpers + """
                    same() { [ "$(share $1)" = "$(own $1) 1048576 4194304" ]; }
                    eventually same \(alice); eventually same \(bob)
                    [ $(own \(alice)) -gt 400000 ]
                    rm .thumbnails/large/b1.png.png; eventually same \(bob)
                    """)
            }
        }

        /// A desktop's cache is its user's: nothing in it is counted or removed.
        @Test func anOrdinaryUsersMountLeavesTheDesktopsCacheAlone() throws {
            try withMount(.user, prepare: "head -c 3000 /dev/urandom | convert -size 50x20 -depth 8 rgb:- a.png") { (mount: Mount) throws in
                try mount.shell("""
                    cat .thumbnails/large/a.png.png >/dev/null
                    [ $(find $XDG_CACHE_HOME/thumbnails/large -name '*.png' | wc -l) = 1 ]
                    expect_fails grep -q thumbnailBytes <(quire status --json "$M")
                    """)
            }
        }
    }
}
