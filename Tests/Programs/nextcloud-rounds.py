# After nextcloud-server.py: saves on both sides, with a reader of the mount beside them.
document, size, torn, reads, isOver = folder + "/doc.txt", 2_000_000, 0, 0, False
def content(path):
    with open(path, "rb") as file: return file.read()
def version(number): return bytes([65 + number]) * size
def change(number):
    with open(scratch + "/new", "wb") as file: file.write(version(number))
    os.rename(scratch + "/new", served + "/doc.txt")
def synchronize():
    subprocess.run(["nextcloudcmd", "--non-interactive", "-u", "user", "-p", "pass", "--path", "/", folder,
                    "http://127.0.0.1:%d" % server.bind_addr[1]], check=True, capture_output=True, timeout=120)
def read():
    global torn, reads
    while not isOver:
        try: found = content(document)
        except FileNotFoundError: continue
        reads += 1
        if len(found) != size or len(set(found)) != 1: torn += 1
change(0); synchronize()
os.setxattr(document, "user.xdg.tags", b"kept")
reader = threading.Thread(target=read); reader.start()
received = sent = kept = 0
for number in range(1, 6):
    change(number); synchronize()
    received += content(document) == version(number)
    kept += "user.xdg.tags" in os.listxattr(document)
print("received: %d of 5, kept: %d" % (received, kept)); kept = 0
for number in range(6, 9):
    time.sleep(1.1)  # The client goes by size and time in seconds.
    # By another program: one sees its own half of a save.
    subprocess.run(["head", "-c", str(size), "/dev/zero"], stdout=open(scratch + "/zeros", "wb"), check=True)
    subprocess.run("tr '\\0' '%c' <'%s/zeros' >'%s'" % (65 + number, scratch, document), shell=True, check=True)
    synchronize()
    sent += content(served + "/doc.txt") == version(number)
    kept += "user.xdg.tags" in os.listxattr(document)
print("sent: %d of 3, kept: %d" % (sent, kept))
alive = reader.is_alive(); isOver = True; reader.join()
print("torn:", torn if alive and reads > 8 else "too few reads, %d" % reads)
print("left:", [name for name in os.listdir(folder) if name != "doc.txt" and not name.startswith(".sync_")])
sys.stdout.flush(); os._exit(0)
