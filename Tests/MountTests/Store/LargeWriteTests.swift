import TestSupport
import Testing

extension MountTests {
    /// One write(2) that the kernel may send as hundreds of requests at once.
    @Suite(.sharedMounts)
    struct LargeWriteTests {
        /// More than a user may have wait (`heldRequestBytes`), past the kernel's pages.
        @Test(arguments: [SaveMount.user, .rootWithoutPassthrough])
        func aWritePastThePagesIsNotRefused(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    for n in 1 2 3; do
                        dd if=/dev/zero of=large$n bs=400M count=1 oflag=direct iflag=fullblock 2>/dev/null & dd if=/dev/zero of=other$n bs=400M count=1 oflag=direct iflag=fullblock 2>/dev/null
                        wait $!; stat -c %s large$n other$n; rm large$n other$n
                    done | sort -u
                    """, limit: .seconds(600)) == "419430400")
            }
        }
    }
}
