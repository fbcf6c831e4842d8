# On a file system of the test's own (`HostileFileSystemTests.innerDisk`) that answers nothing but its root's attributes: Alice's programs
# wait for it, Bob's go on.
import subprocess, time
def started(user, body):
    if (child := os.fork()) == 0:
        try:
            os.setgroups([]); os.setgid(user); os.setuid(user)
            body()
        finally: os._exit(1)
    return child
asked = os.pipe()
def serve():
    while True:
        error, body = 0, b""
        _, opcode, unique = struct.unpack_from("<IIQ", os.read(device, 1 << 17))
        if opcode == 26: body = agreement
        elif opcode == 3: body = struct.pack("<QII", 0, 0, 0) + attributes(1)  # GETATTR
        elif opcode == 52: error = -38  # STATX: not known
        else:
            os.write(asked[1], b"!")
            continue
        answer(unique, error, body)
server = started(0, serve)
os.close(device); os.close(asked[1])
def look(number):
    while True:
        try: os.stat(f"{M}/inner/{number}")
        except OSError: time.sleep(0.01)
waiting = [started(61001, lambda: look(number)) for number in range(40)]
try:
    # A few threads' worth of looks have come through.
    for _ in range(4): assert os.read(asked[0], 1) == b"!"
    print("stalled")
    def work():
        os.chdir(M + "/bob")
        for number in range(200):
            text = "version %d" % number
            with open("doc", "w") as file: file.write(text)
            with open("doc") as file: assert file.read() == text
            os.mkdir("d"); os.rename("doc", "d/doc"); os.rename("d/doc", "doc"); os.rmdir("d")
            assert os.listdir(".") == ["doc"]
        os._exit(0)
    if os.waitpid(started(61002, work), 0)[1] == 0: print("worked")
    print(subprocess.run(["quire", "unmount", "--lazy", M]).returncode)
    print(os.path.ismount(M))
finally:
    # With its server it ends, and so does every wait for it.
    for child in waiting + [server]: os.kill(child, signal.SIGKILL)
    libc.umount2(inner.encode(), 2)
    for child in waiting + [server]: os.waitpid(child, 0)
