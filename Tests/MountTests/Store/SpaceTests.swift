import TestSupport
import Testing

extension MountTests {
    /// The store's space: what is taken, by whom, and when it is free again. Each on a small ext4 of its own.
    struct SpaceTests {
        private func withSmallStore(_ body: (Mount) throws -> Void) throws {
            let mount = try Mount(.root)
            defer {
                mount.end()
                _ = try? mount.attempt("umount \"$S\"", in: "/")
            }
            try mount.shell(
                """
                truncate -s 64M "$T/disk"
                mkfs.ext4 -q -m 20 -E lazy_itable_init=0,root_owner=0:0 "$T/disk"
                mount -o loop "$T/disk" "$S"
                rmdir "$S/lost+found"
                chmod 1777 "$S"
                """, in: "/")
            try mount.mount(["allow_other"])
            try body(mount)
        }

        @Test(arguments: ["auto", "off"])
        func theBlocksKeptForRootAreForRoot(passthrough: String) throws {
            try withSmallStore { mount in
                if passthrough == "off" {
                    try mount.unmount()
                    try mount.mount(["allow_other,passthrough=off"])
                }
                // Root writes first on the same threads.
                try mount.shell("echo root >mine; echo more >>mine")
                let user = Account.user.uid
                try mount.refuses("dd if=/dev/zero of=big bs=64k", "No space left", as: user)
                let free = "stat -f -c '%f %a %b' . | awk '{ print ($2 < 64), ($1 > $3 * 0.15) }'"
                #expect(try mount.shell(free, in: mount.store) == "1 1")
                try mount.refuses("fallocate -l 1M more", "No space left", as: user)
                try mount.shell("dd if=/dev/zero of=mine bs=64k count=16")
            }
        }

        @Test func aRemovedFilesSpaceIsFreeAtOnce() throws {
            try withSmallStore { mount in
                try mount.shell("dd if=/dev/zero of=big bs=1M count=30 status=none")
                try mount.shell("rm big")
                try eventually(within: .seconds(1)) {
                    try mount.shell("stat -f -c '%f %b' . | awk '{ print ($1 > $2 * 0.9) }'", in: mount.store) == "1"
                }
            }
        }
    }
}
