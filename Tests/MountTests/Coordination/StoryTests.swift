import TestSupport
import Testing

extension MountTests {
    /// What people are promised, with the programs that they use.
    @Suite(.sharedMounts)
    struct StoryTests {
        /// Programs that show a document and have never heard of Quire, each by what it watches with. They print the time of each
        /// thing they are told, in nanoseconds.
        static let watchers = [
            "inotifywait": """
                exec stdbuf -oL inotifywait -qme close_write,moved_to,delete_self --format x . doc |
                    python3 -uc 'import sys, time
                for line in sys.stdin: print(time.monotonic_ns())'
                """,
            "QFileSystemWatcher": """
                exec python3 -uc 'import time
                from PyQt5.QtCore import QCoreApplication, QFileSystemWatcher
                app = QCoreApplication([]); watcher = QFileSystemWatcher(["doc"])
                def changed(path):
                    now = time.monotonic_ns()
                    # As every viewer does: the file it watched was replaced. No event reports a save before this.
                    if path not in watcher.files() and not watcher.addPath(path): exit("cannot be watched again")
                    print(now)
                watcher.fileChanged.connect(changed); app.exec()'
                """,
            "GFileMonitor": """
                exec python3 -uc 'import time
                from gi.repository import Gio, GLib
                monitor = Gio.File.new_for_path("doc").monitor_file(Gio.FileMonitorFlags.WATCH_MOVES, None)
                monitor.connect("changed", lambda *_: print(time.monotonic_ns())); GLib.MainLoop().run()'
                """,
            "presenter": """
                exec python3 - <<'END'
                \(PresenterScript.text)
                presenter = Presenter("doc")
                class Times(list):
                    def append(self, event):
                        if event[0] == "changed": print(time.monotonic_ns(), flush=True)
                presenter.events = Times(); time.sleep(600)
                END
                """,
        ]

        /// Who shows a document is told of each new version; how soon the benchmarks measure.
        @Test(arguments: SaveMount.accounts, watchers.keys.sorted())
        func whoShowsADocumentIsToldOfEachVersion(kind: SaveMount, watcher: String) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell("""
                    cat >"$T/watcher" <<'SCRIPT'
                    \(Self.watchers[watcher]!)
                    SCRIPT
                    # The shell's child makes them, perhaps later than they are read.
                    : >"$T/told" >"$T/errors"
                    bash "$T/watcher" >"$T/told" 2>"$T/errors" & watcher=$!
                    trap '{ pkill -P $watcher; kill $watcher; } 2>/dev/null || true' EXIT
                    python3 - <<'END'
                    import os, time
                    T = os.environ["T"]
                    def told(): return open(T + "/told").read().split()
                    def save(n):
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC)
                        os.write(file, b"%d" % n); os.close(file)
                    # Before the shell is ended, which would not say why.
                    end = time.monotonic() + 100
                    def awaiting(what): assert time.monotonic() < end, f"{what}: {open(T + '/errors').read()}"
                    # It is there when it tells of something.
                    while not told(): awaiting("nothing was told"); save(0); time.sleep(0.1)
                    time.sleep(0.3)
                    for n in range(1, 31):
                        before = len(told()); save(n)
                        while len(told()) == before: awaiting(f"save {n} was not told"); time.sleep(0.02)
                        # What it does by that it has done before the next one.
                        time.sleep(0.1)
                    END
                    """)
            }
        }
    }
}
