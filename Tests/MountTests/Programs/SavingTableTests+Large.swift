import TestSupport
import Testing

/// The programs of the table whose packages are large: `Tests/run --long` installs them.
extension MountTests.SavingTableTests {
    static let largeRows: [Row] = [
        ("transactional", [
            Program(setup: "convert -size 9x9 xc:red doc.png; ln -sf doc.png doc", command: gimp(inverting: "doc.png")),
            // As programs save that are made with Electron.
            Program(command: "node -e 'require(\"fs\").writeFileSync(\"doc\", \"new\")'"),
        ]),
        ("live.notTruncating transactional", [
            Program(
                setup: "echo words >book.txt; ebook-convert book.txt book.epub; rm book.txt; ln -sf book.epub doc",
                command: "ebook-meta book.epub -t New"),
            // Its first process makes the folder in which Wine keeps its Windows.
            Program(setup: "wine cmd /c exit", command: "wine cmd /c 'echo new>doc'"), Program(command: "wine cmd /c 'copy /y from doc'"),
        ]),
        ("live.newFile live.notTruncating", [
            Program(
                setup: "convert -size 9x9 xc:red doc.png; \(gimp(inverting: "doc.png", into: "doc.xcf")); ln -sf doc.xcf doc",
                command: gimp(inverting: "doc.xcf")),
        ]),
        ("live.livePattern live.newFile", [
            Program(
                setup: #"""
                    mkdir "$T/profile"
                    cat >"$T/profile/user.js" <<END
                    user_pref("browser.download.folderList", 2);
                    user_pref("browser.download.dir", "$PWD");
                    user_pref("browser.download.useDownloadDir", true);
                    user_pref("browser.helperApps.neverAsk.saveToDisk", "application/octet-stream");
                    user_pref("browser.shell.checkDefaultBrowser", false);
                    END
                    ln -sf new.bin doc
                    """#,
                command: #"""
                    firefox-esr --headless --profile "$T/profile" "$SITE/new.bin" & browser=$!
                    eventually '[ -s new.bin ] && [ ! -e new.bin.part ]'
                    kill $browser; wait
                    """#),
        ]),
    ]

    private static func gimp(inverting image: String, into result: String? = nil) -> String {
        """
        gimp -i -d -f -b '
            (let* ((image (car (gimp-file-load RUN-NONINTERACTIVE "\(image)" "\(image)")))
                   (layer (car (gimp-image-get-active-drawable image))))
                (gimp-invert layer)
                (gimp-file-save RUN-NONINTERACTIVE image layer "\(result ?? image)" "\(result ?? image)"))' -b '(gimp-quit 0)'
        """
    }

    @Test(.enabled(if: isLongRun, "needs large packages"), arguments: SaveMount.accounts)
    func aLargeProgramsSaveIsWhatTheTableSays(kind: SaveMount) throws {
        try withSharedMount(kind) { (mount: Mount) throws in
            try run(Self.largeRows, on: mount, preparedBy: "export WINEDEBUG=-all DISPLAY=\n" + Self.site)
        }
    }

    /// Not a row of the table: its opens are counted differently from one time to the next.
    @Test(.enabled(if: isLongRun, "needs large packages"), arguments: SaveMount.accounts)
    func chromiumDownloads(kind: SaveMount) throws {
        try withSharedMount(kind) { (mount: Mount) throws in
            mount.folder.makeFile("outside/chromium.py", Self.chromium)
            try mount.shell(Self.site + #"""

                HOME=$T python3 "$T/chromium.py" "$SITE/new.bin"; cmp new.bin "$T/site/new.bin"
                """#)
        }
    }

    /// Serves `$SITE/new.bin` until the script ends.
    private static let site = #"""
        mkdir "$T/site"; seq 1000 >"$T/site/new.bin"
        port=$(python3 -c 'import socket; free = socket.create_server(("127.0.0.1", 0)); print(free.getsockname()[1])')
        python3 -m http.server --directory "$T/site" --bind 127.0.0.1 $port >/dev/null 2>&1 & trap "kill $!" EXIT
        export SITE=http://127.0.0.1:$port
        eventually 'curl -s "$SITE" >/dev/null'
        """#

    private static let chromium = Products.text(of: "chromium-download.py")
}
