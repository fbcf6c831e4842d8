# Rounds of: work, kill -9, mount again, look. Prints what is wrong.
import errno, glob, json, os, random, signal, subprocess, sys, time
from waiting import has_ended
S, M, T = os.environ["S"], os.environ["M"], os.environ["T"]
rounds, victims, options, count = int(sys.argv[1]), sys.argv[2], sys.argv[3], 8
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ECANCELED, errno.ENODEV}

def text(n): return b"".join(b"%d line %d\n" % (n, line) for line in range(20 + n * 37 % 300)) + b"end %d\n" % n
def number(content):
    first = content.split(b" ", 1)[0]
    return int(first) if first.isdigit() and content == text(int(first)) else None
def quire(*words, check=True):
    result = subprocess.run(("quire",) + words, capture_output=True, text=True)
    if check and result.returncode: raise Exception(words, result.stderr)
    return result.stdout
# Where in the kernel each thread of a process waits.
def waits(pid):
    def read(name):
        try:
            with open(name) as file: return file.read()
        except OSError as error: return str(error)
    return "".join("%s: %s\n%s\n" % (task, read(task + "/stat")[:60], read(task + "/stack")) for task in glob.glob("/proc/%d/task/*" % pid))
def daemon(dead=None):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            if (pid := json.loads(quire("status", "--json", M))["pid"]) != dead: return pid
        except Exception: pass
        time.sleep(0.05)
    logs = [line for name in glob.glob(os.environ["QUIRE_STATE_HOME"] + "/*/log") for line in open(name).readlines()[-10:]]
    raise Exception("no daemon answers; the dead one: %s; the log: %s" % (waits(dead) if dead else "", "".join(logs)))
def children(pid, name):
    result = subprocess.run(("pgrep", "-P", str(pid), "-x", name), capture_output=True, text=True)
    return [int(line) for line in result.stdout.split()]
def wait(condition, seconds):
    end = time.monotonic() + seconds
    while not (done := condition()) and time.monotonic() < end: time.sleep(0.01)
    return done

def write(fd, content):
    while content: content = content[os.write(fd, content):]
def truncating(name, n):
    fd = os.open(name, os.O_WRONLY | os.O_TRUNC)
    try: write(fd, text(n))
    except OSError:
        try: os.close(fd)
        except OSError: pass
        raise
    os.close(fd)
def renaming(name, n):
    fd = os.open(name + ".new", os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
    try: write(fd, text(n))
    finally: os.close(fd)
    os.rename(name + ".new", name)

def saver(log, style, name, n):
    while not os.path.exists(T + "/stop"):
        n += 1
        style(name, n)
        os.write(log, b"%d\n" % n)
def reader(log, names):
    while not os.path.exists(T + "/stop"):
        for name in names:
            with open(name, "rb") as file:
                if (content := file.read()) and number(content) is None: raise Exception("torn: %s %r" % (name, content[:40]))
            os.listdir(".")
        if random.random() < 0.3:
            for name in names: os.stat(name)
def claims(log, names):
    n = 0
    while not os.path.exists(T + "/stop"):
        n += 1
        program = "import os\nfor f in %r: open(f,'w').write('%d')" % (names, n)
        done = subprocess.run(("quire", "coordinate", "--timeout", "5") + tuple(x for f in names for x in ("--write", f)) + ("--", sys.executable, "-c", program),
            capture_output=True)
        if done.returncode: return

def start(name, body, *arguments):
    log = os.open(T + "/log-" + name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    pid = os.fork()
    if pid:
        os.close(log)
        return pid
    try:
        # In the mount that dies: the way through the mount point leads to the folder beneath for a moment, or to the next.
        os.chdir(M)
        body(log, *arguments)
        os._exit(0)
    except OSError as error:
        if error.errno not in GONE: print(name, "ended by", error, flush=True)
        os._exit(0 if error.errno in GONE else 1)
    except Exception as error:
        print(name, error, flush=True)
        os._exit(1)

docs = ["d%d" % n for n in range(count)]
versions = {name: 1 for name in docs}
for name in docs: truncating(M + "/" + name, 1)
bad = 0
for r in range(rounds):
    if os.path.exists(T + "/stop"): os.unlink(T + "/stop")
    pid = daemon()
    workers = {}
    for i, name in enumerate(docs):
        workers[start(name, saver, truncating if i % 2 else renaming, name, versions[name])] = name
    for i in range(2): workers[start("reader%d" % i, reader, docs)] = "reader"
    workers[start("claims", claims, [M + "/g1", M + "/g2"])] = "claims"
    time.sleep(random.uniform(0.15, 0.6))
    guards = children(pid, "quire-guard") if victims == "both" else []
    if victims == "both" and not guards: bad += 1; print("round", r, "there is no guard", flush=True)
    for dead in guards + [pid]: os.kill(dead, signal.SIGKILL)
    def ended():
        try: return has_ended(pid) and len(os.listdir("/proc/%d/task" % pid)) == 1
        except FileNotFoundError: return True
    # A hang has no end; a thread may wait for the disk.
    gone = wait(ended, 60)
    open(T + "/stop", "w").close()
    end = time.monotonic() + 180
    while workers and time.monotonic() < end:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child: time.sleep(0.005); continue
        if status: bad += 1; print("round", r, workers[child], "ended with", status, flush=True)
        workers.pop(child, None)
    if workers or not gone:
        print("round", r, "hangs:", list(workers.values()), "daemon ended:", gone, waits(pid), flush=True)
        sys.exit(1)
    if victims == "restarted":
        daemon(dead=pid)
        # Else three of them would be too many.
        for folder in os.listdir(os.environ["QUIRE_STATE_HOME"]):
            deaths = os.environ["QUIRE_STATE_HOME"] + "/" + folder + "/deaths"
            if os.path.exists(deaths): os.unlink(deaths)
    else:
        quire("mount", S, M, "-o", options)
    for name in docs:
        with open(T + "/log-" + name) as log: numbers = [int(line) for line in log.read().split()]
        with open(M + "/" + name, "rb") as file: found = number(file.read())
        last = max(numbers, default=versions[name])
        if found is None or not last <= found <= last + 1:
            bad += 1
            print("round", r, name, "is", found, "was saved", last, "truncating" if int(name[1:]) % 2 else "renaming", flush=True)
        versions[name] = max(found or last, last)
sys.exit(1 if bad else 0)
