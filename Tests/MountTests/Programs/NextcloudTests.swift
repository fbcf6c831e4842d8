import TestSupport
import Testing

extension MountTests {
    /// The Nextcloud client, as the desktop's runs it. Debian has no Nextcloud server: WsgiDAV stands in for it, with the few answers that
    /// the client asks for besides. The client writes a new file, removes the document and renames the new one to its name.
    @Suite(.enabled(if: isLongRun)) struct NextcloudTests {
        @Test(arguments: SaveMount.accounts)
        func documentsAreSynchronizedBothWays(kind: SaveMount) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                #expect(try mount.python(Self.server + Self.rounds, limit: .seconds(600)) == """
                    received: 5 of 5, kept: 5
                    sent: 3 of 3, kept: 3
                    torn: 0
                    left: []
                    """)
            }
        }

        private static let server = Products.text(of: "nextcloud-server.py")

        private static let rounds = Products.text(of: "nextcloud-rounds.py")
    }
}
