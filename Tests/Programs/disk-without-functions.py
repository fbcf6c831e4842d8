# On a file system of the test's own (`HostileFileSystemTests.innerDisk`) that answers ENOSYS to all requests once T/refuses is there.
def serve():
    while True:
        request = os.read(device, 1 << 17)
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        name = request[40:].split(b"\0")[0]
        error, body = 0, b""
        if opcode in (2, 42): continue  # FORGET
        elif opcode == 26: body = agreement
        elif os.path.exists(T + "/refuses") or opcode == 52: error = -errno.ENOSYS  # all, and STATX
        elif opcode == 3: body = struct.pack("<QII", 0, 0, 0) + attributes(node)  # GETATTR
        elif opcode == 1:  # LOOKUP
            child = {b"d": 2, b"f": 3}.get(name)
            if child: body = struct.pack("<QQQQII", child, 0, 0, 0, 0, 0) + attributes(child)
            else: error = -errno.ENOENT
        elif opcode in (14, 27): body = struct.pack("<QII", 1, 0, 0)  # OPEN, OPENDIR
        elif opcode not in (18, 25, 28, 29): error = -errno.EIO  # RELEASE, FLUSH, READDIR, RELEASEDIR
        answer(unique, error, body)
server = os.fork()
if server == 0: serve()
os.close(device)
try:
    place = M + "/inner"
    file, folder = os.open(place + "/f", os.O_RDWR), os.open(place + "/d", os.O_RDONLY)
    assert os.listdir(place) == []
    open(T + "/refuses", "w").close()
    calls = [
        lambda: os.listdir(place), lambda: os.listdir(place + "/d"), lambda: os.listdir(folder), lambda: os.open(place + "/f", os.O_RDONLY),
        lambda: os.open(place + "/f", os.O_WRONLY | os.O_TRUNC), lambda: os.open(place + "/new", os.O_WRONLY | os.O_CREAT),
        lambda: os.open(place, os.O_RDWR | os.O_TMPFILE), lambda: os.access(place + "/f", os.W_OK), lambda: os.stat(place + "/f"),
        lambda: os.fstat(file), lambda: os.getxattr(place + "/f", "user.x"), lambda: os.setxattr(place + "/f", "user.x", b"x"),
        lambda: os.listxattr(place + "/f"), lambda: os.removexattr(place + "/f", "user.x"), lambda: os.mkdir(place + "/new"),
        lambda: os.mkfifo(place + "/new"), lambda: os.symlink("x", place + "/new"), lambda: os.link(place + "/f", place + "/new"),
        lambda: os.rename(place + "/f", place + "/d/f"), lambda: os.unlink(place + "/f"), lambda: os.rmdir(place + "/d"),
        lambda: os.read(file, 10), lambda: os.write(file, b"x"), lambda: os.fsync(file), lambda: os.fsync(folder),
        lambda: os.posix_fallocate(file, 0, 10), lambda: os.lseek(file, 0, os.SEEK_DATA), lambda: os.ftruncate(file, 3),
        lambda: os.copy_file_range(file, file, 10, 0, 100), lambda: os.statvfs(place), lambda: os.utime(place + "/f"),
        lambda: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB),
        lambda: fcntl.ioctl(file, 0x80086601, b"x" * 8), lambda: os.close(file), lambda: os.close(folder),
    ]
    refused = 0
    for call in calls:
        try: call()
        except OSError: refused += 1
    print("refused" if refused > 20 else refused)
    # FLUSH publishes it, FSYNC and locks are asked for, and so is OPENDIR.
    file = os.open(M + "/document", os.O_WRONLY | os.O_TRUNC); os.write(file, b"new"); os.close(file)
    print(other(f"cat {M}/document"))
    os.mkdir(M + "/folder"); open(M + "/folder/inside", "w").close()
    assert os.listdir(M + "/folder") == ["inside"] and set(os.listdir(M)) >= {"document", "folder", "inner"}
    file = os.open(M + "/document", os.O_RDWR)
    os.fsync(file); fcntl.flock(file, fcntl.LOCK_EX)
    assert other(f"flock -n {M}/document echo taken || echo kept") == "kept"
    os.setxattr(M + "/document", "user.x", b"x"); assert os.getxattr(M + "/document", "user.x") == b"x"
    os.posix_fallocate(file, 0, 10); assert os.lseek(file, 0, os.SEEK_HOLE) > 0
    os.rename(M + "/document", M + "/other")
    print("whole")
finally:
    os.kill(server, signal.SIGKILL); libc.umount2(inner.encode(), 2); os.waitpid(server, 0)
