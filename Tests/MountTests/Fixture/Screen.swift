/// A screen for desktop programs.
enum Screen {
    /// `run` starts a program on a screen of its own, which is a file (Xvfb's -fbdir); `end` ends both.
    static func python(for program: String) -> String {
        """
        import ctypes, os, signal, subprocess, time
        # What a program started comes to this one when the program ends, to be waited for: it may write to its home still.
        subreaper = 36  # PR_SET_CHILD_SUBREAPER, prctl(2)
        ctypes.CDLL(None).prctl(subreaper, 1)
        name, mount = "\(program)", os.environ["M"]
        scratch = os.environ["T"] + "/" + name.split()[0]
        os.makedirs(scratch + "/screen"); os.chmod(scratch, 0o700)
        display, written = os.pipe()
        server = subprocess.Popen(["Xvfb", "-displayfd", str(written), "-screen", "0", "640x480x24", "-fbdir", scratch + "/screen",
                                   "-nolisten", "tcp"], pass_fds=[written], stderr=subprocess.DEVNULL)
        places = {name: scratch for name in ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME"]}
        # GTK 4 draws its frames with all processors unless it draws by cairo: on a busy machine Nautilus then draws "Loading" for ever.
        screen = {**os.environ, **places, "DISPLAY": ":" + os.read(display, 16).decode().strip(), "QT_QPA_PLATFORM": "xcb",
                  "GSK_RENDERER": "cairo", "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "1"}
        def run(*words):
            null = subprocess.DEVNULL
            return subprocess.Popen(words, env=screen, cwd="/", stdout=null, stderr=null, start_new_session=True)
        # Keys and clicks of the user, by xdotool(1).
        def press(*words):
            return subprocess.run(["xdotool", *words], env=screen, check=True, capture_output=True, text=True).stdout
        def end(program, screen_too=True):
            os.killpg(program.pid, signal.SIGTERM)
            if not screen_too: return program.wait(10)
            server.terminate()
            signal.alarm(10)
            try:
                while True: os.waitpid(-1, 0)
            except ChildProcessError: signal.alarm(0)

        # How much of the screen has a colour, of every 16th pixel. The file has a header, then pixels of four bytes.
        def share(red, green, blue):
            with open(scratch + "/screen/Xvfb_screen0", "rb") as file: image = file.read()
            start = int.from_bytes(image[0:4], "big") + 12 * int.from_bytes(image[76:80], "big")
            wanted, places = bytes([blue, green, red]), range(start, len(image), 64)
            return sum(image[place:place + 3] == wanted for place in places) / len(places)

        """
    }
}
