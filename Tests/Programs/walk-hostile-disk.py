# Walks a file system that answers at random (HostileDisk), by all system calls. Fails when the mount's root answers no more.
import ctypes, fcntl, os, random, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
M = os.environ["M"]
random.seed(seed)
AT = -100
def statx(p, mask=0xfff):
    b = ctypes.create_string_buffer(256)
    libc.syscall(332, AT, os.fsencode(p), 0x100, mask, b)
def quiet(f, *a, **k):
    try: return f(*a, **k)
    except (OSError, ValueError, UnicodeError): return None
def listing(p):
    n = []
    try:
        fd = os.open(p, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK)
    except OSError: return n
    b = ctypes.create_string_buffer(8192)
    for _ in range(4):
        got = libc.syscall(217, fd, b, 8192)
        if got <= 0: break
        o = 0
        while o < got:
            l = struct.unpack_from("<H", b, o + 16)[0]
            n.append(ctypes.string_at(ctypes.addressof(b) + o + 19)); o += l
    os.close(fd)
    return [x for x in n if x not in (b".", b"..")]
def rw(p, flags):
    fd = os.open(p, flags | os.O_NONBLOCK)
    try:
        for _ in range(3):
            k = random.randrange(9)
            if k == 0: quiet(os.pread, fd, random.choice([10, 70000]), random.choice([0, 5, 1 << 40, (1 << 63) - 10]))
            elif k == 1: quiet(os.pwrite, fd, b"x" * random.choice([1, 5000]), random.choice([0, 77, 1 << 40]))
            elif k == 2: quiet(os.ftruncate, fd, random.choice([0, 9, 1 << 40]))
            elif k == 3: quiet(os.fsync, fd)
            elif k == 4: quiet(os.lseek, fd, random.choice([0, 1 << 50]), random.choice([0, 2, 3, 4]))
            elif k == 5: quiet(os.posix_fallocate, fd, 0, random.choice([10, 1 << 40]))
            elif k == 6: quiet(fcntl.lockf, fd, random.choice([fcntl.LOCK_SH, fcntl.LOCK_EX]) | fcntl.LOCK_NB)
            elif k == 7: quiet(os.fstat, fd)
            else: quiet(os.copy_file_range, fd, fd, 100, 0, 1000)
    finally: os.close(fd)
def step():
    # The roots are read now and then, for what is in them is made up each time.
    if not step.known or random.random() < .05:
        step.known = [root + b"/" + n for root in step.roots for n in listing(root)] or list(step.roots)
        random.shuffle(step.known); step.known = step.known[:80]
    p = random.choice(step.known)
    if random.random() < .3: p += b"/" + random.choice([b"f1", b"d2", b"g3", b"l0", b"p1"])
    q = random.choice(step.known)
    k = random.randrange(24)
    if k == 0: statx(p)
    elif k == 1: quiet(os.lstat, p)
    elif k == 2: quiet(listing, p)
    elif k == 3: quiet(rw, p, os.O_RDONLY)
    elif k == 4: quiet(rw, p, os.O_RDWR)
    elif k == 5: quiet(rw, p, os.O_WRONLY | os.O_TRUNC)
    elif k == 6: quiet(rw, p, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    elif k == 7: quiet(os.setxattr, p, "user.xdg.tags", random.choice([b"t", b"a,b", b"\xff", b""]))
    elif k == 8: quiet(os.getxattr, p, "user.xdg.tags"); quiet(os.listxattr, p)
    elif k == 9: quiet(os.rename, p, q)
    elif k == 10: quiet(os.link, p, q + b"x")
    elif k == 11: quiet(os.symlink, os.path.relpath(p, step.m + b"/.tags/t"), step.m + b"/.tags/t/%d" % random.randrange(9))
    elif k == 12: quiet(os.unlink, p)
    elif k == 13: quiet(os.mkdir, p + b"n")
    elif k == 14: quiet(os.utime, p, ns=(random.choice([0, -5, -10**9, 10**18]), random.choice([0, -5, 10**18])), follow_symlinks=False)
    elif k == 15: quiet(os.chmod, p, random.randrange(4096)); quiet(os.chown, p, 0, 0)
    elif k == 16: quiet(os.readlink, p)
    elif k == 17: quiet(os.truncate, p, random.choice([0, 5, 1 << 45]))
    elif k == 18: quiet(os.statvfs, p)
    elif k == 19:
        for v in (b"/.tags/t", b"/.recents", b"/.tags", b"/.thumbnails/normal/inner", b"/.previews/inner", b"/.thumbnails/large", b"/.search/inner", b"/.favorites"):
            for n in listing(step.m + v)[:6]: statx(step.m + v + b"/" + n)
    elif k == 20:
        rel = os.path.relpath(p, step.m)
        for s in (b"normal", b"large"):
            f = quiet(os.open, step.m + b"/.thumbnails/" + s + b"/" + rel, os.O_RDONLY | os.O_NONBLOCK)
            if f is not None: quiet(os.read, f, 100); os.close(f)
    elif k == 21: listing(step.m + b"/.previews/" + os.path.relpath(p, step.m))
    elif k == 22: statx(step.m + b"/.tags/t"); statx(p)
    else: quiet(os.rmdir, p)
# Claims, to read as to write: what is granted is the disk's to say, or that there is no snapshot of it. A file that has
# become a pipe keeps its reader.
def claim(*words):
    subprocess.run(["quire", "coordinate", "--timeout", "2", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
within = 'cd "$0" || exit 0; ls -R . | head -50; cat f* | head -c 9000; echo a >f1; echo b >new; mv g1 g2; rm -rf d1 f2; mkdir -m 700 d1 d3; rmdir d2; exit $(($$ % 2))'
look = 'ls -R "$QUIRE_SNAPSHOT" | head -50; find "$QUIRE_SNAPSHOT" -type f -print0 | head -z -n 9 | xargs -0 cat | head -c 9000'
step.m = os.fsencode(M); step.roots = [step.m + b"/inner" + x for x in (b"", b"/d1", b"/d2")]; step.known = []
end = time.monotonic() + seconds; n = 0
while time.monotonic() < end or n < 160:
    if n % 150 == 75:
        if n % 300 == 75: claim("--read", random.choice([step.m + b"/inner"] + step.known), "--read", M + "/document", "--", "timeout", "5", "sh", "-c", look)
        else: claim("--write", M + "/inner", "--", "timeout", "5", "sh", "-c", within, M + "/inner")
    step(); n += 1
    if n % 50 == 0:
        try: os.stat(M)
        except OSError as e: sys.exit("gone after %d steps: %s" % (n, e))
