import TestSupport
import Testing

extension MountTests {
    /// Programs that save over an existing document leave what they leave in a plain folder.
    @Suite(.sharedMounts)
    struct SavingProgramTests {
        static let documents = "seq 20 >doc; seq 5 >other; mkdir from; seq 30 >from/doc; echo deep >from/deep; chmod 640 doc"
        private static let vim = "vim -u NONE -N -i NONE -es"
        static let programs =
            ["yes", "no", "auto", "auto,breakhardlink", "no,breaksymlink"].flatMap { copy in
                ["writebackup", "nowritebackup", "backup"].map { backup in
                    "\(vim) -c 'set \(backup) backupcopy=\(copy)' -c '%s/1/one/' -c wq doc; \(vim) -c 'set \(backup) backupcopy=\(copy)' -c 'normal ggdd' -c w -c 'normal dd' -c wq doc"
                }
            } + [
                "\(vim) -c 'w other' -c 'w! other' -c q doc", "\(vim) -c 'w >>other' -c q doc",
                "printf '1,3d\\nw\\n1s/4/four/\\nw\\nq\\n' | ed -s doc", "printf 'w other\\nW other\\nq\\n' | ed -s doc",
                "cp from/doc doc", "cp -f from/doc doc", "cp -p --preserve=mode from/doc doc",
                "cp --remove-destination from/doc doc", "cp -b from/doc doc", "cp --reflink=auto from/doc doc",
                "cp --sparse=always from/doc doc", "cp --reflink=never from/doc doc", "cp -u from/doc doc", "cp -r from/. .",
                "install -m 600 from/doc doc", "install -C from/doc doc", "mv from/doc doc", "ln -f from/doc doc",
                "cat from/doc | tee doc other >/dev/null", "sort -rn -o doc doc", "sort -o doc from/doc",
                "shuf --random-source=from/doc -o doc doc", "sed -i 's/1/one/' doc", "sed -i.bak 's/1/one/' doc",
                "sed -n 'w doc' other", "perl -pi -e 's/1/one/' doc", "perl -pi.bak -e 's/1/one/' doc",
                "perl -e 'open F, \">\", \"doc\"; print F \"new\"'", "perl -e 'open F, \"+<\", \"doc\"; print F \"X\"'",
                "awk '{ print $1 * 2 >\"doc\" }' other", "uniq doc other", "split -l 10 doc x; cat xab >doc",
                "csplit -sz doc 5; mv xx00 doc", "truncate -s 10 doc", "truncate -s 0 doc; echo new >>doc",
                "dd if=from/doc of=doc 2>/dev/null", "dd if=from/doc of=doc bs=3 count=5 seek=2 conv=notrunc 2>/dev/null",
                "dd if=from/doc of=doc bs=4 seek=3 2>/dev/null", "dd if=from/doc of=doc conv=fsync 2>/dev/null",
                "dd if=from/doc of=doc oflag=sync 2>/dev/null", "dd if=from/doc of=doc oflag=append conv=notrunc 2>/dev/null",
                "head -c 100000 /dev/zero >big; dd if=big of=doc bs=4096 oflag=direct iflag=fullblock 2>/dev/null || true; rm big",
                "rsync -a from/ .", "rsync -a --inplace from/ .", "rsync -a --inplace --no-whole-file -c from/ .",
                "rsync -a --append from/ .", "rsync -a --delay-updates from/ .", "rsync --size-only --existing -r from/ .",
                "tar cf t.tar -C from doc deep; tar xf t.tar; rm t.tar",
                "tar cf t.tar -C from doc; tar xf t.tar --overwrite; rm t.tar",
                "tar cf t.tar -C from doc; tar xf t.tar --unlink-first; rm t.tar",
                "tar cf doc from 2>/dev/null; tar tf doc; rm doc",
                "zip -q z.zip doc; zip -q -u z.zip other; zip -q z.zip from/doc; unzip -p z.zip; rm z.zip",
                "gzip -c doc >other; gzip -dc other >doc; rm other", "gzip -f doc; gunzip -f doc.gz",
                "xz -kf doc; xz -dc doc.xz >doc; rm doc.xz",
                "echo 'int main(void) { return 3; }' >m.c; echo old >m; cc -o m m.c; ./m || echo $?; cc -O1 -o m m.c; ./m || echo $?; cc -c m.c; cc -c m.c; ld -r -o m m.o; rm m m.o",
                "echo 'all: doc' >Makefile; printf 'doc: other\\n\\tcat other >doc\\n' >>Makefile; touch -d yesterday doc; make -s; make -s; cat doc; rm Makefile",
                "patch -s doc <<END\n--- doc\n+++ doc\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\nEND",
                "diff doc from/doc >p; patch -s doc p", "iconv -f ascii -t utf-16 doc -o other",
                "fold -w 1 doc | paste -sd, >other", "openssl dgst -sha256 -out doc other 2>/dev/null || true",
                "objcopy -I binary -O binary doc other 2>/dev/null || true", "curl -s -o doc file://$PWD/other",
                "sqlite3 :memory: 'create table t (n); insert into t values (1); select n from t' >doc",
                "echo old >base; rm base; sqlite3 base 'create table t (n); insert into t values (7)'; sqlite3 base 'select n from t'; sqlite3 base .dump >doc; sqlite3 base vacuum; rm base",
                "git init -q -b main . 2>/dev/null; git config user.email a@b; git config user.name n; git add doc; git commit -qm one; echo new >doc; git commit -qam two; git checkout -q HEAD~1; cat doc | head -1; git checkout -q main; git stash -q 2>/dev/null; git reset -q --hard HEAD~1; git status --porcelain | sort; git fsck --strict 2>/dev/null; rm -rf .git",
                "python3 -c 'open(\"doc\", \"w\").write(\"new\")'", "python3 -c 'open(\"doc\", \"r+\").write(\"X\")'",
                "python3 -c 'file = open(\"doc\", \"w+\"); file.write(\"new\"); file.seek(0); print(file.read())'",
                "python3 -c 'import shutil; shutil.copy(\"from/doc\", \"doc\"); shutil.copyfile(\"doc\", \"other\")'",
                "python3 -c 'import json; json.dump([1, 2], open(\"doc\", \"w\"))'",
                "python3 -c 'import zipfile; zipfile.ZipFile(\"doc\", \"w\").writestr(\"a\", \"b\"); print(zipfile.ZipFile(\"doc\").read(\"a\"))'; rm doc",
                "python3 -c 'import pathlib; pathlib.Path(\"doc\").write_text(\"new\")'",
                "python3 -c 'import os\nfile = os.open(\"doc\", os.O_RDWR | os.O_TRUNC); os.pwrite(file, b\"end\", 100000); os.lseek(file, 0, os.SEEK_DATA); os.posix_fallocate(file, 0, 10)'; wc -c <doc; rm doc",
                "python3 -c 'import mmap, os\nfile = open(\"doc\", \"w+b\"); file.truncate(5000); m = mmap.mmap(file.fileno(), 5000); m[0:3] = b\"new\"; m.flush(); m.close(); file.close()'; head -c 3 doc",
                "python3 -c 'import os\nfile = os.open(\"doc\", os.O_WRONLY | os.O_TRUNC); os.writev(file, [b\"a\", b\"b\"]); os.ftruncate(file, 1); os.fchmod(file, 0o600); os.fsync(file); os.write(file, b\"more\")'",
                "python3 -c 'import os\na = os.open(\"from/doc\", os.O_RDONLY); b = os.open(\"doc\", os.O_WRONLY | os.O_TRUNC); print(os.copy_file_range(a, b, 1000)); print(os.sendfile(b, a, 0, 10))'",
            ]

        @Test(arguments: SaveMount.accounts)
        func theOutcomeIsThatOfAPlainFolder(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                try expectAsInAPlainFolder(mount, Self.programs, prepare: Self.documents)
            }
        }

        /// Editors that need a terminal: command, keys that save, keys that save and end.
        static let terminalEditors = [
            (["nano", "-I", "doc"], ["\\x13"], ["\\x18", "y", "\\r"]), (["joe", "doc"], ["\\x0b", "d", "\\r"], ["\\x0b", "x"]),
            (["emacs", "-nw", "-Q", "doc"], ["\\x18", "\\x13"], ["\\x18", "\\x03", "y"]),
        ]

        /// They write a line and save, and another one and save it at their end.
        @Test(arguments: SaveMount.accounts, terminalEditors)
        func anEditorInATerminalSaves(kind: SaveMount, editor: (command: [String], save: [String], end: [String])) throws {
            func keys(_ keys: [String]) -> String { "[" + keys.map { "b\"\($0)\"" }.joined(separator: ", ") + "]" }
            try withSharedMount(kind, prepare: "echo old >doc; setfattr -n user.xdg.tags -v tag doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, pty, select, time
                    command, save, end = \(editor.command), \(keys(editor.save)), \(keys(editor.end))
                    pid, terminal = pty.fork()
                    if pid == 0:
                        os.environ.update(TERM="xterm", HOME=os.environ["T"]); os.execvp(command[0], command)
                    shown = b""
                    def drain(seconds):
                        global shown
                        limit = time.monotonic() + seconds
                        while time.monotonic() < limit:
                            if select.select([terminal], [], [], 0.05)[0]:
                                try: shown += os.read(terminal, 65536)
                                except OSError: return
                    def until(is_so):
                        for attempt in range(600):
                            drain(0.1)
                            if is_so(): return
                    def type(*keys):
                        for key in keys: os.write(terminal, key); drain(0.3)
                    def content():
                        try: return open("doc").read()
                        except FileNotFoundError: return None
                    until(lambda: b"old" in shown); drain(0.5)
                    for word, keys in [("new", save), ("again", end)]:
                        type(word.encode() + b"\\r"); until(lambda: word.encode() in shown); type(*keys)
                        expected = "new\\n" + ("again\\n" if word == "again" else "") + "old\\n"
                        until(lambda: content() == expected)
                        print(content(), end="")
                    until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid); print(os.getxattr("doc", "user.xdg.tags"))
                    """) == "new\nold\nnew\nagain\nold\nb'tag'")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func libreOfficeConvertsOverAnExistingDocument(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    office() { soffice --headless --norestore --nologo -env:UserInstallation=file://$T/office --convert-to "$1" letter.txt >/dev/null 2>&1; }
                    echo first words >letter.txt; office odt; inode=$(stat -c %i letter.odt); setfattr -n user.xdg.tags -v tag letter.odt
                    echo second words >letter.txt; office odt; unzip -p letter.odt content.xml | grep -c 'second words'; unzip -tq letter.odt | grep -c 'No errors'
                    getfattr --only-values -n user.xdg.tags letter.odt
                    """, limit: .seconds(180)) == "1\n1\ntag")
            }
        }

        /// A program run from the document that is compiled over: it goes on, and the compiler is not told that it is busy.
        @Test(arguments: SaveMount.accounts)
        func aCompilerReplacesARunningProgram(kind: SaveMount) throws {
            let prepare = """
                cat >m.c <<'END'
                #include <fcntl.h>
                #include <unistd.h>
                int main(void) { close(creat("started", 0600)); while (access("go", F_OK)) usleep(1000); return 3; }
                END
                cc -o m m.c
                """
            try withSharedMount(kind, prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    ./m & eventually [ -e started ]; echo 'int main(void) { return 4; }' >m.c; cc -o m m.c; ./m || echo $?
                    touch go; wait $! || echo $?
                    """) == "4\n3")
            }
        }
    }
}
