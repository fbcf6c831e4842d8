import TestSupport
import Testing

extension MountTests {
    /// Saves by rename keep a document's attributes for its owner and for root, and hand them to nobody else.
    struct AttributeOwnerTests {
        private static let (alice, bob) = (Account.alice, Account.bob)
        /// In `anyones` everybody may replace everything; in a sticky folder only what is one's own, and its owner all.
        private static let store = """
            mkdir -m 777 anyones; mkdir -m 1777 sticky alices; chown \(alice) alices
            for folder in *; do
                for owner in \(alice) \(bob); do
                    file=$folder/$owner; echo old >$file; chmod 644 $file
                    setfattr -n user.xdg.tags -v tag$owner $file; setfattr -n user.xdg.comment -v comment $file; chown $owner $file
                done
            done
            """

        /// How programs save `$doc` by renaming.
        static let saves = [
            "mv -f $doc $doc.old; echo new >$doc", "echo new >$doc.new; mv -f $doc.new $doc",
            "mv -f $doc $doc.old; echo new >$doc.new; mv $doc.new $doc", "echo new >$doc.new; rm -f $doc; mv $doc.new $doc",
            "echo new >$doc.new; mv -f $doc $doc.old; ln $doc.new $doc; rm $doc.new",
        ]

        private func attributes(_ mount: Mount, _ document: String) throws -> String {
            try mount.shell("cat \(document); getfattr -d \(document) | grep '^user' || true", in: mount.store)
        }

        @Test(arguments: saves, ["anyones", "alices"])
        func anotherUsersDocumentGivesNothing(save: String, folder: String) throws {
            try withMount(prepare: Self.store) { mount in
                try mount.scanned()
                let document = "\(folder)/\(Self.bob)"
                try mount.shell("doc=\(document); \(save)", as: Self.alice)
                #expect(try attributes(mount, document) == "new")
                #expect(try mount.shell("stat -c %u \(document)", in: mount.store) == "\(Self.alice)")
                if save.contains(".old") { #expect(try mount.tags(of: document + ".old") == "tag\(Self.bob)") }
                let tagged = try mount.names(in: ".tags/tag\(Self.bob)", as: Self.alice)
                #expect(tagged.filter { !$0.hasSuffix(".old") }.count == 2, "\(tagged)")
            }
        }

        @Test(arguments: saves)
        func inAStickyFolderAnotherUsersDocumentStays(save: String) throws {
            try withMount(prepare: Self.store) { mount in
                let document = "sticky/\(Self.bob)"
                try mount.refuses("doc=\(document); \(save)", "Operation not permitted", as: Self.alice)
                #expect(try attributes(mount, document) == "old\nuser.xdg.comment=\"comment\"\nuser.xdg.tags=\"tag\(Self.bob)\"")
                let made = try mount.shell("getfattr -d \(document).new 2>/dev/null || true", in: mount.store)
                #expect(made == "")
            }
        }

        @Test(arguments: saves.prefix(4), ["anyones", "sticky", "alices"])
        func onesOwnDocumentKeepsThem(save: String, folder: String) throws {
            try withMount(prepare: Self.store) { mount in
                try mount.scanned()
                let document = "\(folder)/\(Self.alice)"
                // Root gives a removed document's attributes to no file of its own.
                for user in save.contains("rm -f") ? [Self.alice] : [Self.alice, 0] {
                    try mount.shell("doc=\(document); \(save)", as: user)
                    #expect(
                        try attributes(mount, document)
                            == "new\nuser.xdg.comment=\"comment\"\nuser.xdg.tags=\"tag\(Self.alice)\"", "saved by \(user)")
                    #expect(try mount.names(in: ".tags/tag\(Self.alice)").contains("\(Self.alice)"))
                    try mount.shell("rm -f \(document).old; chown \(Self.alice) \(document)")
                }
            }
        }

        /// Two users have to do with one name: what the one moved aside is not the other's to take over.
        @Test(arguments: ["echo new >$doc", "echo new >$doc.new; mv $doc.new $doc"])
        func aNameMadeAnewByAnotherGetsNothing(save: String) throws {
            try withMount(prepare: Self.store) { mount in
                try mount.scanned()
                let document = "anyones/\(Self.alice)"
                try mount.shell("mv \(document) \(document).away", as: Self.alice)
                try mount.shell("doc=\(document); \(save)", as: Self.bob)
                #expect(try attributes(mount, document) == "new")
                #expect(try mount.tags(of: document + ".away") == "tag\(Self.alice)")
            }
        }
    }
}
