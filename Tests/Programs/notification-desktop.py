# On a screen (Fixture/Screen.swift): a session bus, a notification service whose buttons can be used, and a viewer.
from waiting import eventually
document, viewed, button = mount + "/doc.txt", scratch + "/viewed", scratch + "/button"
def content():
    with open(document) as file: return file.read()
def script(name, text):
    with open(scratch + "/" + name, "w") as file: file.write("#!/bin/sh\n" + text + "\n")
    os.chmod(scratch + "/" + name, 0o755)
    return scratch + "/" + name
# dunst asks by a menu, which gets the buttons as lines and prints the one that the user has chosen.
with open(scratch + "/dunstrc", "w") as file:
    file.write("[global]\n    dmenu = " + script("menu", f'grep -m 1 "$(cat {button})"') + "\n")
viewer = script("viewer", f'head -c 5 "$1" >{viewed}.new; stat -c " %a" "$1" >>{viewed}.new; mv {viewed}.new {viewed}')
os.makedirs(scratch + "/applications")
with open(scratch + "/applications/viewer.desktop", "w") as file:
    file.write(f"[Desktop Entry]\nType=Application\nName=Viewer\nExec={viewer} %f\nMimeType=text/plain\n")
with open(scratch + "/mimeapps.list", "w") as file: file.write("[Default Applications]\ntext/plain=viewer.desktop\n")
bus = subprocess.Popen(["dbus-daemon", "--session", "--print-address", "--nofork"], env=screen, stdout=subprocess.PIPE, text=True)
screen["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
dunst = run("dunst", "-conf", scratch + "/dunstrc")
def notifications():
    shown = subprocess.run(["dunstctl", "count", "displayed"], env=screen, capture_output=True, text=True)
    return int(shown.stdout) if shown.returncode == 0 else 0
def use(name):
    with open(button, "w") as file: file.write(name)
    subprocess.run(["dunstctl", "context"], env=screen, check=True)
def kill_saver(word):
    subprocess.run(["python3", "-c", f"import os; f = open({document!r}, 'w'); f.write({word!r} * 9000); f.flush(); os.kill(os.getpid(), 9)"])
