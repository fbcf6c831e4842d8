import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Wrong or unlucky beginnings: a clear error, and nothing lost.
    struct BadInputTests {
        /// Sees `quire mount` refuse this, and nothing mounted.
        private func refuses(
            as account: Account = .root, prepare: String = "", mount arguments: String, saying message: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let mount = try Mount(account)
            defer { mount.end() }
            if !prepare.isEmpty { try mount.shell(prepare, in: mount.store) }
            let result = try mount.attempt("quire mount \(arguments)", in: "/")
            #expect(result.status == 1, sourceLocation: sourceLocation)
            let expected = message.replacing("$S", with: mount.store).replacing("$M", with: mount.path)
            #expect(result.errors.contains(expected), sourceLocation: sourceLocation)
            #expect(result.errors.hasPrefix("quire: "), sourceLocation: sourceLocation)
            #expect(!mount.isMounted, sourceLocation: sourceLocation)
            #expect(!(try readFile("/proc/self/mounts").contains(mount.folder.path)), sourceLocation: sourceLocation)
        }

        @Test(arguments: Account.allCases)
        func aStoreThatCannotBeIsRefused(account: Account) throws {
            try refuses(as: account, mount: "$S/missing $M", saying: "$S/missing: there is no such folder to be the store")
            try refuses(as: account, prepare: "touch file", mount: "$S/file $M", saying: "$S/file: is not a folder")
            try refuses(as: account, mount: "$S $M/missing", saying: "$M/missing: there is no such folder to be the mount point")
        }

        @Test func anUnreadableStoreIsRefused() throws {
            try refuses(as: .user, prepare: "mkdir closed; chmod 0 closed", mount: "$S/closed $M", saying: "$S/closed: ")
        }

        @Test func storeAndMountPointInsideEachOtherAreRefused() throws {
            try refuses(prepare: "mkdir inner", mount: "$S/inner $S", saying: "lies inside the mount point $S")
            try refuses(prepare: "mkdir inner", mount: "$S $S/inner", saying: "lies inside the store $S")
        }

        @Test func aStoreThatIsMountedIsRefused() throws {
            try withMount { mount in
                let second = try mount.attempt("mkdir \"$T/other\"; quire mount \"$S\" \"$T/other\"")
                #expect(second.status == 1 && second.errors.contains("already mounted at \(mount.path)"), "\(second)")
                let same = try mount.attempt("quire mount \"$S\" \"$M\"", in: "/")
                #expect(same.status == 1 && same.errors.contains("already a Quire mount"), "\(same)")
                #expect(try mount.shell("touch doc; ls") == "doc")
            }
        }

        @Test(arguments: [".tags", ".recents", ".thumbnails", ".search", ".favorites"])
        func aRealEntryOfAVirtualNameIsNotHidden(name: String) throws {
            try refuses(prepare: "mkdir \(name)", mount: "$S $M", saying: "mount with -o virtual=off")
            try refuses(prepare: "touch \(name)", mount: "$S", saying: "mount with -o virtual=off")
        }

        @Test func anUnknownOptionIsNamed() throws {
            try refuses(mount: "$S $M -o virtaul=off", saying: "unknown mount option 'virtaul=off'; did you mean 'virtual'?")
            try refuses(mount: "$S $M -o virtual=maybe", saying: "mount option 'virtual' cannot be 'maybe'")
        }

        @Test func aMountPointWithEntriesIsRefusedUnlessAllowed() throws {
            try refuses(prepare: "touch $M/entry", mount: "$S $M", saying: "$M: the mount point is not empty")
            let mount = try Mount(.root)
            defer { mount.end() }
            try mount.shell("touch \"$M/entry\"", in: "/")
            try mount.mount(["nonempty,virtual=hidden"])
            #expect(try mount.shell("ls -A") == "")
        }

        @Test func anOrdinaryUserMountsOnOwnFoldersOnly() throws {
            let folder = try TemporaryFolder()
            try refuses(as: .user, mount: "$S \(folder.path)", saying: "\(folder.path): only who may write a folder may mount on it")
        }

        /// Nanoseconds since 1970 end in 2262; a file's time need not.
        @Test func timesFarAwayHarmNothing() throws {
            try withMount(prepare: "touch -d 2300-01-01 before") { mount in
                try mount.scanned()
                try mount.shell("touch -d 2300-01-01 after; touch -d 1902-01-01 long; quire tag add tag before after long")
                try mount.expectNames(["after", "before", "long"], in: ".tags/tag")
                #expect(try mount.shell("date -u -r after +%Y") == "2300")
            }
        }

        @Test func aStoreWithoutAttributesKeepsTagsInTheIndex() throws {
            let mount = try Mount(.root)
            defer {
                mount.end()
                umount2(mount.store, Int32(MNT_DETACH))
            }
            // ramfs keeps no extended attributes of users.
            try mount.shell("mount -t ramfs quire-test \"$S\"; echo text >\"$S/doc\"; echo two >\"$S/other\"", in: "/")
            try mount.mount()
            try mount.scanned()
            try mount.shell("mkdir .tags/tag; ln -s ../../doc .tags/tag/; quire tag add tag other")
            try mount.expectNames(["doc", "other"], in: ".tags/tag")
            #expect(try mount.tags(of: "doc") == "tag")
            #expect(try mount.shell("grep -il attribute \"$QUIRE_STATE_HOME\"/*/log | wc -l") == "1")
            try mount.shell("rm .tags/tag/doc; mv other renamed")
            try mount.expectNames(["renamed"], in: ".tags/tag")
            // There are no access lists either, which is no reason to keep others out.
            try mount.shell("chmod 1777 .")
            #expect(try mount.shell("ls; mkdir own; cat doc", as: Account.alice) == "doc\nrenamed\ntext")
            try mount.unmount()
            try mount.mount()
            try mount.scanned()
            try mount.expectNames(["renamed"], in: ".tags/tag")
        }

        @Test(arguments: ["printf garbage >index", "truncate -s 3000 index", "dd if=/dev/urandom of=index bs=4096 count=2 seek=1 conv=notrunc 2>/dev/null"])
        func aDamagedIndexIsBuiltAnew(damage: String) throws {
            try withMount(prepare: "echo text >doc; setfattr -n user.xdg.tags -v tag doc") { mount in
                try mount.scanned()
                try mount.unmount()
                try mount.shell("""
                    cd "$QUIRE_STATE_HOME"/*; index=$(ls | grep -E '^index.*(sqlite|db)$|^index$' | head -1); rm -f "$index"-*
                    \(damage.replacing("index", with: "\"$index\""))
                    """, in: "/")
                try mount.mount()
                try mount.scanned()
                try mount.expectNames(["doc"], in: ".tags/tag")
                #expect(try mount.shell("grep -il 'damaged' \"$QUIRE_STATE_HOME\"/*/log | wc -l") == "1")
            }
        }

        @Test func anIndexOfANewerVersionIsRefusedAndKept() throws {
            try withMount(prepare: "echo text >doc") { mount in
                try mount.scanned()
                try mount.unmount()
                try mount.shell("""
                    cd "$QUIRE_STATE_HOME"/*; index=$(ls | grep -E '^index.*(sqlite|db)$|^index$' | head -1)
                    sqlite3 "$index" 'pragma user_version = 999'; rm -f "$index"-*; cp "$index" "$T/index"
                    """, in: "/")
                let result = try mount.quire("mount", mount.store, mount.path)
                #expect(result.status == 1)
                #expect(result.errors.contains("newer Quire"))
                #expect(!mount.isMounted)
                try mount.shell("cat \"$QUIRE_STATE_HOME\"/*/index* | cmp - \"$T/index\"", in: "/")
            }
        }

        @Test func aFullDiskFailsTheWriteAndNothingElse() throws {
            let mount = try Mount(.root)
            defer {
                mount.end()
                umount2(mount.store, Int32(MNT_DETACH))
            }
            try mount.shell("mount -t tmpfs -o size=2m quire-test \"$S\"; echo text >\"$S/doc\"", in: "/")
            try mount.mount()
            try mount.refuses("head -c 4M /dev/zero >big", "No space left on device")
            try mount.refuses("echo more >>doc; head -c 100k /dev/zero >other", "No space left on device")
            #expect(try mount.shell("head -1 doc; rm big") == "text")
            // The space is free when the kernel forgets the file.
            try eventually {
                try mount.shell("echo $(($(stat -f -c %a .) > 100))", in: mount.store) == "1"
            }
            #expect(try mount.shell("echo more >new; cat new; mv new doc; cat doc") == "more\nmore")
        }

        @Test func aFullDiskForTheIndexHarmsNoDocument() throws {
            let mount = try Mount(.root)
            defer {
                mount.end()
                umount2(mount.folder.path("state"), Int32(MNT_DETACH))
            }
            try mount.shell("mount -t tmpfs -o size=1m quire-test \"$QUIRE_STATE_HOME\"", in: "/")
            try mount.mount()
            try mount.scanned()
            #expect(try mount.shell("""
                head -c 1M /dev/zero >"$QUIRE_STATE_HOME/fill" 2>/dev/null || true
                for n in $(seq 300); do echo $n >doc$n; done; cat doc300; ls | wc -l; rm "$QUIRE_STATE_HOME/fill"
                """) == "300\n300")
            try mount.shell("mkdir .tags/tag; ln doc7 .tags/tag/")
            try mount.expectNames(["doc7"], in: ".tags/tag")
        }

        @Test func aReadOnlyStoreIsMountedReadOnly() throws {
            let mount = try Mount(.root)
            defer {
                mount.end()
                umount2(mount.store, Int32(MNT_DETACH))
            }
            try mount.shell("mount -t tmpfs quire-test \"$S\"; echo text >\"$S/doc\"; mount -o remount,ro \"$S\"", in: "/")
            try mount.mount()
            #expect(try mount.shell("cat doc; quire status --json . | grep -c '\"readOnly\" : true'") == "text\n1")
            try mount.refuses("echo more >>doc", "Read-only file system")
        }

        @Test(arguments: Account.allCases)
        func namesThatAreNotTextAreServed(account: Account) throws {
            try withMount(account, prepare: #"mkdir $'d\xff'; echo text >$'d\xff/\xfe\x01'; echo x >$'line\nbreak'"#) { mount in
                try mount.scanned()
                try mount.shell(#"""
                    mkdir .tags/t; ln $'d\xff/\xfe\x01' .tags/t/; ln $'line\nbreak' .tags/t/
                    test "$(cat $'.tags/t/\xfe\x01')" = text; test "$(cat $'.tags/t/line\nbreak')" = x
                    echo more >>$'d\xff/\xfe\x01'; test "$(cat $'.recents/\xfe\x01' | wc -l)" = 2
                    mv $'d\xff' $'e\xff'; test "$(readlink $'.recents/\xfe\x01')" = $'../e\xff/\xfe\x01'
                    quire recents >/dev/null; quire recents --json | python3 -m json.tool >/dev/null; quire tag list
                    """#)
            }
        }

        @Test func storeNamesWithSpecialLettersAreMounted() throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            let name = "a, b\\c é"
            #expect(try mount.shell("""
                mkdir "$T/\(name)" "$T/m \(name)"; echo text >"$T/\(name)/doc"; quire mount "$T/\(name)" "$T/m \(name)"
                cat "$T/m \(name)/doc"; quire status "$T/m \(name)" | grep -c serving || true; quire unmount "$T/m \(name)"
                """, in: "/").hasPrefix("text"))
        }
    }
}
