# Two Syncthings, one of them on the mount, hand saves to each other.
import os, re, signal, socket, subprocess, time
from waiting import eventually
mount, scratch = os.environ["M"], os.environ["T"]
folders = {"here": mount + "/synced", "there": scratch + "/there"}
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
def syncthing(name, *words): return ["syncthing", *words, "--home", scratch + "/" + name + "-home"]
ports, devices = {name: port() for name in folders}, {}
for name, folder in folders.items():
    os.mkdir(folder)
    subprocess.run(syncthing(name, "generate", "--no-default-folder"), check=True, capture_output=True)
    devices[name] = subprocess.run(syncthing(name, "--device-id"), check=True, capture_output=True, text=True).stdout.strip()
def setting(text, name, value): return re.sub("<%s>[^<]*</%s>" % (name, name), "<%s>%s</%s>" % (name, value, name), text)
for name, folder in folders.items():
    place = scratch + "/" + name + "-home/config.xml"
    text = open(place).read()
    for option in ["globalAnnounceEnabled", "localAnnounceEnabled", "relaysEnabled", "natEnabled", "crashReportingEnabled"]:
        text = setting(text, option, "false")
    text = setting(text, "listenAddress", "tcp://127.0.0.1:%d" % ports[name])
    text = setting(setting(text, "urAccepted", "-1"), "address", "127.0.0.1:%d" % port())
    other = next(other for other in folders if other != name)
    text = text.replace("</configuration>", """
        <folder id="f" path="%s" rescanIntervalS="1" fsWatcherEnabled="true" fsWatcherDelayS="1">
            <device id="%s"></device><device id="%s"></device>
        </folder>
        <device id="%s"><address>tcp://127.0.0.1:%d</address></device>
        </configuration>
        """ % (folder, *devices.values(), devices[other], ports[other]))
    open(place, "w").write(text)
def content(name):
    try: return open(folders[name] + "/doc").read().strip()
    except FileNotFoundError: return None
def until(name, expected):
    eventually(lambda: content(name) == expected, lambda: content(name))
    return expected
def save(name, text):
    with open(folders[name] + "/doc", "w") as file: file.write(text + "\n")
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": {**os.environ, "STNOUPGRADE": "1"}}
started = [subprocess.Popen(syncthing(name, "serve", "--no-browser"), **quiet) for name in folders]
try:
    save("there", "first"); print("received:", until("here", "first"))
    os.setxattr(folders["here"] + "/doc", "user.xdg.tags", b"kept")
    save("there", "second"); print("received:", until("here", "second"))
    print(os.getxattr(folders["here"] + "/doc", "user.xdg.tags").decode())
    save("here", "third"); print("sent:", until("there", "third"))
    os.remove(folders["there"] + "/doc"); until("here", None); print("removed" if content("here") is None else "left")
finally:
    for process in started: process.terminate()
    for process in started: process.wait(60)
