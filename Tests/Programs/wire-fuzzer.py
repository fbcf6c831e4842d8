# Calls of each method that the service describes, with parameters of any kind, whole and damaged, by connections that
# end at any moment. The arguments: a seed, and how many connections.
import json, os, random, re, socket, sys
rand = random.Random(int(sys.argv[1]))
M = os.getcwd()
where = os.getxattr(M, "user.quire.socket").decode()
def connect():
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(10)
    peer.connect(where)
    return peer
def call(method, **parameters):
    with connect() as peer:
        peer.sendall(json.dumps({"method": method, "parameters": parameters}).encode() + b"\0")
        reply = b""
        while not reply.endswith(b"\0"): reply += peer.recv(65536)
        return json.loads(reply[:-1])["parameters"]
methods, words = [], ["kind", "options", "access", "path"]
for interface in call("org.varlink.service.GetInfo")["interfaces"]:
    text = call("org.varlink.service.GetInterfaceDescription", interface=interface)["description"]
    for name, parameters in re.findall(r"method (\w+)\(([^)]*)\)", text):
        methods.append((interface + "." + name, re.findall(r"(\w+): \??(?:\[\])?(\w+)", parameters)))
assert len(methods) > 15, methods
plain = ["reading", "writing", "live", "moving", "replacing", "deleting", "immediately", "metadataOnly", "changed", "",
    M, M + "/doc", M + "/folder", M + "/folder/inner", M + "/none", "/", "/etc/passwd", M + "/../..", "doc", "file:///%ff",
    M + "/.recents", M + "/.tags", M + "/" + "x" * 5000, "\ud83d\ude00", "\u0000", "a/" * 3000, "org.quire.Mount"]
numbers = [0, 1, 2, -1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, -2**63, 1e308, -0.0, 0.001, 0.5, 1e-320]
sessions, seen = [], []
def value(depth=0):
    kind = rand.randrange(9 if depth < 4 else 6)
    if kind < 3: return rand.choice(plain + sessions[-3:])
    if kind < 5: return rand.choice(numbers)
    if kind < 6: return rand.choice([None, True, False])
    if kind < 8: return [value(depth + 1) for _ in range(rand.randrange(4))]
    return {rand.choice(words): value(depth + 1) for _ in range(rand.randrange(4))}
def fitting(name, kind):
    if rand.random() < 0.1: return value()
    if kind == "Intent":
        return [{"path": rand.choice(plain[11:15]), **rand.choice([
            {"access": "reading", "options": rand.sample(["immediately", "withoutChanges", "live"], rand.randrange(3))},
            {"access": "writing", "options": rand.sample(["moving", "replacing", "deleting", "merging"], rand.randrange(3))},
            {"access": "writing"}])} for _ in range(rand.randrange(1, 4))]
    if name == "session": return rand.choice(sessions or [""])
    if name == "kinds": return rand.sample(["appeared", "changed", "moved", "deleted"], rand.randrange(4))
    if kind == "bool": return rand.random() < 0.5
    if kind == "float": return rand.choice([0, 0.001, 0.01, 0.1, 86400, 1e9, -1])
    if kind == "int": return rand.choice(seen[-9:] if seen and rand.random() < 0.8 else numbers)
    return rand.choice(plain[11:16] if rand.random() < 0.5 else plain)
def message():
    method, names = rand.choice(methods)
    text = json.dumps({"method": method, "parameters": {name: fitting(name, kind) for name, kind in names if rand.random() < (0.3 if name == "within" else 0.9)},
        **({"more": True} if rand.random() < 0.5 else {}), **({"oneway": True} if rand.random() < 0.1 else {})})
    data = bytearray(text.encode())
    if rand.random() < 0.2:
        for _ in range(rand.randrange(1, 6)):
            place = rand.randrange(len(data))
            how = rand.randrange(4)
            if how == 0: data[place] = rand.randrange(256)
            elif how == 1: del data[place:place + rand.randrange(9)]
            elif how == 2: data[place:place] = rand.choice([b"[" * 3000, b"\\", b'"', b"{", b"\0", b"\xff\xfe", b"9" * 400])
            else: data[place:place] = data[max(0, place - 30):place]
            if not data: break
    return bytes(data) + b"\0"
peers = []
for _ in range(int(sys.argv[2])):
    if peers and rand.random() < 0.3: peer = peers.pop(rand.randrange(len(peers)))
    else: peer = connect()
    try:
        for _ in range(rand.randrange(1, 12)):
            # The daemon reads a connection's next call when it has answered the last one, which may wait for others.
            peer.settimeout(10)
            peer.sendall(message())
            if rand.random() < 0.6:
                peer.settimeout(0.02)
                try: reply = peer.recv(65536)
                except TimeoutError: continue
                seen += map(int, re.findall(rb'"(?:claim|presenter|id|seq)":([0-9]+)', reply))
                sessions += [found.decode() for found in re.findall(rb'"session":"([^"]+)"', reply)]
    except (BrokenPipeError, ConnectionResetError, TimeoutError): pass
    if len(peers) < 30 and rand.random() < 0.5: peers.append(peer)
    else: peer.close()
