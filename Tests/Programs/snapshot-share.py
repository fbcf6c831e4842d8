# After users.py: what the daemon holds for snapshots, and a program that claims what it is told to.
daemon = json.loads(subprocess.check_output(["quire", "status", "--json", M]))["pid"]
def copies():
    "Owner and size of each file without a name that the daemon has open in the store, once."
    found = {}
    for name in os.listdir("/proc/%d/fd" % daemon):
        path = "/proc/%d/fd/%s" % (daemon, name)
        try:
            if "/#" in os.readlink(path):
                status = os.stat(path)
                found[status.st_ino] = (status.st_uid, status.st_size)
        except FileNotFoundError: pass
    return sorted(found.values())
def uses(uid):
    shares = json.loads(out(uid, "quire status --json ."))["shares"]
    return {share["resource"]: share["used"] for share in shares}
CLAIMING = """if 1:
    service = Service()
    while True:
        word = hear().split()
        if not word: break
        if word[0] == "release": service.call("Coordination.Release", claim=claims.pop()["claim"]); say("released")
        else:
            claims = globals().setdefault("claims", [])
            try:
                items = [{"path": M + "/" + path, "access": "reading"} for path in word]
                claims.append(service.call("Coordination.Claim", intents=items))
                say(claims[-1]["snapshots"][0])
            except RuntimeError as error: say(error)
    """
