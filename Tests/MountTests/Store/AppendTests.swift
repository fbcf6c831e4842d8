import TestSupport
import Testing

extension MountTests {
    /// A write with O_APPEND goes to the file's end, where the kernel may not know it to be.
    @Suite(.sharedMounts) struct AppendTests {
        private static let kinds: [SaveMount] = SaveMount.allCases

        /// Two programs append to one file in turn, one through the mount and one beneath it, which cuts the file at times.
        @Test(arguments: kinds)
        func anAppendedLineCoversNoOther(kind: SaveMount) throws {
            try withSharedMount(kind) { mount in
                let wrong = try mount.python(
                    """
                    import os, subprocess, threading, time
                    S, M = os.environ["S"] + "/log", os.environ["M"] + "/log"
                    def text(file):
                        with open(file, "rb") as file: return file.read()
                    for length in (1, 100, 5000, 70000, 2500000):
                        for isRead in (False, True, "by another program"):
                            content = b"first"
                            with open(M, "wb") as file: file.write(content)
                            reader = open(M, "rb") if isRead is True else None
                            if reader: reader.read()
                            other = subprocess.Popen(["tail", "-c", "+1", "-f", M], stdout=subprocess.PIPE) if isRead == "by another program" else None
                            if other: other.stdout.read(len(content)); threading.Thread(target=other.stdout.read).start()
                            through = os.open(M, os.O_RDWR | os.O_APPEND)
                            beneath = os.open(S, os.O_WRONLY | os.O_APPEND)
                            for n in range(20):
                                line = bytes([97 + n]) * length
                                if n % 5 == 4:
                                    os.ftruncate(beneath, 3)
                                    content = content[:3]
                                else:
                                    os.write(beneath, line.upper())
                                    content += line.upper()
                                if os.write(through, line) != length: print("a short write")
                                content += line
                                found = text(S)
                                if found != content: print(length, isRead, n, len(found), len(content))
                            end = time.monotonic() + 180
                            while text(M) != content or os.pread(through, 1 << 28, 0) != content:
                                if time.monotonic() > end:
                                    print(length, isRead, "does not show")
                                    break
                            os.close(through), os.close(beneath)
                            if reader: reader.close()
                            if other: other.kill(); other.wait()
                            os.unlink(M)
                    """)
                #expect(wrong == "")
            }
        }
    }
}
