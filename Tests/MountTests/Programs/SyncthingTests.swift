import TestSupport
import Testing

extension MountTests {
    /// Two Syncthings on this machine: one has the mount, the other a plain folder.
    struct SyncthingTests {
        @Test(arguments: SaveMount.accounts)
        func documentsAreSynchronizedBothWays(kind: SaveMount) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                #expect(try mount.python(Self.two, limit: .seconds(300)) == """
                    received: first
                    received: second
                    kept
                    sent: third
                    removed
                    """)
            }
        }

        private static let two = Products.text(of: "two-syncthings.py")
    }
}
