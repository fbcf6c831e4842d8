# Makes each kind of change and prints those the mount does not come to show; what it showed before is looked at first, so
# that the kernel has something to forget. How soon they show the benchmarks measure.
import os, shutil, time
S, M = os.environ["S"], os.environ["M"]
def change(what, make, shows):
    shows()
    make()
    end = time.monotonic() + 180
    while not shows():
        if time.monotonic() > end: return print(what, "does not show")
        time.sleep(0.001)
def text(path):
    try:
        with open(path) as file: return file.read()
    except FileNotFoundError: return None
def write(path, content, mode="w"):
    with open(path, mode) as file: file.write(content)
for n in range(10):
    name, other = "/file%d" % n, "/d/moved%d" % n
    change("creating", lambda: write(S + name, "one"), lambda: text(M + name) == "one")
    change("listing", lambda: write(S + name + ".b", ""), lambda: name[1:] + ".b" in os.listdir(M))
    change("writing", lambda: write(S + name, "two two"), lambda: text(M + name) == "two two")
    change("size", lambda: write(S + name, "!", "a"), lambda: os.stat(M + name).st_size == 8)
    change("same size", lambda: write(S + name, "TWO TWO!"), lambda: text(M + name) == "TWO TWO!")
    change("truncating", lambda: os.truncate(S + name, 3), lambda: text(M + name) == "TWO")
    change("mode", lambda: os.chmod(S + name, 0o600), lambda: os.stat(M + name).st_mode & 0o777 == 0o600)
    with open(M + name, "a"):
        change("mode under a writer", lambda: os.chmod(S + name, 0o640),
               lambda: os.stat(M + name).st_mode & 0o777 == 0o640)
    change("times", lambda: os.utime(S + name, (5, 5)), lambda: os.stat(M + name).st_mtime == 5)
    change("attribute", lambda: os.setxattr(S + name, "user.x", b"y"),
           lambda: "user.x" in os.listxattr(M + name))
    change("linking", lambda: os.link(S + name, S + name + ".l"), lambda: os.path.exists(M + name + ".l"))
    change("link count", lambda: os.unlink(S + name + ".l"), lambda: os.stat(M + name).st_nlink == 1)
    change("moving", lambda: os.rename(S + name, S + other),
           lambda: text(M + other) == "TWO" and not os.path.exists(M + name))
    change("replacing", lambda: (write(S + name, "new"), os.rename(S + name, S + other)),
           lambda: text(M + other) == "new")
    change("removing", lambda: os.unlink(S + other), lambda: not os.path.lexists(M + other))
    change("symlink", lambda: os.symlink("nowhere", S + other), lambda: os.path.islink(M + other))
    change("folder", lambda: os.makedirs(S + "/f%d/g/h" % n), lambda: os.path.isdir(M + "/f%d/g/h" % n))
    time.sleep(0.02)
    change("in a new folder", lambda: write(S + "/f%d/g/h/x" % n, "x"), lambda: text(M + "/f%d/g/h/x" % n) == "x")
    change("moving a folder", lambda: os.rename(S + "/f%d" % n, S + "/d/f%d" % n),
           lambda: text(M + "/d/f%d/g/h/x" % n) == "x" and not os.path.exists(M + "/f%d" % n))
    change("in a moved folder", lambda: write(S + "/d/f%d/g/h/x" % n, "yy"),
           lambda: text(M + "/d/f%d/g/h/x" % n) == "yy")
    change("removing a tree", lambda: shutil.rmtree(S + "/d/f%d" % n), lambda: not os.path.exists(M + "/d/f%d" % n))
