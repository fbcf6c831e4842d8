import TestSupport
import Testing

extension MountTests {
    /// SQLite, whose locks and shared memory ask much of a file system.
    struct DatabaseTests {
        static let cases: [(Account, String, String)] = [Account.root, .user].flatMap { account in
            ["wal", "delete", "truncate", "persist"].flatMap { mode in
                ["auto", "off"].map { (account, mode, $0) }
            }
        }

        /// Two processes add to one counter and a third reads, until each has done its share: nothing is lost, no reader sees
        /// half a transaction.
        @Test(arguments: cases)
        func twoWritersAndAReaderAgree(account: Account, mode: String, passthrough: String) throws {
            try withMount(account, account.options + ["passthrough=\(passthrough)"]) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, sqlite3, sys
                    def connect():
                        base = sqlite3.connect("base", timeout=60, isolation_level=None)
                        base.execute("pragma synchronous=normal")
                        return base
                    base = connect()
                    print(base.execute("pragma journal_mode=\(mode)").fetchone()[0])
                    base.execute("create table t (n, copy)")
                    base.execute("insert into t values (0, 0)")
                    base.close()
                    def add():
                        base = connect()
                        for _ in range(150):
                            base.execute("begin immediate")
                            n = base.execute("select n from t").fetchone()[0]
                            base.execute("update t set n = ?", (n + 1,))
                            base.execute("update t set copy = n")
                            base.execute("commit")
                    def read():
                        base = connect()
                        last = 0
                        for _ in range(300):
                            n, copy = base.execute("select n, copy from t").fetchone()
                            if n != copy or n < last: sys.exit(1)
                            last = n
                    children = []
                    for work in (add, add, read):
                        child = os.fork()
                        if child == 0:
                            try: work()
                            except BaseException as failure:
                                print(failure); sys.stdout.flush(); os._exit(1)
                            os._exit(0)
                        children.append(child)
                    print([os.waitpid(child, 0)[1] for child in children])
                    base = connect()
                    print(base.execute("select n, copy from t").fetchone(), base.execute("pragma integrity_check").fetchone()[0])
                    """) == "\(mode)\n[0, 0, 0]\n(300, 300) ok")
            }
        }

        @Test(arguments: Account.allCases)
        func aDatabaseIsReadByWhoMayNotWriteIt(account: Account) throws {
            try withMount(account, prepare: "sqlite3 base 'create table t (n); insert into t values (7)'; chmod 444 base") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    sqlite3 -readonly base 'select n from t'; sqlite3 'file:base?mode=ro' 'select n from t'
                    sqlite3 'file:base?immutable=1' 'select n from t'
                    """) == "7\n7\n7")
            }
        }

        @Test func aWalDatabaseIsReadWhileItIsWritten() throws {
            try withMount { (mount: Mount) throws in
                #expect(try mount.shell("""
                    sqlite3 base 'pragma journal_mode=wal; create table t (n); insert into t values (7)' >/dev/null
                    {
                        echo 'begin; insert into t values (8);'; echo ".shell touch $T/begun"; eventually [ -e "$T/go" ]
                        echo 'commit;'; echo ".shell touch $T/ended"; eventually [ -e "$T/over" ]
                    } | sqlite3 base &
                    eventually [ -e "$T/begun" ]; sqlite3 -readonly base 'select count(*) from t'; touch "$T/go"
                    eventually [ -e "$T/ended" ]; sqlite3 -readonly base 'select count(*) from t'; touch "$T/over"; wait $!; sqlite3 -readonly base 'select count(*) from t'
                    """) == "1\n2\n2")
            }
        }

        @Test func aKilledWritersTransactionIsRolledBack() throws {
            try withMount { (mount: Mount) throws in
                #expect(try mount.shell("""
                    sqlite3 base 'create table t (n); insert into t values (7)'
                    mkfifo "$T/input"; sqlite3 base <"$T/input" & exec 8>"$T/input"
                    echo 'pragma cache_size=1; begin exclusive; delete from t;
                        insert into t select value from generate_series(1, 20000);' >&8
                    eventually '[ -s base-journal ] && [ $(stat -c %s base) -gt 100000 ]'; kill -9 $!; wait || true
                    sqlite3 base 'select count(*), sum(n) from t; pragma integrity_check'
                    """) == "1|7\nok")
            }
        }

        @Test func aBusyDatabaseSaysSo() throws {
            try withMount(prepare: "sqlite3 base 'create table t (n)'") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    { echo 'begin exclusive;'; echo ".shell touch $T/begun"; eventually [ -e "$T/go" ]; echo 'commit;'; } | sqlite3 base &
                    eventually [ -e "$T/begun" ]; sqlite3 base 'insert into t values (1)' 2>&1 || true
                    touch "$T/go"; wait $!; sqlite3 base 'insert into t values (2); select n from t'
                    """).contains("database is locked"))
            }
        }
    }
}
