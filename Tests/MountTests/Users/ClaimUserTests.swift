import TestSupport
import Testing

extension MountTests {
    /// By whose rights claims change and show documents.
    struct ClaimUserTests {
        /// The threads that changed something are gone when the claim ends, and their groups with them.
        @Test func rightsByAFurtherGroupHoldUntilTheClaimEnds() throws {
            let prepare = "mkdir group; chown \(Account.alice):61009 group; chmod 2775 group; echo old >group/doc; echo old >group/other; chmod 664 group/*"
            try withMount(prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    quire coordinate --write group -- setpriv --reuid \(Account.bob) --regid \(Account.bob) --groups 61009 \\
                        sh -ec 'cd group; echo new >made; echo new >t; mv t doc; rm other'
                    ls group; cat group/doc group/made
                    """) == "doc\nmade\nnew\nnew")
            }
        }

        /// A snapshot shows a document's extended attributes as they are now, and so only to users who may read the document now.
        @Test func attributesGivenLaterAreForWhoMayReadTheDocument() throws {
            try withMount(prepare: "mkdir hers; echo text >hers/doc; chown -R \(Account.alice) hers") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, subprocess
                    become = ["setpriv", "--reuid", "\(Account.bob)", "--regid", "\(Account.bob)", "--clear-groups", "--"]
                    program = '''if 1:
                        import os
                        print(flush=True); input()
                        path = os.environ["QUIRE_SNAPSHOT_1"]
                        for call in [lambda: os.getxattr(path, "user.note"), lambda: os.listxattr(path)]:
                            try: print(call())
                            except OSError as error: print(error.strerror)
                        print(open(path).read(), end="")
                        '''
                    claim = subprocess.Popen(
                        become + ["quire", "coordinate", "--read", "hers/doc", "--", "python3", "-c", program],
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                    claim.stdout.readline()
                    os.chmod("hers/doc", 0o600); os.setxattr("hers/doc", "user.note", b"secret")
                    print(claim.communicate("\\n")[0], end="")
                    """) == "Permission denied\nPermission denied\ntext")
            }
        }
    }
}
