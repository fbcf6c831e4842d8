import TestSupport
import Testing

extension MountTests {
    /// A descriptor of a version that was replaced gives no right to the document, which others may have taken from its holder since:
    /// the kernel judges by the version that it knows.
    struct ReplacedVersionTests {
        private static let kinds = [SaveMount.root, .rootWithoutPassthrough]

        private static let prelude = """
            import os, subprocess
            ALICE, BOB = 61001, 61002
            def sh(user, commands):
                subprocess.run(["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "sh", "-ec", commands], check=True)
            def attempts(user, attempts, groups=[]):
                pid = os.fork()
                if pid == 0:
                    os.setgroups(groups); os.setgid(user); os.setuid(user)
                    for name, attempt in attempts:
                        try: print(name, attempt() or "done", flush=True)
                        except OSError as error: print(name, error.strerror, flush=True)
                    os._exit(0)
                os.waitpid(pid, 0)
            def shown():
                status = os.stat("doc")
                content = open("doc").read()
                return "%o %d %d %s %r" % (status.st_mode & 0o777, status.st_uid, status.st_nlink, os.listxattr("doc"), content)
            def use(file, flags, text):
                # Nobody else wrote to it: what is read is the document's.
                file = os.open("/proc/self/fd/%d" % file, flags)
                if flags & os.O_ACCMODE != os.O_WRONLY: return os.read(file, 20)
                os.write(file, text); os.close(file)

            """

        /// The owner takes the right away; the holder has the document by O_PATH, or open for reading.
        @Test(arguments: kinds, [10, 100_000])
        func rightsThatWereTakenAwayAreGone(kind: SaveMount, size: Int) throws {
            try withMount(kind.account, kind.options, prepare: "chmod 777 .") { (mount: Mount) throws in
                #expect(try mount.python(Self.prelude + """
                    sh(ALICE, "head -c \(size) /dev/zero >doc; chmod 666 doc")
                    files = [os.open("doc", os.O_PATH), os.open("doc", os.O_RDONLY)]
                    sh(ALICE, "echo two >doc; chmod 600 doc; setfattr -n user.own -v text doc; echo secret >doc")
                    before = shown()
                    for file in files:
                        path = "/proc/self/fd/%d" % file
                        attempts(BOB, [
                            ("both", lambda: use(file, os.O_RDWR, b"bob")), ("append", lambda: use(file, os.O_WRONLY | os.O_APPEND, b"bob")),
                            ("truncate", lambda: use(file, os.O_WRONLY | os.O_TRUNC, b"bob")),
                            ("attribute", lambda: os.setxattr(path, "user.bob", b"1")), ("own", lambda: os.getxattr(path, "user.own")),
                            ("names", lambda: "own" in str(os.listxattr(path))), ("mode", lambda: os.chmod(path, 0o666)),
                            ("time", lambda: os.utime(path)), ("size", lambda: os.truncate(path, 0)),
                            ("link", lambda: subprocess.call(["ln", "-L", path, "link"], stderr=subprocess.DEVNULL)),
                        ])
                    print(before == shown(), before)
                    """) == String(repeating: """
                        both Permission denied
                        append Permission denied
                        truncate Permission denied
                        attribute done
                        own No data available
                        names done
                        mode Operation not permitted
                        time done
                        size Permission denied
                        link 1

                        """, count: 2) + "True 600 61001 1 ['user.own'] 'secret\\n'")
            }
        }

        /// The document's mode is another than the version's, and gives the right all the same.
        @Test(arguments: kinds)
        func aUserWhoHasTheRightOpensIt(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "chmod 777 .") { (mount: Mount) throws in
                #expect(try mount.python(Self.prelude + """
                    open("doc", "w").write("one"); os.chown("doc", ALICE, 61010); os.chmod("doc", 0o664)
                    file = os.open("doc", os.O_PATH); sh(ALICE, "echo two >doc"); os.chmod("doc", 0o660); sh(ALICE, "echo three >doc")
                    attempts(61003, [("stranger", lambda: use(file, os.O_RDWR, b""))])
                    attempts(BOB, [("member", lambda: use(file, os.O_RDWR, b""))], groups=[61010])
                    attempts(BOB, [("writer", lambda: use(file, os.O_WRONLY, b"bob"))], groups=[61010]); print(open("doc").read().strip())
                    """) == "stranger Permission denied\nmember b'three\\n'\nwriter done\nbobee")
            }
        }

        /// The document is another's now; its former owner has a version open from before.
        @Test(arguments: kinds)
        func aFormerOwnerChangesNothing(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "chmod 777 .") { (mount: Mount) throws in
                #expect(try mount.python(Self.prelude + """
                    sh(BOB, "echo bobs >doc; chmod 644 doc"); file = os.open("doc", os.O_RDONLY); sh(BOB, "echo saved >doc")
                    os.chown("doc", ALICE, ALICE); os.chmod("doc", 0o600); sh(ALICE, "echo secret >doc")
                    before = shown()
                    attempts(BOB, [
                        ("mode", lambda: os.fchmod(file, 0o666)), ("attribute", lambda: os.setxattr(file, "user.bob", b"1")),
                        ("time", lambda: os.utime(file, (5, 5))), ("open", lambda: use(file, os.O_RDWR, b"bob")),
                    ])
                    print(before == shown(), before)
                    """) == """
                        mode done
                        attribute done
                        time done
                        open Permission denied
                        True 600 61001 1 [] 'secret\\n'
                        """)
            }
        }
    }
}
