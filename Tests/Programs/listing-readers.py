# `exercise` reads a folder by several readers in pieces of random sizes; between two pieces names are made and removed, others
# list the folder, and the kernel's caches are reclaimed. It answers the readings that missed one of the stable names or saw it
# twice. `every_size` does the same by one reader for each size of pieces, from that of the largest entry to that of them all.
#
# Runs as the mount's user, in the mount, beside a process of root's.
import ctypes, os, random, struct, subprocess
libc = ctypes.CDLL(None, use_errno=True)
# The kernel's listings are kept in its page cache, which root alone may have reclaimed, whoever mounted.
asked, answered, user = os.pipe(), os.pipe(), os.stat(os.environ["S"])
if os.fork() == 0:
    os.close(asked[1])
    while os.read(asked[0], 1):
        with open("/proc/sys/vm/drop_caches", "w") as file: file.write("2")
        os.write(answered[1], b"!")
    os._exit(0)
os.set_inheritable(asked[1], False)
os.setgroups([]); os.setgid(user.st_gid); os.setuid(user.st_uid)
os.chdir(os.environ["M"])
def reclaim():
    os.write(asked[1], b"!")
    os.read(answered[0], 1)
class Reader:
    def __init__(self, path):
        self.file, self.names, self.ended = os.open(path, os.O_RDONLY | os.O_DIRECTORY), [], False
    def piece(self, size):
        buffer = ctypes.create_string_buffer(size)
        count = libc.syscall(217, self.file, buffer, size)  # getdents64
        if count < 0: raise OSError(ctypes.get_errno(), "getdents64")
        self.ended, place = count == 0, 0
        while place < count:
            length, = struct.unpack_from("H", buffer, place + 16)
            self.names.append(ctypes.string_at(ctypes.addressof(buffer) + place + 19).decode())
            place += length
    def rest(self, size=32768):
        while not self.ended: self.piece(size)
        os.close(self.file)
        return self.names
def whole(path): return Reader(path).rest()
def exercise(path, make, remove, stable, rounds):
    chance, serial, made, wrong = random.Random(7), 0, [], []
    for n in range(rounds):
        readers = [Reader(path) for _ in range(chance.choice([1, 1, 2, 3]))]
        size = chance.choice([280, 300, 512, 1000, 4096, 16384, 32768])
        while waiting := [reader for reader in readers if not reader.ended]:
            chance.choice(waiting).piece(size)
            what = chance.randrange(8 if size < 4096 else 4)
            if what == 0:
                serial += 1
                made.append("made%d" % serial)
                make(made[-1])
            elif what == 1 and made: remove(made.pop(chance.randrange(len(made))))
            elif what == 2: whole(path)
            elif what == 3 and chance.randrange(20) == 0: reclaim()
        for reader in readers:
            os.close(reader.file)
            missing = stable - set(reader.names)
            twice = {name for name in stable if reader.names.count(name) > 1}
            if missing or twice: wrong.append((n, size, sorted(missing)[:3], sorted(twice)[:3]))
    return wrong
# What the entries take in a piece.
def lengths(names): return [(19 + len(os.fsencode(name)) + 1 + 7) // 8 * 8 for name in names]
def every_size(path, make, remove, stable, reclaims=4):
    found, serial, steps, made, wrong = whole(path), 0, 0, [], []
    sizes = lengths(found)
    for size in range(max(sizes), sum(sizes) + 9, 8):
        reader = Reader(path)
        while not reader.ended:
            reader.piece(size)
            steps += 1
            what = steps % 5
            if what == 0:
                serial += 1
                made.append("m%d" % (serial % 100))
                make(made[-1])
            elif what == 1: whole(path)
            elif what == 3 and len(made) > 1: remove(made.pop(0))
        # Once for each size, in the middle of what is read anew.
        reader.names, reader.ended = [], False
        os.lseek(reader.file, 0, os.SEEK_SET)
        reader.piece(size)
        if size // 8 % reclaims == 0: reclaim()
        names = reader.rest(size)
        missing = stable - set(names)
        twice = {name for name in stable if names.count(name) > 1}
        if missing or twice: wrong.append((size, sorted(missing), sorted(twice)))
    for name in made: remove(name)
    return wrong
