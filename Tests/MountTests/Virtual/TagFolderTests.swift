import TestSupport
import Testing

extension MountTests {
    /// `.tags` as folders: what file managers and shells do there.
    struct TagFolderTests {
        private static let documents = "mkdir notes; echo report >report.txt; echo letter >letter.txt; echo other >notes/report.txt"

        @Test(arguments: Account.allCases)
        func mkdirMakesATag(account: Account) throws {
            try withMount(account) { mount in
                try mount.shell("mkdir .tags/urgent .tags/'two words'")
                #expect(try mount.names(in: ".tags") == ["two words", "urgent"])
                #expect(try mount.shell("ls -A .tags/urgent") == "")
                try mount.refuses("mkdir .tags/urgent", "File exists")
                #expect(try mount.shell("ls -A", in: mount.store) == "")
            }
        }

        @Test func aTagThatAListCannotHoldIsRefused() throws {
            try withMount { mount in
                try mount.refuses("mkdir .tags/a,b", "Invalid argument")
                try mount.refuses(#"mkdir $'.tags/\xff'"#, "Invalid argument")
                #expect(try mount.names(in: ".tags") == [])
            }
        }

        @Test(arguments: Account.allCases)
        func aSymbolicLinkTagsItsDocument(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("mkdir .tags/urgent; ln -s ../../report.txt .tags/urgent/; ln -s \"$M/letter.txt\" .tags/urgent/")
                #expect(try mount.tags(of: "report.txt") == "urgent")
                #expect(try mount.tags(of: "letter.txt") == "urgent")
                #expect(try mount.names(in: ".tags/urgent") == ["letter.txt", "report.txt"])
                #expect(try mount.shell("readlink .tags/urgent/*.txt; cat .tags/urgent/*.txt")
                    == "../../letter.txt\n../../report.txt\nletter\nreport")
            }
        }

        @Test(arguments: Account.allCases)
        func aHardLinkTagsItsDocumentAndMakesNoLink(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("mkdir .tags/urgent; ln report.txt .tags/urgent/")
                #expect(try mount.tags(of: "report.txt") == "urgent")
                #expect(try mount.shell("stat -c %h report.txt") == "1")
                #expect(try mount.shell("stat -c %F .tags/urgent/report.txt") == "symbolic link")
            }
        }

        @Test(arguments: Account.allCases)
        func aDocumentMovedIntoATagIsTaggedAndStays(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("mkdir .tags/urgent; mv report.txt .tags/urgent/; mv notes/report.txt .tags/urgent/")
                #expect(try mount.shell("cat report.txt notes/report.txt; ls; ls notes")
                    == "report\nother\nletter.txt\nnotes\nreport.txt\nreport.txt")
                #expect(try mount.tags(of: "report.txt") == "urgent")
                #expect(try mount.tags(of: "notes/report.txt") == "urgent")
                #expect(try mount.shell("stat -c '%F %h' report.txt") == "regular file 1")
            }
        }

        @Test(arguments: Account.allCases)
        func aLinkMovedToAnotherTagSwapsTheTags(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("mkdir .tags/a .tags/b; mv report.txt letter.txt .tags/a; mv .tags/a/report.txt .tags/b/")
                #expect(try mount.tags(of: "report.txt") == "b")
                #expect(try mount.tags(of: "letter.txt") == "a")
                #expect(try mount.names(in: ".tags/a") == ["letter.txt"])
                #expect(try mount.names(in: ".tags/b") == ["report.txt"])
            }
        }

        @Test(arguments: Account.allCases)
        func aTagFolderMovedRenamesTheTagEverywhere(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("""
                    mkdir -p .tags/work/late; ln -s ../../report.txt ../../letter.txt .tags/work/
                    ln -s ../../../notes/report.txt .tags/work/late/; setfattr -n user.xdg.tags -v 'home,work' letter.txt
                    mv .tags/work .tags/job
                    """)
                #expect(try mount.tags(of: "report.txt") == "job")
                #expect(try mount.tags(of: "letter.txt") == "home,job")
                #expect(try mount.tags(of: "notes/report.txt") == "job/late")
                #expect(try mount.names(in: ".tags") == ["home", "job"])
                #expect(try mount.names(in: ".tags/job") == ["late", "letter.txt", "report.txt"])
                try mount.refuses("mv -T .tags/home .tags/job", "")
                #expect(try mount.names(in: ".tags") == ["home", "job"])
            }
        }

        @Test(arguments: Account.allCases)
        func aLinkRemovedTakesTheTagFromThatDocumentOnly(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("""
                    mkdir .tags/urgent .tags/kept; ln report.txt letter.txt .tags/urgent/; ln report.txt .tags/kept/
                    rm .tags/urgent/report.txt
                    """)
                #expect(try mount.tags(of: "report.txt") == "kept")
                #expect(try mount.tags(of: "letter.txt") == "urgent")
                #expect(try mount.shell("cat report.txt") == "report")
                #expect(try mount.names(in: ".tags/urgent") == ["letter.txt"])
            }
        }

        @Test func removingANonEmptyTagFails() throws {
            try withMount(prepare: Self.documents) { mount in
                try mount.shell("mkdir .tags/urgent; ln report.txt .tags/urgent/")
                try mount.refuses("rmdir .tags/urgent", "Directory not empty")
                #expect(try mount.tags(of: "report.txt") == "urgent")
                try mount.shell("rm .tags/urgent/report.txt; rmdir .tags/urgent")
                #expect(try mount.names(in: ".tags") == [])
                try mount.refuses("rmdir .tags/urgent", "No such file or directory")
            }
        }

        @Test func aSlashInATagNests() throws {
            try withMount(prepare: Self.documents) { mount in
                try mount.shell("setfattr -n user.xdg.tags -v work/late/very report.txt")
                #expect(try mount.names(in: ".tags") == ["work"])
                #expect(try mount.names(in: ".tags/work") == ["late"])
                #expect(try mount.shell("cat .tags/work/late/very/report.txt") == "report")
                #expect(try mount.shell("readlink .tags/work/late/very/report.txt") == "../../../../report.txt")
                try mount.shell("mkdir .tags/work/early; ln -s ../../../letter.txt .tags/work/early/")
                #expect(try mount.tags(of: "letter.txt") == "work/early")
            }
        }

        @Test func aPlusJoinsTags() throws {
            try withMount(prepare: Self.documents) { mount in
                try mount.shell("mkdir .tags/a .tags/b; ln report.txt letter.txt .tags/a/; ln letter.txt notes/report.txt .tags/b/")
                #expect(try mount.names(in: ".tags/a+b") == ["letter.txt"])
                #expect(try mount.shell("cat .tags/b+a/letter.txt") == "letter")
                #expect(try mount.names(in: ".tags") == ["a", "b"])
                try mount.refuses("ls .tags/a+missing", "No such file or directory")
                try mount.shell("ln report.txt .tags/a+b/")
                #expect(try mount.tags(of: "report.txt") == "a,b")
                try mount.shell("rm .tags/a+b/letter.txt")
                #expect(try mount.tags(of: "letter.txt") == "")
            }
        }

        @Test func equalNamesAreNumbered() throws {
            try withMount(prepare: Self.documents) { mount in
                try mount.shell("mkdir .tags/urgent; ln report.txt .tags/urgent/; mv notes/report.txt .tags/urgent/")
                #expect(try mount.names(in: ".tags/urgent") == ["report.txt", "report (2).txt"])
                #expect(try mount.shell("cat .tags/urgent/*.txt | sort") == "other\nreport")
                try mount.shell("rm '.tags/urgent/report (2).txt'")
                #expect(try mount.names(in: ".tags/urgent").count == 1)
                #expect(try mount.shell("cat report.txt notes/report.txt") == "report\nother")
            }
        }

        @Test(arguments: Account.allCases)
        func removingEverythingInTagsDeletesNoDocumentAndIsUndone(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("""
                    mkdir -p .tags/a/inner .tags/b .tags/empty; ln report.txt letter.txt .tags/a/; ln letter.txt .tags/b/
                    ln notes/report.txt .tags/a/inner/
                    """)
                _ = try mount.attempt("rm -rf .tags")
                #expect(try mount.names(in: ".tags") == [])
                #expect(try mount.shell("cat report.txt letter.txt notes/report.txt") == "report\nletter\nother")
                #expect(try mount.tags(of: "letter.txt") == "")
                #expect(try mount.quire("tag", "undo", "--in", mount.path).output == "3 documents have their tags again.\n")
                #expect(try mount.tags(of: "report.txt") == "a")
                #expect(try mount.shell("getfattr --only-values -n user.xdg.tags letter.txt | tr , '\\n' | sort | tr '\\n' ,")
                    == "a,b,")
                #expect(try mount.tags(of: "notes/report.txt") == "a/inner")
                #expect(try mount.names(in: ".tags") == ["a", "b", "empty"])
                let again = try mount.quire("tag", "undo", "--in", mount.path)
                #expect(again.status == 1)
                #expect(again.errors.contains("no removal of tags to undo"))
            }
        }

        @Test(arguments: Account.allCases)
        func aLinkMovedToTheTrashUntagsAndComesBack(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("""
                    mkdir .tags/urgent; ln report.txt .tags/urgent/; mkdir -p .Trash-$UID/files
                    mv .tags/urgent/report.txt .Trash-$UID/files/
                    """)
                #expect(try mount.tags(of: "report.txt") == "")
                #expect(try mount.shell("cat report.txt .Trash-$UID/files/report.txt") == "report\nreport")
                try mount.shell("mv .Trash-$UID/files/report.txt .tags/urgent/")
                #expect(try mount.tags(of: "report.txt") == "urgent")
                #expect(try mount.shell("ls -A .Trash-$UID/files") == "")
            }
        }

        @Test func tagsWrittenAsAttributesAreFoldersAtOnce() throws {
            try withMount(prepare: Self.documents) { mount in
                try mount.shell("setfattr -n user.xdg.tags -v ' red , blue,red,, ' report.txt")
                #expect(try mount.names(in: ".tags") == ["blue", "red"])
                #expect(try mount.names(in: ".tags/blue") == ["report.txt"])
                try mount.shell("setfattr -x user.xdg.tags report.txt")
                #expect(try mount.names(in: ".tags/blue") == [])
            }
        }

        @Test func tagsInTheStoreBeforeItIsMountedAreThere() throws {
            try withMount(prepare: Self.documents + "; setfattr -n user.xdg.tags -v old notes/report.txt") { mount in
                try mount.scanned()
                #expect(try mount.names(in: ".tags/old") == ["report.txt"])
            }
        }

        @Test func aLinkFollowsItsDocument() throws {
            try withMount(prepare: Self.documents) { mount in
                try mount.shell("mkdir .tags/urgent; ln report.txt .tags/urgent/; mv report.txt notes/final.txt")
                #expect(try mount.names(in: ".tags/urgent") == ["final.txt"])
                #expect(try mount.shell("cat .tags/urgent/final.txt") == "report")
                try mount.shell("mv notes papers")
                #expect(try mount.shell("readlink .tags/urgent/final.txt") == "../../papers/final.txt")
                try mount.shell("rm papers/final.txt")
                #expect(try mount.names(in: ".tags/urgent") == [])
            }
        }

        @Test(arguments: Account.allCases)
        func tagsAreMerged(account: Account) throws {
            let prepare = "for n in a b c d; do echo $n >$n; done; setfattr -n user.xdg.tags -v bill a b; setfattr -n user.xdg.tags -v bills/old,invoice c; setfattr -n user.xdg.tags -v invoice,bill d"
            try withMount(account, prepare: prepare) { (mount: Mount) throws in
                try mount.scanned()
                try mount.refuses("quire tag rename bill invoice", "quire tag merge makes one of both")
                try mount.shell("quire tag merge bill bills invoice")
                #expect(try mount.shell("quire tag list --json | jq -r '.[] | .name, .count'; ls .tags/invoice") == "invoice\n4\ninvoice/old\n1\na\nb\nc\nd\nold")
                #expect(try ["a", "b", "c", "d"].map { try mount.tags(of: $0) } == ["invoice", "invoice", "invoice/old,invoice", "invoice"])
                try mount.refuses("quire tag merge nothing invoice", "there is no tag nothing")
                try mount.refuses("quire tag merge invoice", "Name two tags at least")
            }
        }

        /// A thousand tags on a document, and ten thousand in all: as many as a user may have.
        @Test func thereMayBeVeryManyTags() throws {
            try withMount(.user, in: "/dev/shm", prepare: "for n in $(seq 10); do echo $n >doc$n; done") { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import os
                    for document in range(10):
                        tags = [f"tag{document}-{n}" for n in range(1000)]
                        os.setxattr(f"doc{document + 1}", "user.xdg.tags", ",".join(tags).encode())
                    names = os.listdir(".tags")
                    assert len(names) == 10_000, len(names)
                    assert os.listdir(".tags/tag3-999") == ["doc4"] and os.listdir(".tags/tag3-0+tag3-999") == ["doc4"]
                    os.unlink(".tags/tag3-500/doc4")
                    assert len(os.getxattr("doc4", "user.xdg.tags").split(b",")) == 999
                    """)
                #expect(try mount.shell("quire tag list | wc -l; { quire tag rename tag0-1 tag0-2 2>&1 || true; } | grep -o exists; rm .tags/tag0-1/doc1; rmdir .tags/tag0-1; ls .tags | wc -l") == "10000\nexists\n9999")
            }
        }

        /// The command asks the daemon for many at once, and says of each path what is wrong with it.
        @Test(arguments: Account.allCases)
        func manyDocumentsAreTaggedAtOnce(account: Account) throws {
            try withMount(account, prepare: "mkdir d; for n in $(seq 2000); do echo $n >d/$n; done; ln -s d/1 link; echo x >$'\\xff'; echo y >closed; chmod 400 closed") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("quire tag add many d/*; [ $(ls .tags/many | wc -l) = 2000 ]; quire tag add one link; quire tag add odd $'\\xff' ./d/../d/2")
                #expect(try mount.tags(of: "d/1") == "many,one")
                #expect(try mount.shell("ls .tags/odd | wc -l; quire tag list --json | jq -r '.[] | .name, .count'") == "2\nmany\n2000\nodd\n2\none\n1")
                try mount.shell("quire tag remove many d/1?? link; [ $(ls .tags/many | wc -l) = 1899 ]")
                #expect(try mount.shell("ln -s nowhere dangling; { quire tag add late dangling .tags/odd/2 2>&1 || true; }; ls .tags/late") == "quire: dangling: No such file or directory\n2")
                try mount.shell("quire tag remove late d/2")
                let failed = try mount.attempt("quire tag add late d nothing d/5 2>&1 || true; ls .tags/late")
                #expect(failed.output.contains("d: is a folder or a special file; tags are for documents") && failed.output.contains("nothing: ") && failed.output.hasSuffix("\n5\n"), "\(failed)")
                // A claim lets in its own processes alone.
                try mount.shell("quire coordinate --write d/7 -- quire tag add claimed d/7 d/8; [ $(ls .tags/claimed | wc -l) = 2 ]")
            }
        }
    }
}
