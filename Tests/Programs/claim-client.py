# A client of the service, whose own process holds the documents open. `Claim` gives the paths of the snapshots.
import json, mmap, os, socket, subprocess, sys

def call(link, method, **parameters):
    link.sendall(json.dumps({"method": method, "parameters": parameters}).encode() + b"\0")
    data = b""
    while not data.endswith(b"\0"):
        part = link.recv(65536)
        assert part, "disconnected"
        data += part
    return json.loads(data[:-1])

# By another process: what one's own processes write is not waited for.
helper = '''
import json, socket, sys
link = socket.socket(socket.AF_UNIX); link.connect(sys.argv[1])
link.sendall(sys.argv[2].encode() + b"\\0")
data = b""
while not data.endswith(b"\\0"): data += link.recv(65536)
print(data[:-1].decode(), flush=True)
sys.stdin.read()
'''

class Claim:
    def __init__(self, *names, option=None):
        intents = [{"path": os.path.abspath(n), "access": "reading", **({"options": [option]} if option else {})} for n in names]
        self.call = json.dumps({"method": "org.quire.Coordination.Claim", "parameters": {"intents": intents, "timeout": 8}})
    def __enter__(self):
        path = os.getxattr(".", "user.quire.socket").rstrip(b"\0").decode()
        self.process = subprocess.Popen(
            [sys.executable, "-c", helper, path, self.call], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reply = json.loads(self.process.stdout.readline())
        if "error" in self.reply: self.__exit__(); raise RuntimeError(json.dumps(self.reply))
        return self.reply["parameters"]["snapshots"]
    def __exit__(self, *_):
        self.process.stdin.close(); self.process.wait(); self.process.stdout.close()

def content(path, count=-1):
    with open(path, "rb") as f: return f.read(count)

def refusal(name):
    try:
        with Claim(name): return "granted"
    except RuntimeError as error: return str(error)
