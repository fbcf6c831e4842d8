import TestSupport
import Testing

extension MountTests {
    /// Programs that save documents keep what belongs to the document.
    struct EditorTests {
        @Test(arguments: Account.allCases, ["yes", "no", "auto", "auto,breakhardlink", "no,breaksymlink"])
        func vimSavingKeepsTags(account: Account, backupCopy: String) throws {
            try withMount(
                account, prepare: "echo one >doc; setfattr -n user.xdg.tags -v tag doc; setfattr -n user.xdg.comment -v note doc"
            ) { mount in
                try mount.scanned()
                for (number, word) in ["two", "three"].enumerated() {
                    try mount.shell("""
                        vim -u NONE -N -i NONE -es -c 'set backup writebackup backupcopy=\(backupCopy)' \
                            -c '%s/.*/\(word)/' -c wq doc </dev/null
                        """)
                    #expect(try mount.shell("cat doc") == word, "save \(number + 1)")
                    #expect(try mount.tags(of: "doc") == "tag")
                    #expect(try mount.shell("getfattr --only-values -n user.xdg.comment doc") == "note")
                }
                try mount.expectNames(["doc"], in: ".tags/tag")
                try mount.expectNames(["doc"], in: ".recents")
            }
        }

        @Test func vimSavesThroughALinkOfATag() throws {
            try withMount(prepare: "echo one >doc; setfattr -n user.xdg.tags -v tag doc") { mount in
                try mount.scanned()
                try mount.shell("vim -u NONE -N -i NONE -es -c '%s/one/two/' -c wq .tags/tag/doc </dev/null")
                #expect(try mount.shell("cat doc; cat .tags/tag/doc; stat -c %F .tags/tag/doc") == "two\ntwo\nsymbolic link")
            }
        }

        /// LibreOffice opens the document, changes it and saves it, as its window would.
        @Test(arguments: Account.allCases)
        func libreOfficeSavingKeepsTags(account: Account) throws {
            try withMount(account) { mount in
                let office = "soffice --headless --norestore --nologo -env:UserInstallation=file://$HOME/office"
                try mount.shell("""
                    echo first words >letter.txt; \(office) --convert-to odt letter.txt >/dev/null 2>&1; test -s letter.odt
                    setfattr -n user.xdg.tags -v tag letter.odt; setfattr -n user.xdg.comment -v note letter.odt
                    """, limit: .seconds(180))
                try mount.shell(
                    """
                    \(office) --accept='pipe,name=quire'$$';urp;' >/dev/null 2>&1 & office=$!
                    cat >"$T/save.py" <<'END'
                    import os, sys, time, uno
                    local = uno.getComponentContext()
                    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
                    for attempt in range(300):
                        try:
                            context = resolver.resolve("uno:pipe,name=quire" + sys.argv[1] + ";urp;StarOffice.ComponentContext")
                            break
                        except Exception: time.sleep(0.2)
                    desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
                    document = desktop.loadComponentFromURL("file://" + os.environ["M"] + "/letter.odt", "_blank", 0, ())
                    for words in ("second words", "third words"):
                        document.Text.setString(words)
                        document.store()
                    document.close(True)
                    try: desktop.terminate()
                    finally: os._exit(0)  # the bridge's threads may crash beside an orderly exit
                    END
                    /usr/bin/python3 "$T/save.py" $$; wait $office || true; ls -A
                    unzip -p letter.odt content.xml 2>/dev/null | grep -q 'third words' \
                        || python3 -c 'import zipfile; assert b"third words" in zipfile.ZipFile("letter.odt").read("content.xml")'
                    """, limit: .seconds(180))
                #expect(try mount.tags(of: "letter.odt") == "tag")
                #expect(try mount.shell("getfattr --only-values -n user.xdg.comment letter.odt") == "note")
                try mount.expectNames(["letter.odt"], in: ".tags/tag")
            }
        }
    }
}
