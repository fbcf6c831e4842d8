# Downloads an address into the working folder, by the browser's protocol for programs
# (https://chromedevtools.github.io/devtools-protocol).
import json, os, subprocess, sys
(asked, ask), (told, tell) = os.pipe(), os.pipe()
def place():  # The browser reads descriptor 3 and writes 4.
    os.dup2(asked, 100); os.dup2(tell, 101); os.dup2(100, 3); os.dup2(101, 4)
browser = subprocess.Popen(
    ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + os.environ["T"] + "/chromium",
     "--remote-debugging-pipe", "about:blank"], preexec_fn=place, close_fds=False, stderr=subprocess.DEVNULL)
os.close(asked); os.close(tell)
number, unread = 0, b""
def message():
    global unread
    while b"\0" not in unread:
        part = os.read(told, 65536)
        if not part: raise EOFError
        unread += part
    text, unread = unread.split(b"\0", 1)
    return json.loads(text)
def send(method, session=None, **words):
    global number
    number += 1
    request = {"id": number, "method": method, "params": words}
    if session: request["sessionId"] = session
    os.write(ask, json.dumps(request).encode() + b"\0")
def call(method, **words):
    send(method, **words)
    while True:
        answer = message()
        if answer.get("id") == number: return answer["result"]
call("Browser.setDownloadBehavior", behavior="allow", downloadPath=os.getcwd(), eventsEnabled=True)
target = call("Target.getTargets")["targetInfos"][0]["targetId"]
session = call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
send("Page.navigate", session, url=sys.argv[1])
while True:
    event = message()
    if event.get("method") == "Browser.downloadProgress" and event["params"]["state"] != "inProgress": break
browser.terminate(); browser.wait()
