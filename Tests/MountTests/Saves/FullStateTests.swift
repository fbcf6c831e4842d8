import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The disk of the state folder is full: it holds the index, a cache, and users may fill it. No document is kept from anybody.
    struct FullStateTests {
        @Test(arguments: Account.allCases, [1024, 4096])
        func aFullDiskKeepsNobodyFromTheStore(account: Account, blockSize: Int) throws {
            let mount = try Mount(account)
            mount.restarts = true
            defer {
                mount.end()
                _ = try? mount.attempt("umount \"$QUIRE_STATE_HOME\" || umount -l \"$QUIRE_STATE_HOME\"", in: "/", as: 0)
            }
            try mount.shell("""
                truncate -s 20M "$T/disk"; mkfs.ext4 -q -m 0 -b \(blockSize) -O ^has_journal "$T/disk"
                mount -o loop "$T/disk" "$QUIRE_STATE_HOME"; rmdir "$QUIRE_STATE_HOME/lost+found"; chmod 1777 "$QUIRE_STATE_HOME"
                """, in: "/", as: 0)
            try mount.shell("echo text >\"$S/doc\"", in: "/")
            try mount.mount()
            try mount.shell("""
                quire tag add before doc
                for file in fill more; do head -c 30M /dev/zero >"$QUIRE_STATE_HOME/$file" 2>/dev/null || true; done
                """)
            let daemon = try #require(mount.daemon)
            kill(daemon, SIGKILL)
            try mount.comesBack(after: daemon)
            try mount.shell("""
                grep -x text doc; echo new >doc; grep -x new doc; quire tag add after doc
                eventually 'ls .tags/before | grep -x doc'; ls .tags/after | grep -x doc
                """)
            // Once more, and by hand.
            try mount.unmount()
            try mount.mount()
            #expect(try mount.shell("cat doc; quire recover list | wc -l") == "new\n1")
            try mount.unmount()
            try mount.shell("rm \"$QUIRE_STATE_HOME/fill\" \"$QUIRE_STATE_HOME/more\"", in: "/")
            try mount.mount()
            try mount.shell("eventually 'ls .tags/after | grep -x doc'; ls \"$QUIRE_STATE_HOME\"/*/index.sqlite")
            let run = account == .root ? "/run/quire" : "$XDG_RUNTIME_DIR/quire"
            try mount.shell("expect_fails ls -d \(run)/*.index")
        }
    }
}
