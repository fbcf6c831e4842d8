import TestSupport
import Testing

extension MountTests {
    /// Desktop programs on a screen of their own: viewers show what is saved, and never half of it (rule 15); an editor saves.
    struct DesktopTests {
        /// One on GTK, which watches by GFileMonitor, and one on Qt, which watches the file itself.
        static let viewers = ["zathura", "qpdfview"]

        @Test(arguments: SaveMount.accounts, viewers)
        func aViewerShowsEachSaveAndNoHalfOfOne(kind: SaveMount, viewer: String) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                #expect(try mount.python(Screen.python(for: viewer) + Self.pdf + Self.viewing) == "red\nblue\ngreen")
            }
        }

        /// gedit and GNOME Text Editor save as all do that use GIO: they write a new file, with the old one open, and rename it.
        static let editors =
            ["mousepad --disable-server", "gedit --standalone"]
            + (isLongRun ? ["gnome-text-editor --standalone", "kate --new --block"] : [])

        @Test(arguments: SaveMount.accounts, editors)
        func anEditorSaves(kind: SaveMount, editor: String) throws {
            let prepare = "echo words >notes.txt; setfattr -n user.xdg.tags -v kept notes.txt; chmod 640 notes.txt"
            try withMount(kind.account, kind.options, prepare: prepare) { (mount: Mount) throws in
                #expect(
                    try mount.python(Screen.python(for: editor) + Self.editing)
                        == "three two one words kept 640 ['notes.txt']")
            }
        }

        /// A document of one page by the operators that draw it.
        private static let pdf = #"""
            def pdf(body):
                font = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
                objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                           "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 400] /Contents 4 0 R /Resources %s >>" % font,
                           "<< /Length %d >>\nstream\n%s\nendstream" % (len(body), body)]
                text, places = "%PDF-1.4\n", []
                for number, part in enumerate(objects, 1):
                    places.append(len(text))
                    text += "%d 0 obj\n%s\nendobj\n" % (number, part)
                table = "".join("%010d 00000 n \n" % place for place in places)
                end = "trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(text)
                return (text + "xref\n0 5\n0000000000 65535 f \n" + table + end).encode()

            """#

        /// Okular marks words with its highlighter; Evince saves a copy under the document's own name.
        @Test(.enabled(if: isLongRun, "needs large packages"), arguments: SaveMount.accounts, ["okular", "evince"])
        func aViewerSaves(kind: SaveMount, viewer: String) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                let script = Screen.python(for: viewer) + Self.pdf + Self.marking
                #expect(try mount.python(script, limit: .seconds(180)) == "saved kept ['page.pdf']")
            }
        }

        private static let marking = Products.text(of: "mark-pdf.py")

        /// Types a word before the others and saves, three times.
        private static let editing = """
            program = run("dbus-run-session", *name.split(), mount + "/notes.txt")
            try:
                window = press("search", "--sync", "--onlyvisible", "--name", "notes.txt").split()[0]
                press("windowfocus", "--sync", window)
                # Kate's window has the keyboard at first, and not its text. The pointer's events have a way of their own.
                press("mousemove", "--window", window, "200", "200", "click", "1"); time.sleep(1)
                for word in ["one", "two", "three"]:
                    press("key", "ctrl+Home"); press("type", word + " "); press("key", "ctrl+s")
                    limit = time.monotonic() + 180
                    while word not in open(mount + "/notes.txt").read() and time.monotonic() < limit: time.sleep(0.05)
                time.sleep(0.2)
                tags, mode = os.getxattr(mount + "/notes.txt", "user.xdg.tags").decode(), os.stat(mount + "/notes.txt").st_mode
                names = [name for name in os.listdir(mount) if not name.startswith(".")]
                print(open(mount + "/notes.txt").read().strip(), tags, oct(mode)[-3:], names)
            finally:
                end(program)
            """

        /// Prints the colours of the pages as the viewer comes to show them, and "broken" when it does not show the page before
        /// while the next one is being written. The screen's file has a header, then pixels of four bytes.
        private static let viewing = #"""
            colours = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}
            def page(colour): return pdf("%d %d %d rg 0 0 400 400 re f" % colours[colour])
            def shows(colour): return share(*(255 * part for part in colours[colour])) > 0.1
            def expect(colour):
                limit = time.monotonic() + 180
                while time.monotonic() < limit:
                    if shows(colour): return print(colour)
                    time.sleep(0.05)
                print("not", colour)
            document = mount + "/page.pdf"
            with open(document, "wb") as file: file.write(page("red"))
            os.makedirs(scratch + "/qpdfview")
            with open(scratch + "/qpdfview/qpdfview.conf", "w") as file: file.write("[documentView]\nautoRefresh=true\n")
            program = run(name, document)
            try:
                expect("red")
                with open(document, "wb") as file: file.write(page("blue"))
                expect("blue")
                with open(document, "wb", buffering=0) as file:
                    for place in range(0, 640, 80):
                        file.write(page("green")[place:place + 80])
                        time.sleep(0.2)
                        if not shows("blue"): print("broken")
                    file.write(page("green")[640:])
                expect("green")
            finally:
                end(program)
            """#
    }
}
