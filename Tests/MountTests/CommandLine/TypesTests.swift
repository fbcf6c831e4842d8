import TestSupport
import Testing

extension MountTests {
    /// `quire types`: what is declared to the desktop, and what searches make of it.
    struct TypesTests {
        private static let sketch = #"""
            export XDG_DATA_HOME="$T/data" XDG_CONFIG_HOME="$T/config"; mkdir -p "$T/data/applications" "$T/config"
            declaration() {
                printf '<?xml version="1.0"?>\n<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">\n'
                for part in "$@"; do
                    IFS=, read -r type glob base comment <<<"$part"
                    printf ' <mime-type type="%s"><comment>%s</comment><sub-class-of type="%s"/><glob pattern="%s"/></mime-type>\n' "$type" "$comment" "$base" "$glob"
                done
                printf '</mime-info>\n'
            }

            """#

        private func run(_ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            // Root's types are the system's, which tests leave alone.
            try withMount(.user, prepare: "echo one >a.sketch; echo two >b.sketchy; echo three >c.txt") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.sketch + script, sourceLocation: sourceLocation)
            }
        }

        @Test func aDeclaredTypeCountsForAllPrograms() throws {
            try run(#"""
                declaration 'application/x-sketch,*.sketch,application/zip,Sketch' 'application/x-sketchy,*.sketchy,application/x-sketch,Sketchy' >"$T/sketch.xml"
                printf '<svg xmlns="http://www.w3.org/2000/svg"/>' >"$T/s.svg"; quire types declare "$T/sketch.xml" --icon "$T/s.svg"
                [ "$(quire types --json a.sketch | jq -r '.[0] | .type, .explanation, .ancestors[0]')" = "application/x-sketch
                Sketch
                application/zip" ]
                gio info -a standard::content-type a.sketch | grep -q application/x-sketch; [ -f "$T/data/icons/hicolor/scalable/mimetypes/application-x-sketch.svg" ]
                [ "$(quire types tree application/x-sketch)" = "application/x-sketch (Sketch)
                  application/x-sketchy (Sketchy)" ]
                quire types tree --json application/zip | jq -e '.[0].derived | map(.type) | index("application/x-sketch")' >/dev/null
                quire types tree >"$T/tree"; grep -q '^text/plain ' "$T/tree"
                quire types forget sketch.xml; [ "$(quire types --json a.sketch | jq -r '.[0].type')" != application/x-sketch ]
                expect_fails quire types forget sketch.xml 2>/dev/null; expect_fails quire types tree application/x-sketch 2>/dev/null
                """#)
        }

        /// A declaration of their own takes the place of what others say of a type, in whatever order they come.
        @Test func exportedTypesGoBeforeImportedOnes() throws {
            try run(#"""
                declaration 'application/x-sketch,*.sketch,text/plain,Guess' 'application/x-other,*.other,text/plain,Other' >"$T/guess.xml"
                declaration 'application/x-sketch,*.sketch,application/zip,Sketch' >"$T/sketch.xml"
                explained() { quire types --json a.sketch | jq -r '.[0].explanation'; }
                quire types declare --imported "$T/guess.xml"; [ "$(explained)" = Guess ]
                quire types declare "$T/sketch.xml"; [ "$(explained)" = Sketch ]; [ "$(quire types tree application/x-other)" = "application/x-other (Other)" ]
                quire types declare --imported "$T/guess.xml" 2>"$T/said"; [ "$(explained)" = Sketch ]
                grep -q "application/x-sketch is left to $T/data/mime/packages/org.quire.exported.sketch.xml" "$T/said"
                declaration 'application/pdf,*.pdf,text/plain,Wrong' >"$T/pdf.xml"; quire types declare --imported "$T/pdf.xml" 2>"$T/said"
                grep -q 'application/pdf is left to /usr/share/mime/packages/freedesktop.org.xml' "$T/said"
                [ "$(quire types tree application/pdf | head -n1)" = "application/pdf (PDF document)" ]
                """#)
        }

        @Test func searchesFindDocumentsByTheirDerivedTypes() throws {
            // The mount's daemon reads the types of the machine.
            try withMount(prepare: "echo one >a.c; echo two >b.html; echo three >c.png") { (mount: Mount) throws in
                try mount.scanned()
                #expect(try mount.shell("quire search --sort name type:text/plain | xargs -n1 basename") == "a.c\nb.html")
            }
        }

        @Test func programsAreRankedAndChosen() throws {
            try run(#"""
                for app in one two three; do
                    printf '[Desktop Entry]\nType=Application\nName=%s\nExec=true %%f\nMimeType=%s;\n' $app "$([ $app = three ] && echo text/plain || echo text/x-test)" >"$T/data/applications/$app.desktop"
                done
                declaration 'text/x-test,*.test,text/plain,Test' >"$T/test.xml"; quire types declare "$T/test.xml"; update-desktop-database "$T/data/applications"
                quire types use text/x-test two
                quire types apps --json text/x-test | jq -r '.[] | "\(.rank) \(.id)"' >"$T/apps"
                [ "$(head -n2 "$T/apps")" = "default two.desktop
                recommended one.desktop" ]; grep -qx 'other three.desktop' "$T/apps"
                quire types use text/x-test one.desktop; touch x.test; [ "$(quire types apps x.test | head -n1)" = 'default     one.desktop (one)' ]
                [ "$(xdg-mime query default text/x-test)" = one.desktop ]
                expect_fails quire types use text/x-test nothing 2>"$T/said"; grep -q 'nothing: is no program' "$T/said"
                """#)
        }

        @Test func whatIsWrongIsSaid() throws {
            try run(#"""
                refused() { expect_fails quire types declare "$T/$1" 2>"$T/said"; grep -qF "$2" "$T/said" || { cat "$T/said"; exit 1; }; }
                echo '<mime-info' >"$T/a.xml"; refused a.xml 'Document ended unexpectedly'
                echo '<other/>' >"$T/b.xml"; refused b.xml 'does not begin with the element mime-info'
                echo '<mime-info></mime-info>' >"$T/c.xml"; refused c.xml 'declares no type'
                declaration 'application/,*.x,text/plain,X' >"$T/d.xml"; refused d.xml 'without a type such as'
                declaration '../x,*.x,text/plain,X' >"$T/e.xml"; refused e.xml 'without a type such as'
                declaration 'a/b,*.x,text/plain,X' >"$T/f.txt"; refused f.txt 'does not end in .xml'
                refused nothing.xml 'cannot be read'; head -c 2000000 /dev/zero >"$T/g.xml"; refused g.xml 'longer than'
                declaration 'a/b,*.x,text/plain,X' >"$T/h.xml"; echo text >"$T/icon"; expect_fails quire types declare "$T/h.xml" --icon "$T/icon" 2>"$T/said"; grep -q 'neither SVG nor PNG' "$T/said"
                [ "$(ls "$T/data/mime/packages" | grep -v org.quire.exported.h.xml)" = '' ]
                """#)
        }
    }
}
