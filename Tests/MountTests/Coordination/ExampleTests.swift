import TestSupport
import Testing

extension MountTests {
    /// The example programs, as a user would run them.
    @Suite(.sharedMounts(["presenter-timeout=600"]))
    struct ExampleTests {
        /// `Screen(program…)` runs a program in a pseudo-terminal and keeps what it drew in `text`, a few drawings long.
        private static let screen = """
            import fcntl, os, pty, struct, subprocess, sys, termios, threading, time
            class Screen:
                def __init__(self, *words):
                    self.text = ""
                    self.pid, self.fd = pty.fork()
                    if self.pid == 0: os.execvp(words[0], words)
                    fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 60, 0, 0))
                    threading.Thread(target=self.listen, daemon=True).start()
                def listen(self):
                    try:
                        while True: self.text = (self.text + os.read(self.fd, 4096).decode())[-4000:]
                    except OSError: pass
                def type(self, keys): os.write(self.fd, keys.encode())
                def expect(self, text):
                    end = time.monotonic() + 180
                    while text not in self.text:
                        if time.monotonic() > end: raise AssertionError("%r is not on the screen: %r" % (text, self.text))
                        time.sleep(0.01)
                def end(self):
                    self.type("\\x11"); assert os.waitpid(self.pid, 0)[1] == 0
            def run(command): return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout

            """

        @Test(arguments: SaveMount.accounts)
        func theEditorSharesItsDocument(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf 'first line\\nsecond\\n' >doc") { (mount: Mount) throws in
                try mount.python(Self.screen + """
                    editor = Screen("QuireEdit", "doc"); editor.expect("first line"); editor.expect("second")
                    editor.type("typed é "); editor.expect("doc *")
                    # Another app reads: what was typed is saved first, as soon as the mount knows that there is something to save.
                    end = time.monotonic() + 180
                    while (seen := run("cat doc")) != "typed é first line\\nsecond\\n": assert time.monotonic() < end, seen
                    editor.expect("saved")
                    # Another app writes: it shows.
                    editor.text = ""; run("echo 'from another app' >doc"); editor.expect("from another app")
                    editor.text = ""; run("mv doc renamed"); editor.expect("renamed")
                    # Keys: the end of the line, a new one, a letter taken back, save.
                    editor.type("\\x1b[C" * 60 + "\\rlast lineX\\x7f\\x13"); editor.expect("last line"); editor.expect("renamed  saved")
                    assert run("quire coordinate --read renamed -- cat renamed") == "from another app\\nlast line\\n"
                    editor.text = ""; run("rm renamed"); editor.expect("deleted by another program")
                    editor.text = ""; editor.type("\\x13"); editor.expect("renamed  saved"); assert "last line" in run("cat renamed")
                    editor.end()
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func theSyncAgentCopiesWholeVersions(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir -p folder/in; echo one >folder/doc; echo two >folder/in/deep") { (mount: Mount) throws in
                try mount.shell("""
                    copy="$T/copy"; rm -rf "$copy"
                    trap 'kill $(jobs -p) 2>/dev/null || true; cat "$T/log" >&2' EXIT
                    QuireSync folder "$copy" >"$T/log" 2>&1 & agent=$!
                    eventually 'grep -q "waiting for changes" "$T/log"'
                    [ "$(cat "$copy/doc")" = one ]; [ "$(cat "$copy/in/deep")" = two ]
                    # In the middle of a save there is nothing new to copy.
                    (printf 'half '; sleep 1; echo whole) >folder/doc & saver=$!
                    for look in $(seq 20); do content=$(cat "$copy/doc"); [ "$content" = one ] || [ "$content" = "half whole" ]; sleep 0.03; done
                    wait $saver; eventually '[ "$(cat "$copy/doc")" = "half whole" ]'
                    echo new >folder/in/made; eventually '[ "$(cat "$copy/in/made")" = new ]'
                    mv folder/doc folder/in/moved; eventually '[ "$(cat "$copy/in/moved")" = "half whole" ] && [ ! -e "$copy/doc" ]'
                    mv folder/in folder/out; eventually '[ "$(cat "$copy/out/deep")" = two ] && [ ! -e "$copy/in" ]'
                    rm folder/out/deep; eventually '[ ! -e "$copy/out/deep" ]'
                    [ -z "$(find "$copy" -name '.*.part')" ]
                    kill $agent; wait $agent || true
                    """)
            }
        }
    }
}
