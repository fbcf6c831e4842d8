import TestSupport
import Testing

extension MountTests {
    /// Documents that are made to harm who decodes them: each ends within its limits, with a record, and the mount goes on.
    struct HostileDocumentTests {
        /// Makes the documents, looks at each, and prints what was rendered of it or why nothing was. A second lookup is answered
        /// from the record. Meanwhile the mount answers others.
        private func outcomes(_ prepare: String, _ account: Account = .root) throws -> [String: String] {
            var outcomes: [String: String] = [:]
            try withMount(account, prepare: prepare) { (mount: Mount) throws in
                let printed = try mount.python("""
                    import os, subprocess, threading, time
                    answered, over = 0, threading.Event()
                    def others():
                        global answered
                        while not over.is_set():
                            os.stat("plain.txt"); open("plain.txt").read(); os.listdir(".thumbnails"); answered += 1; time.sleep(0.005)
                    open("plain.txt", "w").write("text"); thread = threading.Thread(target=others); thread.start()
                    for name in sorted(os.listdir(".")):
                        if name[0] == "." or name == "plain.txt": continue
                        before, began = answered, time.monotonic()
                        def look():
                            result = subprocess.run(["quire", "thumbnail", "--size", "normal", name], capture_output=True, text=True)
                            return "drawn" if result.returncode == 0 else result.stderr.split(": ")[-1].strip()
                        outcome = look()
                        while "drawn in time" in outcome and time.monotonic() - began < 120: outcome = look()
                        # A mount that waits for what is drawn answers nobody in that time.
                        answers = answered - before > 1 or time.monotonic() - began < 1
                        print(name, "|", outcome, "|", answers, "|", look() == outcome)
                    over.set(); thread.join()
                    """, limit: .seconds(600))
                for line in printed.split(separator: "\n") {
                    let parts = line.split(separator: "|").map { $0.trimmed }
                    outcomes[parts[0]] = parts[1]
                    #expect(parts[2] == "True" && parts[3] == "True", "\(line)")
                }
            }
            return outcomes
        }

        @Test(arguments: Account.allCases)
        func damagedAndLyingFilesAreRefusedOrRenderedForWhatTheyAre(account: Account) throws {
            let found = try outcomes(Samples.script + """
                mkdir all; mv *.* all; for f in jpg webp tiff pdf mkv zip odt; do head -c 200 all/*.$f >cut.$f; done; head -c 40000 /dev/urandom >noise.jpg
                cp all/page.pdf lying.jpg; cp all/photo.jpg lying.pdf; (cat all/photo.jpg; echo) >lying.txt; cp all/parts.zip lying.png; : >empty.png
                rm -r all
                """, account)
            for (name, outcome) in found where name.hasPrefix("cut.") || name.hasPrefix("noise") { #expect(outcome != "drawn", "\(name)") }
            #expect(found["lying.jpg"] == "drawn" && found["lying.pdf"] == "drawn")
            #expect(found["lying.txt"] == "it is not text")
            #expect(found["lying.png"] != "drawn")
            #expect(found["empty.png"] == "it is empty")
        }

        @Test func bombsEndAtALimit() throws {
            let found = try outcomes("""
                python3 - <<'END'
                import struct, zlib, zipfile, io
                def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
                def png(width, height, depth, rows):
                    packer = zlib.compressobj(9); row = bytes(1 + width * depth // 8); data = b""
                    for _ in range(rows): data += packer.compress(row)
                    return (b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0))
                            + chunk(b"IDAT", data + packer.flush()) + chunk(b"IEND", b""))
                open("huge.png", "wb").write(png(100000, 100000, 1, 2000))
                open("large.png", "wb").write(png(20000, 20000, 1, 20000))
                # What it names is in it, and in that again.
                inner = b"text"
                for level in range(20):
                    file = io.BytesIO()
                    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                        for name in "ab": archive.writestr(name + ".zip", inner)
                    inner = file.getvalue() if len(file.getvalue()) < 100000 else inner
                open("recursive.zip", "wb").write(inner)
                with zipfile.ZipFile("bomb.odt", "w", zipfile.ZIP_DEFLATED) as archive:
                    archive.writestr("Thumbnails/thumbnail.png", bytes(1 << 28))
                with zipfile.ZipFile("many.zip", "w") as archive:
                    for number in range(60000): archive.writestr("%d" % number, "")
                lines = "".join('<use href="#g%d"/>' % (level - 1) * 10 for level in [1])
                groups = "".join('<g id="g%d">%s</g>' % (level, '<use href="#g%d"/>' % (level - 1) * 10) for level in range(1, 12))
                open("laughs.svg", "w").write('<svg xmlns="http://www.w3.org/2000/svg" width="99" height="99"><rect id="g0" width="1" height="1"/>' + groups + "</svg>")
                open("lines.txt", "w").write("x" * 30000000)
                END
                """)
            #expect(found["huge.png"]?.contains("too many") == true)
            #expect(found["recursive.zip"] == "drawn" && found["many.zip"] == "drawn" && found["lines.txt"] == "drawn" && found["large.png"] == "drawn")
            #expect(found["bomb.odt"] == "what is in it is too large")
            #expect(found["laughs.svg"] != nil)
        }

        /// Nothing that is not given comes into a picture: not by SVG, and not by an archive's names.
        @Test func picturesReachForNothing() throws {
            try withMount(prepare: "convert -size 100x100 xc:red \"$T/secret.png\"; chmod 644 \"$T/secret.png\"") { (mount: Mount) throws in
                #expect(try mount.python(Samples.colour + """
                    import base64, http.server, threading
                    asked = []
                    class Server(http.server.BaseHTTPRequestHandler):
                        def do_GET(self): asked.append(self.path); self.send_error(404)
                    server = http.server.HTTPServer(("127.0.0.1", 0), Server); threading.Thread(target=server.serve_forever, daemon=True).start()
                    image = '<image width="100" height="100" xlink:href="%s"/>'
                    for number, place in enumerate(["file://" + os.environ["T"] + "/secret.png", os.environ["T"] + "/secret.png",
                            "http://127.0.0.1:%d/x.png" % server.server_port]):
                        open("%d.svg" % number, "w").write('<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
                            ' width="100" height="100"><rect width="100" height="100" fill="lime"/>' + image % place + "</svg>")
                        print(colour(".thumbnails/normal/%d.svg.png" % number, 0.5, 0.5))
                    print(asked)
                    """) == "(0, 255, 0)\n(0, 255, 0)\n(0, 255, 0)\n[]")
            }
        }

        /// Programs of others, each in a sandbox of its own.
        @Test func thumbnailersThatMisbehaveAreEnded() throws {
            let programs = [
                "hang": "sleep 1000", "fork": "f() { f | f & f; }; f", "fill": "cat /dev/zero >/tmp/a; cat /dev/zero >/tmp/b; exit 1",
                "print": "timeout 5 yes; timeout 5 yes >&2; exit 3", "nothing": "true", "link": "ln -s /etc/passwd \"$2\"",
                "good": "gdk-pixbuf-thumbnailer -s $3 /usr/share/icons/hicolor/index.theme \"$2\" 2>/dev/null; convert -size 64x32 xc:red PNG:\"$2\"",
                "spy": "cat \(#"$HOME/../secret"#) /etc/shadow /home/*/* /root/* >\"$2\" 2>/dev/null; ls / >/tmp/x; test -s \"$2\" || exit 9",
                "net": "exec 3<>/dev/tcp/127.0.0.1/22 || exit 7; exit 0", "write": "echo harm >\"$1\"; exit 8",
            ]
            var prepare = "mkdir -p \"$HOME/.local/share/thumbnailers\" \"$HOME/.local/share/mime/packages\" \"$HOME/bin\"\n"
            for (name, script) in programs {
                prepare += """
                    cat >"$HOME/bin/\(name)" <<'END'
                    #!/bin/bash
                    \(script)
                    END
                    chmod 755 "$HOME/bin/\(name)"; echo document \(name) >doc.\(name)
                    printf '[Thumbnailer Entry]\\nExec=%s %%i %%o %%s\\nMimeType=application/x-quire-\(name);\\n' "$HOME/bin/\(name)" \\
                        >"$HOME/.local/share/thumbnailers/\(name).thumbnailer"

                    """
            }
            prepare += "cat >\"$HOME/.local/share/mime/packages/quire.xml\" <<'END'\n<?xml version=\"1.0\"?><mime-info xmlns=\"http://www.freedesktop.org/standards/shared-mime-info\">\n"
            for name in programs.keys { prepare += "<mime-type type=\"application/x-quire-\(name)\"><glob pattern=\"*.\(name)\"/></mime-type>\n" }
            prepare += "</mime-info>\nEND\nupdate-mime-database \"$HOME/.local/share/mime\"\n"
            let found = try outcomes(prepare, .user)
            #expect(found["doc.good"] == "drawn")
            #expect(found["doc.hang"] == "it took longer than 30 seconds")
            #expect(found["doc.nothing"]?.contains("has made nothing") == true && found["doc.link"]?.contains("has made nothing") == true)
            #expect(found["doc.spy"]?.contains("status 9") == true)
            #expect(found["doc.net"]?.contains("status 7") == true)
            #expect(found["doc.write"]?.contains("status 8") == true)
            for name in ["fork", "fill", "print"] { #expect(found["doc.\(name)"] != "drawn" && found["doc.\(name)"] != nil, "\(found)") }
        }

        @Test func aWorkerThatIsKilledIsStartedAgain() throws {
            try withMount(prepare: "for i in 1 2 3; do convert -size 2${i}0x100 xc:red $i.png; done") { (mount: Mount) throws in
                try mount.shell("""
                    cat .thumbnails/normal/1.png.png >/dev/null
                    pkill -9 -P "$(pgrep -fx "quire mount $S $M.*")" bwrap || true; pkill -9 -x bwrap --parent "$(pgrep -f "mount $S $M")" || true
                    cat .thumbnails/normal/2.png.png >/dev/null
                    """)
            }
        }

        /// Without the sandbox nothing is rendered, and the mount says why.
        @Test func withoutBubblewrapNothingIsRendered() throws {
            try withMount(prepare: "convert -size 200x100 xc:red a.png; mkdir \"$T/bin\"; for p in setpriv; do ln -s $(command -v $p) \"$T/bin\"; done") { (mount: Mount) throws in
                try mount.unmount()
                try mount.shell("PATH=\"$T/bin:$(dirname $(command -v quire))\" $(command -v quire) mount \"$S\" \"$M\" -o allow_other", in: "/")
                try mount.noteDaemon()
                try mount.refuses("quire thumbnail a.png", "bubblewrap")
                try mount.refuses("cat .thumbnails/normal/a.png.png", "No such file")
                #expect(try mount.shell("quire status . | grep thumbnails").contains("none can be drawn"))
            }
        }
    }
}

extension Substring {
    fileprivate var trimmed: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}
