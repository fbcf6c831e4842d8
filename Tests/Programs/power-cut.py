# Saves on a recorded disk, cuts the record off at `points` of its writes, mounts what is left, and prints what is wrong with it.
import os, random, subprocess, time
def path(name): return os.environ["T"] + "/" + name
def run(*words, **more): return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout
def quire(*words): return run("quire", *words, env={**os.environ, "QUIRE_STATE_HOME": path("disk/state")})
def start(*words): return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def unmount(name):
    for _ in range(200):
        if subprocess.run(["umount", path(name)], capture_output=True).returncode == 0: return
        time.sleep(0.01)
    raise Exception(name + " stays busy")
def text(n): return b"".join(b"%d line %d\n" % (n, line) for line in range(300 + n * 37 % 2000)) + b"end %d\n" % n
def number(content):
    first = content.split(b" ", 1)[0]
    return int(first) if first.isdigit() and content == text(int(first)) else None
def contents(name):
    with open(path(name), "rb") as file: return file.read()

def prepare():
    for name in ["disk", "mnt", "recorder"]: os.mkdir(path(name))
    with open(path("base.img"), "wb") as image: image.truncate(640 << 20)
    run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-J", "size=16", "-N", "65536",
        path("base.img"))
    run("mount", "-o", "loop", path("base.img"), path("disk"))
    for name in ["store", "state"]: os.mkdir(path("disk/" + name))
    for name in ["a", "b"]: run("SaveExerciser", "version", path("disk/store/" + name))
    for name in ["c", "stream"]:
        with open(path("disk/store/" + name), "wb") as file: file.write(text(0))
    unmount("disk")
    run("cp", "--sparse=always", path("base.img"), path("now.img"))

# Returns what was promised: the number of records, and the version that is safe when these are on disk.
def work():
    recorder = start("DiskRecorder", path("now.img"), path("record"), path("recorder"))
    while not os.path.exists(path("recorder/disk")): time.sleep(0.01)
    device = run("losetup", "-f", "--show", path("recorder/disk")).strip()
    run("mount", device, path("disk"))
    # For when it is unmounted.
    run("losetup", "-d", device)
    options = "redirected-pause=0.2,redirected-open=0.5" + (",sync-saves" if kind == "durable" else "")
    quire("mount", path("disk/store"), path("mnt"), "-o", options)
    savers = [start("SaveExerciser", "loop", path("mnt/" + name), "131072", "300") for name in "aab"]
    lines = "n=1; while :; do echo line $n; n=$((n + 1)); sleep 0.1; done >"
    savers.append(start("sh", "-c", lines + path("mnt/stream")))
    # Other files' syncs have the journal committed, with no more of the documents than it must.
    other, promised, n, limit = os.open(path("disk/other"), os.O_WRONLY | os.O_CREAT), [], 0, time.monotonic() + 2.5
    while time.monotonic() < limit:
        n += 1
        file = os.open(path("mnt/c"), os.O_WRONLY | os.O_TRUNC)
        for place in range(0, len(text(n)), 9000): os.write(file, text(n)[place:place + 9000])
        if kind == "synced": os.fsync(file)
        os.close(file)
        if kind != "closed":
            with open(path("recorder/position")) as position: promised.append((int(position.read()), n))
        elif n % 5 == 0: os.pwrite(other, b"%d" % n, 0); os.fsync(other)
    os.close(other)
    for line in quire("status", "--json", path("mnt")).splitlines():
        if '"live.' in line and "stream" not in line and "outlived" not in line: print("not a transaction:", line)
    for saver in savers: saver.kill(); saver.wait()
    quire("unmount", path("mnt")); unmount("disk"); unmount("recorder"); recorder.wait()
    return promised

def recorded():
    with open(path("record"), "rb") as record:
        while head := record.read(16):
            offset, length = int.from_bytes(head[:8], "little"), int.from_bytes(head[8:], "little")
            yield None if offset == 2 ** 64 - 1 else (offset, record.read(length))

def write(image, offset, data): image.seek(offset); image.write(data)

# What is wrong with the image now.img.
def check(least):
    run("mount", "-o", "loop", path("now.img"), path("disk"))
    quire("mount", path("disk/store"), path("mnt"))
    torn = run("SaveExerciser", "check", path("mnt/a"), path("mnt/b"))
    if torn: print(torn)
    n, stream = number(contents("mnt/c")), contents("mnt/stream")
    if n is None or n < least: print("c is", n, "and", least, "was promised")
    # What is written in place once it is a stream is as on any file system: the last of it may be zeros.
    lines = b"".join(b"line %d\n" % n for n in range(1, 1000))
    if number(stream) is None and not (stream and lines.startswith(stream.rstrip(b"\0"))): print("stream:", stream[:99])
    for _ in range(200):
        hidden = run("find", path("disk/store"), "-name", ".quire-*")
        if not hidden: break
        time.sleep(0.02)
    else: print(hidden)
    quire("unmount", path("mnt")); unmount("disk")
    return n

try:
    prepare()
    promised = work()
    records, flushed, seen = list(recorded()), 0, set()
    with open(path("base.img"), "r+b") as base:
        for point in sorted(random.sample(range(len(records)), points)):
            last = max((n for n in range(flushed, point) if records[n] is None), default=flushed)
            for record in records[flushed:last]:
                if record: write(base, *record)
            base.flush()
            flushed = last
            run("cp", "--sparse=always", path("base.img"), path("now.img"))
            share = random.choice([0, 0.2, 0.5, 0.8, 1])
            with open(path("now.img"), "r+b") as image:
                for offset, data in filter(None, records[last:point]):
                    for place in range(0, len(data), 4096):
                        if random.random() < share: write(image, offset + place, data[place:place + 4096])
            seen.add(check(max((n for position, n in promised if position <= last), default=0)))
    if len(seen) < 3: print("hardly anything was seen:", seen)
finally:
    for name in ["mnt", "disk", "recorder"]: subprocess.run(["umount", "-l", path(name)], capture_output=True)
