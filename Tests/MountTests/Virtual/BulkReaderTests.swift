import TestSupport
import Testing

extension MountTests {
    /// Programs that read many documents do not fill the recents.
    struct BulkReaderTests {
        private static let documents = "for n in $(seq 20); do echo text $n >doc$n.txt; done; mkdir d; cp doc* d; touch last.txt"

        /// Runs a reader, and sees that nothing but what a person opened after it is listed: opens settle in their order.
        private func expectNothingListed(
            as account: Account = .root, by script: String, prepare: String = documents
        ) throws {
            try withMount(account, prepare: prepare) { mount in
                try mount.scanned()
                try mount.shell("echo mine >>doc7.txt")
                try mount.expectNames(["doc7.txt"], in: ".recents")
                try mount.shell(script)
                #expect(try mount.names(in: ".recents") == ["doc7.txt"])
                try mount.shell("cat last.txt; true")
                try mount.expectNames(["last.txt", "doc7.txt"], in: ".recents")
            }
        }

        @Test(arguments: Account.allCases)
        func grepDoesNotCount(account: Account) throws {
            try expectNothingListed(as: account, by: "test $(grep -rl text --include='doc*' . | wc -l) = 40")
        }

        @Test func tarDoesNotCount() throws { try expectNothingListed(by: "tar cf \"$T/all.tar\" .") }

        @Test func rsyncDoesNotCount() throws { try expectNothingListed(by: "rsync -a --exclude .tags --exclude .recents . \"$T/copy\"") }

        @Test(arguments: Account.allCases)
        func aBackupProgramDoesNotCount(account: Account) throws {
            try expectNothingListed(as: account, by: """
                export BORG_BASE_DIR="$HOME/borg" BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
                borg init -e none "$T/repository"; borg create "$T/repository::first" .
                test $(borg list --short "$T/repository::first" | grep -c 'doc[0-9]*.txt$') -ge 40
                """)
        }

        @Test func aProcessForEachDocumentDoesNotCount() throws {
            try expectNothingListed(by: "for n in doc*.txt; do head -c 1 \"$n\" >/dev/null; done")
            try expectNothingListed(by: "find d -type f -exec md5sum {} ';' >/dev/null")
        }

        @Test func aSlowReaderDoesNotCount() throws {
            try expectNothingListed(by: """
                python3 -c 'import glob, time
                for name in sorted(glob.glob("d/*"))[:10]:
                    open(name).read(); time.sleep(0.6)'
                """)
        }

        @Test(.enabled(if: isLongRun, "takes five minutes"))
        func aVerySlowReaderDoesNotCount() throws {
            try withMount(prepare: Self.documents) { mount in
                try mount.shell(
                    """
                    python3 -c 'import glob, time
                    for name in sorted(glob.glob("d/*") + glob.glob("*.txt"))[:26]:
                        open(name).read(); time.sleep(12)'
                    """, limit: .seconds(400))
                try mount.expectNames([], in: ".recents")
            }
        }

        @Test func whoSaysItWorksInTheBackgroundDoesNotCount() throws {
            try expectNothingListed(by: """
                nice -n 10 cat doc1.txt; ionice -c 3 cat doc2.txt
                python3 -c 'import os; os.read(os.open("doc3.txt", os.O_RDONLY | os.O_NOATIME), 9)'
                """)
        }

        /// A file manager's thumbnail service, asked over the session bus as the file manager does.
        @Test(arguments: Account.allCases)
        func aThumbnailerDoesNotCount(account: Account) throws {
            let pictures = """
                echo mine >doc7.txt; touch last.txt; mkdir pictures
                python3 - <<'END'
                import struct, zlib
                def chunk(kind, data):
                    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
                for n in range(12):
                    rows = b"".join(b"\\0" + bytes([20 * n, 50, 99]) * 300 for y in range(300))
                    open("pictures/p%d.png" % n, "wb").write(b"\\x89PNG\\r\\n\\x1a\\n"
                        + chunk(b"IHDR", struct.pack(">IIBBBBB", 300, 300, 8, 2, 0, 0, 0))
                        + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
                END
                """
            try expectNothingListed(as: account, by: """
                cat >"$T/ask" <<'END'
                uris=$(for n in $(seq 0 11); do printf "'file://%s/pictures/p%d.png'," "$M" $n; done)
                kinds=$(for n in $(seq 0 11); do printf "'image/png',"; done)
                gdbus call --session --dest org.freedesktop.thumbnails.Thumbnailer1 \
                    --object-path /org/freedesktop/thumbnails/Thumbnailer1 \
                    --method org.freedesktop.thumbnails.Thumbnailer1.Queue \
                    "[${uris%,}]" "[${kinds%,}]" normal default 'uint32 0'
                eventually '[ "$(find "$XDG_CACHE_HOME/thumbnails/normal" -name "*.png" 2>/dev/null | wc -l)" = 12 ]'
                END
                cd /; dbus-run-session -- bash -c '. "$PRELUDE"; . "$0"' "$T/ask"
                """, prepare: pictures)
        }
    }
}
