# On a screen (Fixture/Screen.swift): a viewer marks words of a PDF and saves it.
from waiting import eventually
document = mount + "/page.pdf"
with open(document, "wb") as file: file.write(pdf("BT /F 40 Tf 30 200 Td (words here) Tj ET"))
os.setxattr(document, "user.xdg.tags", b"kept")
before = os.stat(document).st_ino
program = run("dbus-run-session", name, document)
def isSaved():
    try: return os.stat(document).st_ino != before
    except FileNotFoundError: return False
def isMarked(): return share(255, 255, 0) > 0.01
try:
    window = press("search", "--sync", "--onlyvisible", "--name", "page").split()[0]
    press("windowfocus", "--sync", window)
    eventually(lambda: share(255, 255, 255) > 0.2)
    if name == "okular":
        while not isMarked():
            press("key", "alt+1")
            press("mousemove", "--window", window, "125", "262", "mousedown", "1")
            for step in range(8):
                press("mousemove", "--window", window, str(150 + 25 * step), str(270 + 5 * step))
            press("mouseup", "1")
            time.sleep(1)
        press("key", "ctrl+s")
    else:
        press("key", "ctrl+s")
        press("search", "--sync", "--onlyvisible", "--name", "Save")
        press("key", "ctrl+a"); press("type", document); press("key", "Return")
        while not isSaved():
            time.sleep(1)
            press("key", "Return")
    eventually(isSaved)
    names = [name for name in os.listdir(mount) if not name.startswith(".")]
    print("saved" if isSaved() else "not saved", os.getxattr(document, "user.xdg.tags").decode(), names)
finally:
    end(program)
