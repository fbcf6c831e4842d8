# After service.py: several users on one mount, each of whom runs Python beside the others. `User(uid, program)` starts one, whose program has
# what service.py has; `tell(line)` has it go on from `hear()`, and `said()` is the next line that it printed. `sh(uid, script)` runs a shell
# script as a user and returns its status, `out(uid, script)` what a script printed that must succeed.
import errno, signal
from waiting import eventually
ALICE, BOB = 61001, 61002
def become(uid): return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", "--"]
def sh(uid, script, limit=60):
    return subprocess.run(become(uid) + ["bash", "-c", script], cwd=M, timeout=limit, capture_output=True, text=True)
def out(uid, script):
    result = sh(uid, script)
    assert result.returncode == 0, (script, result.returncode, result.stderr)
    return result.stdout
class User:
    def __init__(self, uid, program):
        beginning = SERVICE + "\ndef hear(): return sys.stdin.readline()\ndef say(*x): print(*x, flush=True)\n"
        self.process = subprocess.Popen(
            become(uid) + ["python3", "-c", beginning + program], cwd=M, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    def tell(self, line=""): self.process.stdin.write(line + "\n"); self.process.stdin.flush()
    def said(self):
        line = self.process.stdout.readline()
        assert line, "ended"
        return line.rstrip("\n")
    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        assert self.process.wait(30) == 0, rest
        return rest
