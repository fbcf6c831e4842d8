# On a file system of the test's own (`HostileFileSystemTests.innerDisk`) that answers no more `when` a file in it was written, is
# opened or made, or is claimed: a program elsewhere in the mount goes on.
import subprocess, time
from waiting import eventually
def serve():
    looked = 0
    while True:
        request = os.read(device, 1 << 17)
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        error, body = 0, b""
        if opcode == 26: body = agreement
        elif os.path.exists(T + "/silent"): continue
        elif opcode == 1:  # LOOKUP
            name = request[40:].split(b"\0")[0]
            looked += name == b"file"
            if name != b"file" or when == "opened" and looked == 2: error = -2
            else: body = struct.pack("<QQQQII", 3, 0, 0, 0, 0, 0) + attributes(3)
            if error and name == b"file": open(T + "/silent", "w").close()
        elif opcode == 3: body = struct.pack("<QII", 0, 0, 0) + attributes(node)  # GETATTR
        elif opcode in (2, 42): continue  # FORGET
        elif opcode == 9: open(T + "/silent", "w").close(); continue  # MKDIR
        elif opcode in (14, 27): body = struct.pack("<QII", 1, 0, 0)  # OPEN
        elif opcode == 16: body = struct.pack("<II", struct.unpack_from("<I", request, 56)[0], 0)  # WRITE
        elif opcode not in (4, 18, 20, 25, 28, 29): error = -38
        answer(unique, error, body)
if (server := os.fork()) == 0: serve()
os.close(device)
children = []
def beside(body):
    if (child := os.fork()) == 0:
        try: body()
        finally: os._exit(0)
    children.append(child)
try:
    if when == "written":
        file = os.open(M + "/inner/file", os.O_WRONLY); os.write(file, b"x"); os.close(file)
        open(T + "/silent", "w").close()
    elif when == "opened": beside(lambda: os.open(M + "/inner/file", os.O_RDONLY))
    elif when == "made": beside(lambda: os.mkdir(M + "/inner/new"))
    else:
        open(T + "/silent", "w").close()
        beside(lambda: subprocess.run(["quire", "coordinate", "--read", M + "/inner", "--write", M + "/inner/file", "--", "true"]))
        beside(lambda: subprocess.run(["quire", "coordinate", "--read", M, "--", "true"]))
    end = time.monotonic() + 180
    eventually(lambda: os.path.exists(T + "/silent"))
    print("silent")
    def work():
        os.chdir(M)
        for number in range(20):
            for text in ("one", "two"):
                with open("document", "w") as file: file.write(text)
            os.mkdir("d"); os.rename("document", "d/document"); os.rename("d/document", "document"); os.rmdir("d")
            assert ".recents" in os.listdir(".") and "document" in os.listdir(".recents")
            assert os.listdir(".tags/t") == ["document"]
            time.sleep(0.1)
        words = "quire status; quire tag add u document; quire coordinate --write document -- true; quire coordinate --read document -- true"
        if when == "made": words += "; quire coordinate --timeout 100 --read . -- true"
        assert subprocess.run(["sh", "-ec", words], stdout=subprocess.DEVNULL).returncode == 0
        os._exit(7)
    if (worker := os.fork()) == 0:
        try: work()
        finally: os._exit(1)
    ended = 0
    while not ended and time.monotonic() < end:
        ended, status = os.waitpid(worker, os.WNOHANG); time.sleep(0.05)
    if not ended: children.append(worker)
    print("worked" if ended and os.waitstatus_to_exitcode(status) == 7 else "held up")
finally:
    for child in children + [server]: os.kill(child, signal.SIGKILL)
    libc.umount2(inner.encode(), 2)
    for child in children + [server]: os.waitpid(child, 0)
