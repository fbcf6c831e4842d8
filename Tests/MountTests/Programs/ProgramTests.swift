import TestSupport
import Testing

extension MountTests {
    /// Programs people use, unmodified, on the mount.
    struct ProgramTests {
        /// A source tree with what such trees have: links, modes, an empty folder, names that are not text.
        private static let tree = #"""
            mkdir -p src/inner src/empty; for n in $(seq 60); do seq $n $((n * 40)) >src/inner/f$n; done
            printf '#!/bin/sh\necho hello\n' >src/run; chmod 755 src/run; ln -s inner/f1 src/link; ln src/run src/run2
            touch -d '2001-02-03 04:05:06.789' src/inner/f7; touch "src/$(printf 'caf\303\251 \377 \n x')"
            mkfifo src/fifo; truncate -s 3M src/sparse; echo end >>src/sparse
            setfattr -n user.note -v kept src/inner/f2; chmod 600 src/inner/f3; chmod 2755 src/inner
            """#

        @Test(arguments: Account.allCases)
        func gitClonesCommitsAndChecks(account: Account) throws {
            try withMount(account) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    git config --global user.name T; git config --global user.email t@example.org
                    git config --global init.defaultBranch main
                    git init -q "$T/origin"; cd "$T/origin"; mkdir d; for n in $(seq 200); do echo $n >d/$n; done
                    git add -A; git commit -qm first
                    cd "$M"; git clone -q "$T/origin" copy; cd copy; git status --porcelain
                    echo change >>d/7; git mv d/8 d/eight; git rm -q d/9; git commit -qam second; git checkout -qb side HEAD~1
                    echo side >d/10; git commit -qam side; git checkout -q main; git merge -q side -m merged
                    git gc -q; git fsck --full --strict; git stash list; git status --porcelain; git log --oneline | wc -l
                    git clone -q . ../again; diff -r --exclude=.git . ../again; git worktree add -q ../tree side; ls ../tree/d | wc -l
                    """) == "4\n200")
            }
        }

        @Test(arguments: Account.allCases)
        func tarCreatesExtractsAndCompares(account: Account) throws {
            try withMount(account) { mount in
                try mount.shell("cd \"$T\"\n" + Self.tree)
                #expect(try mount.shell("""
                    tar -C "$T" --xattrs --acls --sparse -cf in.tar src; mkdir out
                    tar --xattrs --acls --sparse -xpf in.tar -C out 2>&1
                    tar -C out --xattrs --acls -df in.tar; diff -r --exclude=fifo "$T/src" out/src; cat out/src/link | head -1
                    test $(stat -c %b out/src/sparse) -lt 64; tar -C out -cf "$T/back.tar" src; tar -C "$T" -df "$T/back.tar" 2>&1
                    getfattr --only-values -n user.note out/src/inner/f2; echo; stat -c '%a %h %y' out/src/inner out/src/run out/src/inner/f7
                    """).hasPrefix("1\nkept\n2755 "))
            }
        }

        @Test(arguments: Account.allCases)
        func rsyncCopiesEverythingBothWaysAndDeletes(account: Account) throws {
            try withMount(account) { mount in
                try mount.shell("cd \"$T\"\n" + Self.tree + "\nsetfacl -m u:61001:r src/inner/f4; setfacl -d -m g::rx src/empty")
                #expect(try mount.shell("""
                    rsync -aHAX --numeric-ids "$T/src/" there/; rsync -aHAX -n --delete -i "$T/src/" there/
                    rsync -aHAX --numeric-ids there/ "$T/back/"; rsync -aHAX -n --delete -i "$T/src/" "$T/back/"
                    rm -r "$T/src/inner/f1" "$T/src/empty"; echo changed >"$T/src/inner/f5"; mkdir "$T/src/inner/f1"
                    rsync -aHAX --delete "$T/src/" there/; rsync -aHAXc -n --delete -i "$T/src/" there/
                    test ! -e there/empty; cat there/inner/f5; getfacl -cp there/inner/f4 | grep 61001
                    echo inplace >>"$T/src/inner/f6"; rsync -a --inplace --checksum "$T/src/" there/; tail -1 there/inner/f6
                    """) == "changed\nuser:61001:r--\ninplace")
            }
        }

        @Test func findSeesWhatIsThere() throws {
            try withMount(prepare: Self.tree) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    (cd "$S"; find src -printf '%P|%y|%s|%m|%n|%T@|%l\\0' | sort -z) >"$T/plain"
                    find src -printf '%P|%y|%s|%m|%n|%T@|%l\\0' | sort -z >"$T/mounted"; cmp "$T/plain" "$T/mounted"
                    find src -xdev -newermt 2001-01-01 -not -newermt 2001-03-01; find src -samefile src/run | wc -l
                    find src -name 'f[0-9]' -size +0 -exec md5sum {} + | wc -l; find src -type f -name 'f1?' -delete; ls src/inner | wc -l
                    """) == "src/inner/f7\n2\n9\n50")
            }
        }

        @Test(arguments: Account.allCases)
        func makeCompilesAndRebuildsOnlyWhatChanged(account: Account) throws {
            try withMount(account) { (mount: Mount) throws in
                #expect(try mount.shell(#"""
                    for n in 1 2 3 4; do echo "int f$n(void) { return $n; }" >f$n.c; done
                    printf 'int f1(void), f2(void), f3(void), f4(void);\n#include <stdio.h>\n' >main.c
                    printf 'int main(void) { printf("%%d\\n", f1() + f2() + f3() + f4()); }\n' >>main.c
                    printf 'OBJ = main.o f1.o f2.o f3.o f4.o\nprogram: $(OBJ)\n\tcc -o $@ $(OBJ)\n' >Makefile
                    make -s -j4; ./program; sleep 0.02; echo 'int f4(void) { return 40; }' >f4.c; make | wc -l; ./program; make -q
                    ar rcs libf.a f?.o; cc -o linked main.o -L. -lf; ./linked
                    """#) == "10\n2\n46\n46")
            }
        }

        @Test(arguments: Account.allCases, ["auto", "off"])
        func pythonMapsFiles(account: Account, passthrough: String) throws {
            try withMount(account, account.options + ["passthrough=\(passthrough)"]) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import mmap, os
                    with open("data", "wb") as file: file.write(os.urandom(1 << 20))
                    with open("data", "r+b") as file:
                        shared = mmap.mmap(file.fileno(), 0)
                        shared[4096:4101] = b"hello"
                        os.pwrite(file.fileno(), b"there", 8192)
                        print(shared[8192:8197], os.pread(file.fileno(), 5, 4096))
                        shared.flush()
                    print(open(os.environ["S"] + "/data", "rb").read()[4096:4101])
                    reader = mmap.mmap(os.open("data", os.O_RDONLY), 0, prot=mmap.PROT_READ)
                    shared[0:4] = b"abcd"
                    print(reader[0:4])
                    private = mmap.mmap(os.open("data", os.O_RDONLY), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
                    private[0:4] = b"WXYZ"
                    print(reader[0:4], shared.find(b"hello"))
                    if os.fork() == 0:
                        shared[100:103] = b"kid"; os._exit(0)
                    os.wait(); print(reader[100:103]); os.unlink("data"); print(reader[4096:4101])
                    """) == """
                    b'there' b'hello'
                    b'hello'
                    b'abcd'
                    b'abcd' 4096
                    b'kid'
                    b'hello'
                    """)
            }
        }

        @Test(arguments: Account.allCases)
        func watchesHearOfWhatIsDoneThroughTheMount(account: Account) throws {
            try withMount(account, prepare: "mkdir d") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    watching "$T/events" -e create,close_write,move,delete --format '%e %f' d
                    echo text >d/a; mv d/a d/b; rm d/b; eventually grep -q DELETE "$T/events"; kill $watcher; cat "$T/events"
                    """) == "CREATE a\nCLOSE_WRITE,CLOSE a\nMOVED_FROM a\nMOVED_TO b\nDELETE b")
            }
        }
    }
}
