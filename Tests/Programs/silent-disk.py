# On a file system of the test's own (`HostileFileSystemTests.innerDisk`) that answers no more after UNLINK: changes elsewhere in the mount are told all the same.
import errno, select, subprocess, time
removed = os.pipe()
def serve():
    while True:
        request = os.read(device, 1 << 17)
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        error, body = 0, b""
        if opcode == 26: body = agreement
        elif opcode == 1 and request[40:].split(b"\0")[0] == b"file":  # LOOKUP
            body = struct.pack("<QQQQII", 3, 0, 0, 0, 0, 0) + attributes(3)
        elif opcode == 1: error = -errno.ENOENT
        elif opcode == 3: body = struct.pack("<QII", 0, 0, 0) + attributes(node)  # GETATTR
        elif opcode in (2, 42): continue  # FORGET
        elif opcode in (14, 27): body = struct.pack("<QII", 1, 0, 0)  # OPEN
        elif opcode not in (10, 18, 25, 28, 29): error = -38
        answer(unique, error, body)
        if opcode == 10:  # UNLINK
            os.write(removed[1], b"!")
            while True: time.sleep(1)
if (server := os.fork()) == 0:
    os.close(removed[0]); serve()
os.close(device); os.close(removed[1])
watch = subprocess.Popen(["quire", "watch", "--json", M], stdout=subprocess.PIPE)
children, told = [], b""
def expect(path):
    global told
    end = time.monotonic() + 180
    while path.encode() not in told:
        ready, _, _ = select.select([watch.stdout], [], [], max(0, end - time.monotonic()))
        assert ready, "not told of " + path
        told += os.read(watch.stdout.fileno(), 1 << 16)
try:
    # The watch begins at some moment.
    end = time.monotonic() + 180
    while not select.select([watch.stdout], [], [], 0.1)[0]:
        open(M + "/before", "w").close(); assert time.monotonic() < end
    if (remover := os.fork()) == 0:
        os.unlink(M + "/inner/file"); os._exit(0)
    children.append(remover)
    assert os.read(removed[0], 1) == b"!"
    print("silent")
    for number in range(5):
        open(f"{M}/after {number}", "w").close(); expect(f"after {number}")
    print("told")
finally:
    watch.kill(); watch.wait()
    # With its server it ends, and so does every wait for it.
    for child in children + [server]: os.kill(child, signal.SIGKILL)
    libc.umount2(inner.encode(), 2)
    for child in children + [server]: os.waitpid(child, 0)
