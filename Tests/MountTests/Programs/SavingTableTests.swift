import TestSupport
import Testing

extension MountTests {
    /// The table of how programs save in Sources/quire/Help/saves.md: each row is run, and its opens are counted as the row says.
    @Suite(.sharedMounts)
    struct SavingTableTests {
        struct Program: Sendable {
            /// Makes what the command needs beside `doc` and `from`.
            var setup = ""
            let command: String
        }

        typealias Row = (counted: String, programs: [Program])

        /// By what `quire status` counts.
        static let rows: [Row] = [
            ("transactional", [
                Program(command: "echo new >doc"), Program(command: "echo new | tee doc"), Program(command: "cp from doc"),
                Program(command: "dd if=from of=doc"), Program(command: "printf '1d\\nw\\nq\\n' | ed -s doc"),
                Program(command: "curl -s -o doc file://$PWD/from"), Program(command: "sed s/1/one/ doc | sponge doc"),
                Program(command: "python3 -c 'open(\"doc\", \"w\").write(\"new\")'"), Program(command: java("write")),
                Program(command: "rclone --config '' copyto from doc"),
                Program(
                    setup: """
                        echo '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect id="r" width="4" height="2"/></svg>' >doc
                        mv doc doc.svg; ln -s doc.svg doc
                        """,
                    command: """
                        inkscape --actions='select-by-id:r;object-rotate-90-cw;export-filename:doc.svg;export-overwrite;export-do' doc.svg
                        """),
            ]),
            ("live.notTruncating transactional", [
                Program(command: "sort -rn -o doc doc"), Program(command: "truncate -s 0 doc"), Program(command: java("cut")),
            ]),
            ("live.newFile", [
                Program(command: "sed -i s/1/one/ doc"), Program(command: "perl -pi -e s/1/one/ doc"), Program(command: "rsync from doc"),
                Program(setup: "diff doc from >patch || true", command: "patch -s doc patch"),
                Program(
                    setup: "rm doc; printf 'secret\\nsecret\\n' | keepassxc-cli db-create -p doc",
                    command: "echo secret | keepassxc-cli add -u somebody doc entry"),
                // Neither vim nor Emacs keeps old versions of what is in /tmp, but by these settings.
                Program(command: "vim -u NONE -N -i NONE -es -c 'set backupskip=' -c '%s/1/one/' -c wq doc"),
                Program(command: "install from doc"), Program(setup: "echo 'int main(void) { return 0; }' >m.c", command: "cc -o doc m.c"),
                Program(
                    setup: "git init -q .; git add doc; git -c user.name=n -c user.email=e commit -qm 1; echo new >doc",
                    command: "git checkout -q doc"),
                Program(command: java("move")),
            ]),
            ("live.newFile live.notTruncating", [Program(command: "echo new | gio save doc")]),
            ("", [Program(command: "rclone --config '' moveto from doc")]),
            // The first save keeps the old document as `doc~`, the second one overwrites.
            ("live.newFile live.notTruncating transactional", [Program(command: """
                emacs --batch --eval '(progn (setq backup-enable-predicate (lambda (name) t)) (find-file "doc") (insert "one ") (save-buffer) (insert "two ") (save-buffer))'
                """)]),
            ("live.notTruncating", [
                Program(command: "dd if=from of=doc conv=notrunc"), Program(command: "rsync --inplace --no-whole-file from doc"),
                Program(command: "python3 -c 'open(\"doc\", \"r+\").write(\"X\")'"), Program(command: java("over")),
            ]),
        ]

        private static func java(_ how: String) -> String { "java -Xint -cp \"$T\" Saver \(how)" }

        private static let saver = """
            import java.io.*;
            import java.nio.file.*;
            class Saver {
                public static void main(String[] words) throws IOException {
                    Path document = Path.of("doc"), draft = Path.of("draft");
                    byte[] text = "new".getBytes();
                    if (words[0].equals("write")) { Files.write(document, text); return; }
                    if (words[0].equals("move")) {
                        Files.write(draft, text);
                        Files.move(draft, document, StandardCopyOption.REPLACE_EXISTING);
                        return;
                    }
                    try (var file = new RandomAccessFile("doc", "rw")) {
                        if (words[0].equals("cut")) file.setLength(0);
                        file.write(text);
                        file.setLength(3);
                    }
                }
            }
            """

        @Test(arguments: SaveMount.accounts)
        func aProgramsSaveIsWhatTheTableSays(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                mount.folder.makeFile("outside/Saver.java", Self.saver)
                try run(Self.rows, on: mount, preparedBy: "javac -d \"$T\" \"$T/Saver.java\"")
            }
        }

        func run(_ rows: [Row], on mount: Mount, preparedBy prepare: String) throws {
            var (script, expected) = (prepare + "\n", "")
            for (row, (counted, programs)) in rows.enumerated() {
                for (number, program) in programs.enumerated() {
                    let place = "row\(row).\(number)"
                    mount.folder.makeFile("outside/\(place).setup", program.setup + "\n")
                    mount.folder.makeFile("outside/\(place)", program.command + "\n")
                    script += "row \(place)\n"
                    expected += "\(program.command): \(counted)\n"
                }
            }
            #expect(try mount.shell(Self.counting + script, limit: .seconds(300)) + "\n" == expected)
        }

        /// `row NAME` runs a program in a folder of its own, and prints what its opens were counted as.
        private static let counting = #"""
            counters() { quire status --json "$M" | grep -oE '"(transactional|live\.[a-zA-Z]+)" : [0-9]+' | LC_ALL=C sort; }
            export HOME=$T/home XDG_RUNTIME_DIR=$T/home; mkdir -m 700 "$HOME"
            row() {
                mkdir "$M/$1"; cd "$M/$1"; seq 20 >doc; seq 30 >from
                bash "$T/$1.setup" >/dev/null 2>&1 </dev/null
                cat doc >"$T/before" 2>/dev/null || true; counters >"$T/counters"
                bash "$T/$1" >"$T/said" 2>&1 </dev/null || cat "$T/said"
                if cmp -s doc "$T/before"; then echo "not saved:"; cat "$T/said"; fi
                echo "$(cat "$T/$1"): $(LC_ALL=C comm -13 "$T/counters" <(counters) | cut -d '"' -f 2 | paste -sd ' ')"
            }

            """#
    }
}
