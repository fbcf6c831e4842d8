import TestSupport
import Testing

extension MountTests {
    /// `quire preview`.
    struct PreviewCommandTests {
        @Test(arguments: Account.allCases)
        func itShowsWhatThereIs(account: Account) throws {
            try withMount(account, prepare: Samples.script + PreviewFolderTests.pages(3, "long.pdf") + "head -c 99 /dev/zero >x.quire; : >empty; mkdir d") { (mount: Mount) throws in
                #expect(try mount.shell("quire preview letter.txt") == "A letter\n\nDear Ada, this is a letter of some words.")
                #expect(try mount.shell("quire preview --text --page 2 long.pdf") == "page number 2")
                #expect(try mount.shell("quire preview long.pdf --page 3 --pixels 640 -o $T/p.png; identify -format '%w %h' $T/p.png") == "640 427")
                #expect(try mount.shell("quire preview photo.jpg -o - | identify -format '%w %h' -") == "600 400")
                #expect(try mount.shell("quire preview parts.zip | grep -c program.c") == "1")
                #expect(try mount.shell("quire preview film.mkv").contains("duration  2.0"))
                #expect(try mount.shell("quire preview --json long.pdf; quire preview --json parts.zip").contains("\"pages\" : 3"))
                #expect(try mount.shell("quire preview x.quire").contains("trouble"))
                #expect(try mount.shell("quire preview --facts letter.odt").contains("application/vnd.oasis.opendocument.text"))
                try mount.refuses("quire preview long.pdf --page 4 -o $T/x.png", "it has 3 pages")
                try mount.refuses("quire preview x.quire -o $T/x.png", "nothing here draws documents of type")
                try mount.refuses("quire preview empty -o $T/x.png", "it is empty")
                try mount.refuses("quire preview photo.jpg --text", "there is no text in it")
                try mount.refuses("quire preview none", "No such file")
                try mount.refuses("quire preview d", "is a folder")
                try mount.refuses("quire preview letter.txt --page 0", "pages count from 1")
                try mount.refuses("quire preview letter.txt --text --json", "exclude each other")
                // Elsewhere too.
                #expect(try mount.shell("cp letter.txt $T/; quire preview $T/letter.txt | head -1") == "A letter")
            }
        }

        /// Nobody, who the worker is, may do nothing in a mount that is root's alone.
        @Test func rootsOwnMountsHavePreviews() throws {
            try withMount(.root, [], prepare: Samples.script) { (mount: Mount) throws in
                #expect(try mount.shell("quire preview --json page.pdf | grep -c 'hasText\" : true'; quire preview --facts film.mkv | grep -c width") == "1\n1")
                #expect(try mount.shell("quire preview --text letter.odt").contains("Dear Ada"))
            }
        }

        /// A terminal that answers as some do, and what it is sent.
        private static let terminal = """
            import os, pty, select, sys, time
            def shown(answer, *words):
                pid, fd = pty.fork()
                if pid == 0: os.execvp(words[0], words)
                text = b""; answered = False
                while True:
                    try: data = os.read(fd, 65536)
                    except OSError: break
                    if not data: break
                    text += data
                    if not answered and b"\\x1b[c" in text: os.write(fd, answer); answered = True; text = b""
                assert os.waitpid(pid, 0)[1] == 0
                return text

            """

        @Test func aTerminalThatShowsPicturesIsSentOne() throws {
            try withMount(prepare: "convert -size 600x400 xc:red photo.png; printf 'words\\\\033]0;title\\\\007 and more\\n' >escapes.txt") { (mount: Mount) throws in
                #expect(try mount.python(Self.terminal + #"""
                    import base64, subprocess
                    kitty = shown(b"\x1b_Gi=31;OK\x1b\\\x1b[?62;c", "quire", "preview", "photo.png")
                    picture = b"".join(part.split(b";", 1)[1].split(b"\x1b")[0] for part in kitty.split(b"\x1b_G")[1:])
                    open(os.environ["T"] + "/k.png", "wb").write(base64.b64decode(picture))
                    print(subprocess.run("identify -format '%w %h' $T/k.png", shell=True, capture_output=True, text=True).stdout, b"f=100,a=T" in kitty)
                    sixel = shown(b"\x1b[?62;4;22c", "quire", "preview", "photo.png")
                    print(b"\x1bP" in sixel and b"#" in sixel and b"image/png" in sixel)
                    for answer in [b"\x1b[?62;22c", b"", b"nonsense"]:
                        plain = shown(answer, "quire", "preview", "photo.png")
                        print(b"\x1b" not in plain and b"image/png" in plain)
                    print(b"\x1b]" in shown(b"", "quire", "preview", "escapes.txt"))
                    """#) == "600 400 True\nTrue\nTrue\nTrue\nTrue\nFalse")
            }
        }
    }
}
