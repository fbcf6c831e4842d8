import TestSupport
import Testing

extension MountTests {
    /// `quire desktop-search`, as GNOME's and KDE's desktops call it, on a session bus that starts it.
    struct DesktopSearchTests {
        private static let documents = """
            mkdir 'Letters & more'; echo one >'Letters & more/Invoice März.txt'; echo two >invoice2.txt; echo three >other.txt; touch -d 2020-01-01 invoice2.txt
            """

        /// Defines `gnome METHOD ARGUMENTS…` and `kde METHOD ARGUMENTS…`. Opening a text notes its path in $T/opened.
        private static let session = #"""
            export XDG_DATA_HOME="$T/data" XDG_CONFIG_HOME="$T/config"
            mkdir -p "$T/data/dbus-1/services" "$T/data/applications" "$T/config"
            printf '[D-BUS Service]\nName=org.quire.Search\nExec=%s desktop-search\n' "$(command -v quire)" >"$T/data/dbus-1/services/org.quire.Search.service"
            printf '#!/bin/sh\necho "$1" >>"%s/opened"\n' "$T" >"$T/open"; chmod 755 "$T/open"
            printf '[Desktop Entry]\nType=Application\nName=Note\nExec=%s %%f\nMimeType=text/plain;inode/directory;\n' "$T/open" >"$T/data/applications/note.desktop"
            printf '[Default Applications]\ntext/plain=note.desktop\ninode/directory=note.desktop\n' >"$T/config/mimeapps.list"
            cat >"$T/session" <<'END'
            set -eu
            gnome() { local method=$1; shift; gdbus call --session --dest org.quire.Search --object-path /org/quire/Search --method "org.gnome.Shell.SearchProvider2.$method" "$@"; }
            kde() { local method=$1; shift; gdbus call --session --dest org.quire.Search --object-path /org/quire/Search --method "org.kde.krunner1.$method" "$@"; }
            opened() { for n in $(seq 1000); do if [ -s "$T/opened" ]; then break; fi; sleep 0.02; done; cat "$T/opened"; rm "$T/opened"; }

            """#

        /// What the script has printed, with /mnt for the mount point.
        private func run(_ account: Account, _ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
            var said = ""
            try withMount(account, prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                said = try mount.shell(
                    Self.session + script + "\nEND\ndbus-run-session -- bash \"$T/session\" | sed \"s|$M|/mnt|g\"", sourceLocation: sourceLocation)
            }
            return said
        }

        @Test(arguments: Account.allCases)
        func gnomeFindsDocuments(account: Account) throws {
            let said = try run(account, #"""
                gnome GetInitialResultSet "['invo']"
                gnome GetSubsearchResultSet "['a', 'b']" "['invoice', 'marz']"
                gnome GetInitialResultSet "['size>x']"; gnome GetInitialResultSet "[]"
                uri="file://$(printf %s "$M" | sed 's/%/%25/g')/Letters%20&%20more/Invoice%20M%C3%A4rz.txt"
                gnome GetResultMetas "['$uri', 'http://example.org/']"
                gnome ActivateResult "$uri" "[]" 0; opened
                gnome LaunchSearch "['invoice', '-marz']" 0; opened
                if gnome ActivateResult "http://example.org/" "[]" 0 2>/dev/null; then echo opened; fi
                """#)
            #expect(said.contains("(['file:///mnt/Letters%20&%20more/Invoice%20M%C3%A4rz.txt', 'file:///mnt/invoice2.txt'],)\n(['file:///mnt/Letters%20&%20more/Invoice%20M%C3%A4rz.txt'],)\n(@as [],)\n(@as [],)\n"), "\(said)")
            #expect(said.contains("'name': <'Invoice März.txt'>, 'description': <'/mnt/Letters & more'>, 'icon': <('themed', <['text-plain'"), "\(said)")
            #expect(!said.contains("example.org"))
            #expect(said.contains("()\n/mnt/Letters & more/Invoice März.txt\n()\n/mnt/.search/invoice -marz"), "\(said)")
        }

        @Test(arguments: Account.allCases)
        func kdeFindsDocuments(account: Account) throws {
            let said = try run(account, #"""
                kde Match "invoice2"; kde Match "in"; kde Actions
                kde Run "file://$M/invoice2.txt" ""; opened
                kde Run "file://$M/invoice2.txt" folder; opened
                gdbus introspect --session --dest org.quire.Search --object-path /org/quire/Search | grep -c 'interface org.\(kde.krunner1\|gnome.Shell.SearchProvider2\)'
                """#)
            #expect(said == """
                ([('file:///mnt/invoice2.txt', 'invoice2.txt', 'text-plain', uint32 30, 0.90000000000000002, {'subtext': <'/mnt'>, 'category': <'Documents'>})],)
                (@a(sssuda{sv}) [],)
                ([('folder', 'Show in Folder', 'folder-open')],)
                ()
                /mnt/invoice2.txt
                ()
                /mnt
                2
                """)
        }
    }
}
