import TestSupport
import Testing

extension MountTests {
    /// smbd, sftp-server and rsync's daemon, with clients of their own.
    @Suite(.sharedMounts)
    struct FileServerTests {
        /// smbd on a network of its own: `client COMMANDS` is smbclient, $SMBD the server's first process.
        private func withSamba(_ mount: Mount, _ script: String, limit: Duration = .seconds(300)) throws -> String {
            try mount.shell("""
                cat >"$T/smb.conf" <<END
                [global]
                map to guest = Bad User
                private dir = $T/samba
                lock directory = $T/samba
                state directory = $T/samba
                cache directory = $T/samba
                pid directory = $T/samba
                ncalrpc dir = $T/samba/rpc
                smb ports = 445
                interfaces = lo
                disable netbios = yes
                load printers = no
                log file = $T/samba/log
                [docs]
                path = $M
                read only = no
                guest ok = yes
                force user = root
                END
                cat >"$T/script" <<'END_OF_SCRIPT'
                ip link set lo up; mkdir -p "$T/samba"
                smbd -F -s "$T/smb.conf" >/dev/null 2>&1 & SMBD=$!
                trap 'kill $SMBD; wait || true' EXIT
                client() { smbclient -N //127.0.0.1/docs -c "$1" >"$T/client.$BASHPID" 2>&1; }
                eventually client ls; rm "$T"/client.*
                \(script)
                END_OF_SCRIPT
                unshare -n bash -c 'source "$PRELUDE"; source "$T/script"'
                """, limit: limit)
        }

        private static let readsOfEach = isLongRun ? 25_000 : 500
        private static let gets = isLongRun ? 100_000 : 500
        private static let noneTorn = "\(TornReadTests.noneTorn)\n\(gets) got"

        /// Two clients put versions over the document while others read beneath; then clients get it while another program saves
        /// beneath. `transfer` carries out the lines `put` and `get` that it reads; `getAgain` is called when
        /// `$T/again` has lines that got nothing.
        private func puttingAndGetting(_ readers: String) -> String {
            """
            for n in $(seq 8); do SaveExerciser version "$T/new$n" $n $((4096 << n % 5)); done
            put() { while [ ! -e "$T/over" ]; do for r in $(seq 50); do for n in $(seq 8); do echo "put $T/new$n doc"; done; done | transfer; done; }
            put & first=$!; put & second=$!
            SaveExerciser torn doc 0 \(Self.readsOfEach) 4096 0 \(readers)
            touch "$T/over"; wait $first; wait $second; SaveExerciser check doc
            SaveExerciser loop doc 65536 300 & saver=$!
            for r in $(seq \(Self.gets / 500)); do
                rm -f "$T"/got*; for n in $(seq 500); do echo "get doc $T/got$n"; done | transfer
                for n in $(seq 500); do [ -e "$T/got$n" ] || echo "get doc $T/got$n"; done >"$T/again"
                [ ! -s "$T/again" ] || getAgain
                SaveExerciser check "$T"/got*; ls "$T"/got* | wc -l
            done | awk '
                /^[0-9]+$/ { got += $1; next }
                /^again / { again += $2; next }
                1
                END { print got " got"; if (again > 2 + got / 1000) print again " had to be got again" }'
            kill $saver; grep -h NT_STATUS "$T"/client.* | grep -v OBJECT_NAME_NOT_FOUND | sort | uniq -c || true
            """
        }

        @Test(arguments: [SaveMount.root, .rootWithoutPassthrough])
        func noReadIsTornOfASaveBySmbd(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "SaveExerciser version doc") { (mount: Mount) throws in
                // Calls that go by the kernel's size of the inode may meet its end too early, as smbd cuts documents off late (quire help saves).
                // smbd says "no such file" where what it has looked up is replaced before it opens it: on a plain folder with a program
                // that saves by rename to 91 of 20,000 gets, on the mount to some 3 of 100,000.
                #expect(try withSamba(mount, """
                    transfer() { client "$(tr '\\n' ';')"; }
                    getAgain() { echo again $(wc -l <"$T/again"); transfer <"$T/again"; }
                    \(puttingAndGetting("read pread read pread"))
                    """, limit: .seconds(3600)) == Self.noneTorn)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func noReadIsTornOfASaveBySftp(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "SaveExerciser version doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    getAgain() { cat "$T/again"; }
                    transfer() { { echo "cd $M"; cat; } | sftp -q -b - -D /usr/lib/openssh/sftp-server >"$T/client.$BASHPID" 2>&1; }
                    \(puttingAndGetting(TornReadTests.readers))
                    """, limit: .seconds(3600)) == Self.noneTorn)
            }
        }

        @Test(arguments: [SaveMount.root, .rootWithoutPassthrough])
        func anSmbdThatIsKilledHarmsNothing(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf 'old version' >cut") { (mount: Mount) throws in
                #expect(try withSamba(mount, """
                    truncate -s 1G "$T/new"; client "put $T/new cut" & client=$!
                    eventually 'quire status --json . | grep -q "bytes. : [1-9]"'
                    cat cut; echo; kill -9 $(pgrep -P $SMBD)
                    reason_kept cut
                    wait $client || true; cat cut
                    """) == "old version\n\"reason\" : \"killed\",\nold version")
            }
        }

        /// As Windows programs save: a temporary file takes the document's place, which is set aside first, or not.
        @Test(arguments: [SaveMount.root, .rootWithoutPassthrough])
        func programsReplaceDocumentsBySmb(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf old >\"$S/doc\"; setfattr -n user.xdg.tags -v tag doc") { (mount: Mount) throws in
                #expect(try withSamba(mount, """
                    printf first >"$T/first"; printf second >"$T/second"
                    client "put $T/first new.tmp; rename doc old.tmp; rename new.tmp doc; rm old.tmp"; cat doc; echo
                    client "put $T/second new.tmp; rename new.tmp doc -f"; cat doc; echo
                    getfattr --only-values -n user.xdg.tags doc; echo; ls
                    """) == "first\nsecond\ntag\ndoc")
            }
        }

        /// sftp-server ends with the document open.
        @Test(arguments: SaveMount.accounts)
        func aConnectionOfSftpThatIsCutHarmsNothing(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf 'old version' >sent") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    head -c 3000000 /dev/zero >"$T/new"
                    sftp -q -l 2000 -D /usr/lib/openssh/sftp-server >/dev/null 2>&1 <<<"put $T/new $M/sent" & client=$!
                    eventually 'quire status --json . | grep -q "bytes. : [1-9]"'
                    cat sent; echo; kill -9 $client
                    reason_kept sent; cat sent; echo
                    sftp -q -D /usr/lib/openssh/sftp-server >/dev/null 2>&1 <<<"put $T/new $M/sent"; cmp "$T/new" sent; echo whole
                    """) == "old version\n\"reason\" : \"relay-ended\",\nold version\nwhole")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aConnectionOfRsyncThatIsCutHarmsNothing(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf 'old version' >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    head -c 3000000 /dev/urandom >"$T/doc"
                    printf 'use chroot = no\\n[docs]\\npath = %s\\nread only = no\\n' "$M" >"$T/rsyncd.conf"
                    [ $(id -u) != 0 ] || printf 'uid = 0\\ngid = 0\\n' >>"$T/rsyncd.conf"
                    # A server of its own for each connection, as sshd and inetd start it.
                    export RSYNC_CONNECT_PROG="rsync --server --daemon --config=$T/rsyncd.conf ."
                    rsync --bwlimit=200 "$T/doc" rsync://host/docs/ & client=$!
                    eventually "ls -A | grep -q '^.doc\\.'"
                    cat doc; echo; kill -9 $client; eventually '[ -z "$(ls -A | grep "^.doc\\." || true)" ]'; cat doc; echo
                    rsync "$T/doc" rsync://host/docs/; cmp "$T/doc" doc; echo whole
                    """) == "old version\nold version\nwhole")
            }
        }
    }
}
