import TestSupport
import Testing

extension MountTests {
    /// A snapshot holds what its user may read, and costs its user: not whoever writes what it shows.
    struct SnapshotShareTests {
        private static let script = UserScript.text + Products.text(of: "snapshot-share.py")

        @Test func whatTheHolderMayNotReadIsNotCopied() throws {
            let prepare = """
                chmod 755 .; mkdir -p shared/closed shared/sub; echo opens >shared/sub/open; echo close >shared/secret; echo inner >shared/closed/in
                chown -R 61001:61001 shared; chmod 600 shared/secret; chmod 700 shared/closed
                """
            try withMount(prepare: prepare) { mount in
                try mount.python(Self.script + #"""
                    bob = User(BOB, CLAIMING)
                    bob.tell("shared"); first = bob.said()
                    # Of several snapshots there is one copy.
                    bob.tell("shared/sub"); bob.said()
                    assert first.startswith(M), first
                    assert copies() == [], copies()
                    out(ALICE, "for name in shared/sub/open shared/secret shared/closed/in; do echo later 1<>$name; done")
                    assert copies() == [(BOB, 6)], copies()
                    assert uses(BOB)["snapshotBytes"] == 6 and uses(ALICE)["snapshotBytes"] == 0, (uses(BOB), uses(ALICE))
                    assert out(BOB, "cat %s/sub/open; stat -c %%a %s/secret; ls %s" % (first, first, first)) == "opens\n600\nclosed\nsecret\nsub\n"
                    for name in ["secret", "closed/in"]:
                        assert "Permission denied" in sh(BOB, "cat %s/%s" % (first, name)).stderr
                    # Nobody reads what may have been written since; nor does he if he might now.
                    assert "Permission denied" in sh(0, "cat %s/secret" % first).stderr
                    out(ALICE, "setfacl -m u:61002:r shared/secret")
                    assert "Permission denied" in sh(BOB, "cat %s/secret" % first).stderr
                    assert out(BOB, "cat shared/secret") == "later\n"
                    bob.end()
                    eventually(lambda: uses(BOB)["snapshotBytes"] == 0 and uses(BOB)["snapshotFiles"] == 0 and copies() == [])
                    # Root's and the owner's own have all.
                    alice, root = User(ALICE, CLAIMING), User(0, CLAIMING)
                    for user in [alice, root]:
                        user.tell("shared"); place = user.said()
                        assert sh(0, "cat %s/secret %s/closed/in" % (place, place)).stdout == "later\nlater\n", place
                        user.end()
                    """#)
            }
        }

        /// Holes of 64 MiB, the largest that is copied: sixteen are a user's whole share.
        @Test func copiesForSnapshotsAreBounded() throws {
            let prepare = """
                chmod 755 .; mkdir shared; for n in $(seq 18); do truncate -s 64M shared/$n; done; chown -R 61001:61001 shared
                """
            // Where blocks cannot be shared.
            try withMount(in: "/dev/shm", prepare: prepare) { mount in
                try mount.python(Self.script + #"""
                    bob = User(BOB, CLAIMING)
                    bob.tell("shared"); place = bob.said()
                    assert place.startswith(M), place
                    for n in range(1, 17): out(ALICE, "echo later 1<>shared/%d" % n)
                    assert uses(BOB)["snapshotBytes"] == 1 << 30, uses(BOB)
                    assert copies() == [(BOB, 64 << 20)] * 16, copies()
                    # One more is lost to the snapshot, and the others are not.
                    out(ALICE, "echo later 1<>shared/17")
                    assert out(ALICE, "head -c 5 shared/17") == "later"
                    assert "Stale file handle" in sh(BOB, "cat %s/17" % place).stderr
                    assert out(BOB, "head -c 5 %s/16 | od -An -tx1; head -c 5 %s/18 | od -An -tx1" % (place, place)) == " 00 00 00 00 00\n" * 2
                    # What is being written in place is no more copied for him, but for others.
                    writer = open(M + "/shared/18", "r+b", buffering=0); writer.write(b"x")
                    bob.tell("shared/18"); refusal = bob.said()
                    assert "shared/18: it is being written in place, and you have as many bytes of copies as you may" in refusal, refusal
                    alice = User(ALICE, CLAIMING)
                    alice.tell("shared/18"); other = alice.said()
                    assert other.startswith(M) and uses(ALICE)["snapshotBytes"] == 64 << 20, other
                    alice.end(); writer.close()
                    # A copy lasts as long as somebody has it open.
                    reader = subprocess.Popen(become(BOB) + ["sleep", "100"], stdin=open("%s/3" % place))
                    bob.end()
                    eventually(lambda: uses(BOB)["snapshotBytes"] == 64 << 20)
                    reader.kill(); reader.wait()
                    eventually(lambda: uses(BOB)["snapshotBytes"] == 0)
                    """#, limit: .seconds(300))
            }
        }
    }
}
