# Rounds of: mount, use, end the daemon, damage what it keeps on disk. Fails with what is wrong. `seed` and `rounds` are set before.
import glob, os, random, shutil, signal, subprocess, sys, time
random.seed(seed)
S, M, T = os.environ["S"], os.environ["M"], os.environ["T"]
state, cache = os.environ["QUIRE_STATE_HOME"], os.environ["QUIRE_CACHE_HOME"]
def wrong(*words): sys.exit("seed %d, round %d: %s" % (seed, number, " ".join(map(str, words))))
def quire(*words, limit=60):
    # A daemon has what its starter has open: no pipes.
    with open(T + "/out", "w+") as out:
        try: code = subprocess.run(["quire", *words], stdout=out, stderr=out, stdin=subprocess.DEVNULL, timeout=limit).returncode
        except subprocess.TimeoutExpired: wrong("quire", *words, "did not end")
        out.seek(0)
        return code, out.read()
def files(folder):
    return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name not in ("log", "lock")]
def use():
    for n in range(1, 41):
        with open(M + "/notes/d%d" % n) as file:
            if file.read() != "document %d\n" % n: wrong("d%d is another" % n)
    for place in (".recents", ".tags", ".tags/t", ".thumbnails", ".search/t", ".favorites", ".quire-snapshots"):
        try:
            for entry in os.scandir(M + "/" + place): entry.stat(follow_symlinks=False)
        except OSError: pass
    # A save that is killed is kept, one that ends is published.
    with open(M + "/notes/other", "w") as file: file.write("x" * 5000)
    saver = subprocess.Popen(["bash", "-c", "exec 3> \"$M/notes/other\"; echo half >&3; kill -9 $$"])
    saver.wait()
    quire("status", M); quire("recover", M); quire("recents", M); quire("tag", "list", M)
def damage(path):
    if not os.path.isfile(path): return os.remove(path)
    size = os.path.getsize(path)
    kind = random.randrange(8)
    if kind == 0: return os.remove(path)
    if kind == 7 and (path.endswith(".about") or path.endswith("/intents")):
        os.remove(path); return os.mkfifo(path)
    with open(path, "r+b") as file:
        if kind == 1: return file.truncate(random.randrange(size + 1))
        if kind == 2: file.seek(0, 2); return file.write(os.urandom(random.randrange(1, 5000)))
        for _ in range(random.choice([1, 1, 10, 200])):
            at = random.randrange(max(1, size))
            # What is at the beginning decides most.
            if random.random() < 0.3: at = min(at, random.randrange(1, 200))
            file.seek(at)
            if kind == 3: file.write(bytes([random.choice([0, 0x7f, 0x80, 0xff])]) * random.choice([1, 4, 8]))
            elif kind == 4: file.write(os.urandom(random.choice([1, 8, 100])))
            else:
                byte = file.read(1) or b"\0"
                file.seek(at); file.write(bytes([byte[0] ^ 1 << random.randrange(8)]))
# Lines whose checksums are right, and whose numbers are not those of any file.
def record(*fields):
    total = 0xcbf29ce484222325
    for field in fields:
        for byte in field: total = (total ^ byte) * 0x100000001b3 % 2 ** 64
        total = (total ^ 0x20) * 0x100000001b3 % 2 ** 64
    return b" ".join(fields) + b" %x\n" % total
def forge(folder):
    big = [b"0", b"1", b"-1", b"9223372036854775807", b"-9223372036854775808", b"18446744073709551615", b"4294967295", b"x", b""]
    name = [b"", b"notes/d1", b"/", b"a//b", b"%00", b"../x", b"notes/", b"."]
    for path in [folder + "/intents"] + glob.glob(folder + "/kept/*.about"):
        if not os.path.isfile(path) and os.path.exists(path): os.remove(path)
    with open(folder + "/intents", "ab") as log:
        for _ in range(5):
            number = random.choice(big)
            log.write(record(b"begin", *random.choices(big, k=7), random.choice(name), random.choice(name), random.choice(name)))
            log.write(record(b"begin", number, b"5", b"5", *random.choices(big, k=4), b"notes", b"d1", b".quire-save-1-1-1-1-p"))
            log.write(record(b"item", number, *random.choices(big, k=8), random.choice(name), random.choice(name), random.choice(name)))
            log.write(record(b"group", number, random.choice(big)))
            log.write(record(b"until", *random.choices(big, k=2)))
    kept = folder + "/kept"
    if os.path.isdir(kept):
        for _ in range(5):
            number = random.choice(big)
            words = [b"kept", number, *random.choices(big, k=4), random.choice([b"killed", b"removed"]), random.choice(big), *random.choices(big, k=2), random.choice(name)]
            if random.random() < 0.5: words += [random.choice(big), random.choice(big), b"a"]
            with open(kept.encode() + b"/" + number + b".about", "wb") as about: about.write(record(*words))
            if number: open(kept.encode() + b"/" + number, "wb").close()
# Values of other kinds than the columns have, in a database that is whole.
def misuse(folder):
    import sqlite3
    try:
        with sqlite3.connect(folder + "/index.sqlite", timeout=5) as database:
            for _ in range(8):
                table, column = random.choice([("document", c) for c in ("folder", "name", "owner", "size", "mtime", "generation", "inode", "birth", "tags", "departed", "handle")]
                    + [("folder", "parent"), ("folder", "name"), ("share", "bytes"), ("share", "tags"), ("recent", "used"), ("recent", "written"), ("tag", "name"), ("tag_keeper", "uid"), ("tag_removal_batch", "last"), ("sqlite_sequence", "seq"), ("document_tag", "mtime")])
                value = random.choice(["text", b"\xff\0//..", 2 ** 63 - 1, -2 ** 63, 1.5e300, b"", "", 0, b"/", b"a" * 5000])
                try: database.execute("UPDATE OR IGNORE %s SET %s = ? WHERE rowid %% 3 = ?" % (table, column), (value, random.randrange(3)))
                except sqlite3.Error: pass
        database.close()
    except sqlite3.Error: pass
number = -1
for number in range(rounds):
    code, text = quire("mount", "-o", "restart=off", S, M)
    if code == 0:
        use()
        if random.random() < 0.3:
            # As a crash leaves it.
            pid = next((int(word) for line in quire("status", "--json", M)[1].splitlines() if '"pid"' in line for word in line.replace(",", "").split() if word.isdigit()), None)
            if pid: os.kill(pid, signal.SIGKILL); time.sleep(0.3)
        code, text = quire("unmount", M)
        if os.path.ismount(M): wrong("still mounted:", text)
        for log in [os.path.join(at, "log") for at, _, names in os.walk(state) if "log" in names]:
            with open(log, errors="replace") as file: text = file.read()
            # The kill of the test's own is signal 9.
            deaths = [line for line in text.splitlines() if "the daemon of this mount died" in line and "signal 9 " not in line]
            if deaths: wrong("the daemon died:", deaths, text[-2000:])
    elif "quire" not in text or "crash" in text.lower(): wrong("mount said", text)
    else:
        # What is refused is refused for a reason; the state is set aside, as its message says, and all goes on.
        for entry in list(os.scandir(state)): (shutil.rmtree if entry.is_dir(follow_symlinks=False) else os.remove)(entry.path)
    for folder in [at for at, _, names in os.walk(state) if "lock" in names]:
        what = random.randrange(4)
        if what == 0: forge(folder)
        elif what == 1: misuse(folder)
        else:
            for path in random.sample(files(folder), k=min(len(files(folder)), random.randrange(1, 4))): damage(path)
    found = files(cache)
    if found: damage(random.choice(found))
    for n in range(1, 41):
        with open(S + "/notes/d%d" % n) as file:
            if file.read() != "document %d\n" % n: wrong("d%d was changed in the store" % n)
