# Forks workers, each of which goes through a round of calls again and again: by absolute paths, or in the working
# directory. Then ends the daemon, and prints what went wrong, if anything.
import errno, fcntl, os, signal, sys, time
from waiting import has_ended
M, T, daemon = os.environ["M"], os.environ["T"], int(sys.argv[1])
# ECANCELED: what the kernel answers when a request meets a ring whose thread has just left.
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ECANCELED}

def rounds(log, prefix, content, told):
    n = 0
    while not os.path.exists(T + "/stop"):
        n += 1
        name = prefix + str(n)
        fd = os.open(name + ".new", os.O_RDWR | os.O_CREAT, 0o644)
        os.write(fd, content)
        os.fsync(fd)
        os.write(log, b"%d\n" % n)  # from here on it must be in the store
        assert os.pread(fd, 100, 0) == content, "read back"
        os.close(fd)
        os.rename(name + ".new", name)
        with open(name, "rb") as file: assert file.read() == content, "read"
        os.listdir(os.path.dirname(name) or ".")
        if n % 3 == 0: os.unlink(prefix + str(n - 1)); os.write(log, b"-%d\n" % (n - 1))
        if n == 10: os.write(told, b"x")

def holder(log, told):
    fd = os.open("held", os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, b"kept")
    os.fsync(fd)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.write(told, b"x")
    while not os.path.exists(T + "/stop"): time.sleep(0.01)
    os.pwrite(fd, b"late", 4)

def waiter(log, told):
    while not os.path.exists("held"): time.sleep(0.01)
    fd = os.open("held", os.O_RDWR)
    time.sleep(0.3)
    os.write(told, b"x")
    fcntl.flock(fd, fcntl.LOCK_EX)

def start(name, body, *arguments):
    log = os.open(T + "/" + name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    pid = os.fork()
    if pid: return pid
    try:
        os.chdir(M + "/work")
        body(log, *arguments)
        os._exit(0)
    except OSError as error:
        # An absolute path leads to the folder beneath then: beside the store to an empty one, and in place rename(2)
        # may find one of its two folders in the mount and the other beneath.
        beneath = {errno.ENOENT, errno.EXDEV}
        fine = error.errno in GONE or error.errno in beneath and error.filename and error.filename[0] == "/"
        print(name, "ended by", errno.errorcode[error.errno], "at", error.filename, file=sys.stderr)
        os._exit(0 if fine else 1)
    except AssertionError as error:
        print(name, "differs:", error, file=sys.stderr)
        os._exit(1)

ready, told = os.pipe()
os.mkdir(M + "/work")
workers = {start("a%d" % n, rounds, M + "/work/a%d-" % n, b"absolute %d" % n, told): "a%d" % n for n in range(3)}
workers |= {start("r%d" % n, rounds, "r%d-" % n, b"relative %d" % n, told): "r%d" % n for n in range(3)}
workers[start("holder", holder, told)] = "holder"
workers[start("waiter", waiter, told)] = "waiter"
count = 0
while count < len(workers): count += len(os.read(ready, 100))

begun = time.monotonic()
os.kill(daemon, signal.SIGTERM)
def mounted():
    with open("/proc/self/mounts") as table: return any(line.split()[1] == M for line in table)
while mounted(): time.sleep(0.005)
# The file held open has it serve those who are inside for a second yet.
while not has_ended(daemon): time.sleep(0.005)
took = time.monotonic() - begun
if took < 0.9: print("the daemon ended after", took)
open(T + "/stop", "w").close()
while workers and time.monotonic() - begun < took + 60:
    pid, status = os.waitpid(-1, os.WNOHANG)
    if pid:
        if status: print(workers[pid], "ended with", status)
        del workers[pid]
    else: time.sleep(0.005)
for pid, name in workers.items():
    print(name, "hangs")
    os.kill(pid, signal.SIGKILL)

def stored(name, content):
    for place in (name, name + ".new"):
        try:
            with open(os.environ["S"] + "/work/" + place, "rb") as file: return file.read() == content
        except FileNotFoundError: pass
    return False
for kind, content in (("a", b"absolute %d"), ("r", b"relative %d")):
    for n in range(3):
        with open(T + "/%s%d" % (kind, n)) as log: numbers = [int(line) for line in log]
        for number in numbers:
            # The last round may have removed the file before it, and not have heard of it.
            if number < 0 or -number in numbers or number == max(numbers) - 1: continue
            if not stored("%s%d-%d" % (kind, n, number), content % n): print("lost", kind, n, number)
with open(os.environ["S"] + "/work/held", "rb") as file:
    if file.read()[:4] != b"kept": print("lost what was held")
