import TestSupport
import Testing

extension MountTests {
    /// What is not a document of the store is refused in a virtual folder, and stays where it was.
    struct TagRefusalTests {
        private static let store = "mkdir folder; echo in >folder/inside; echo doc >doc; ln -s doc link; mkfifo fifo"

        private func withTag(_ account: Account, _ body: (Mount) throws -> Void) throws {
            try withMount(account, prepare: Self.store) { mount in
                try mount.shell("mkdir .tags/tag; echo foreign >\"$T/foreign\"")
                try body(mount)
                #expect(try mount.names(in: ".tags/tag") == [])
                #expect(try mount.names(in: ".recents").filter { $0 != "doc" } == [])
                #expect(try mount.shell("ls -A | sort | tr '\\n' ' '; cat doc folder/inside")
                    .hasSuffix("doc fifo folder link doc\nin"))
            }
        }

        @Test(arguments: Account.allCases)
        func aFileFromElsewhereStays(account: Account) throws {
            try withTag(account) { mount in
                try mount.refuses("mv \"$T/foreign\" .tags/tag/", "not permitted")
                try mount.refuses("cp \"$T/foreign\" .tags/tag/", "not permitted")
                try mount.refuses("ln -s \"$T/foreign\" .tags/tag/", "not permitted")
                #expect(try mount.shell("cat \"$T/foreign\"") == "foreign")
            }
        }

        @Test(arguments: ["folder", "link", "fifo"])
        func whatIsNoDocumentStays(name: String) throws {
            try withTag(.root) { mount in
                try mount.refuses("mv \(name) .tags/tag/", "not permitted")
                try mount.shell("[ -e \(name) ]")
            }
        }

        @Test func nothingIsMadeInATag() throws {
            try withTag(.root) { mount in
                try mount.refuses("echo text >.tags/tag/new", "not permitted")
                try mount.refuses("cp doc .tags/tag/copy", "not permitted")
                try mount.refuses("mkfifo .tags/tag/pipe", "not permitted")
                try mount.refuses("ln -s nowhere .tags/tag/dangling", "not permitted")
                try mount.refuses("ln -s ../../folder .tags/tag/folder", "not permitted")
            }
        }

        @Test func aDocumentIsRefusedInTagsItselfAndInRecents() throws {
            try withTag(.root) { mount in
                try mount.refuses("mv doc .tags/", "not permitted")
                try mount.refuses("ln doc .tags/", "not permitted")
                try mount.refuses("ln -s ../doc .tags/", "not permitted")
                try mount.refuses("mv doc .recents/", "not permitted")
                try mount.refuses("ln -s ../doc .recents/other", "not permitted")
                try mount.refuses("mkdir .recents/folder", "not permitted")
            }
        }

        @Test func theVirtualFoldersThemselvesStay() throws {
            try withTag(.root) { mount in
                for folder in [".tags", ".recents", ".thumbnails", ".search", ".favorites"] {
                    try mount.refuses("rmdir \(folder)", "")
                    try mount.refuses("mv \(folder) elsewhere", "")
                    try mount.refuses("mv -T folder \(folder)", "")
                    try mount.refuses("mkdir \(folder)", "File exists")
                    #expect(try mount.shell("stat -c %F \(folder)") == "directory")
                }
            }
        }

        @Test func aLinkIsNotMovedOutButToTheTrash() throws {
            try withMount(prepare: Self.store) { mount in
                try mount.shell("mkdir .tags/tag; ln doc .tags/tag/")
                try mount.refuses("mv .tags/tag/doc folder/", "not permitted")
                #expect(try mount.tags(of: "doc") == "tag")
                #expect(try mount.shell("ls folder") == "inside")
            }
        }

        /// Of folders that are listed nowhere, too.
        @Test(arguments: [".scopes"])
        func reservedNamesCannotBeMade(name: String) throws {
            try withMount(prepare: Self.store) { mount in
                try mount.refuses("mkdir \(name)", "")
                try mount.refuses("echo text >\(name)", "")
                try mount.refuses("mv doc \(name)", "")
                try mount.refuses("ln -s doc \(name)", "")
                try mount.shell("mkdir folder/\(name)")
            }
        }
    }
}
