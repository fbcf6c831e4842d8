# A client of the service that none of Quire's own code is in.
import json, os, socket, subprocess, sys, threading, time
M = os.environ["M"]

class Service:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.getxattr(M, "user.quire.socket").decode())
        self.file = self.socket.makefile("rwb")
        self.rest = b""
        # The listener calls beside the program: whoever receives first would take the other's reply.
        self.turn = threading.Lock()
    def send(self, method, more=False, **parameters):
        self.file.write(json.dumps({"method": "org.quire." + method, "more": more, "parameters": parameters}).encode() + b"\0")
        self.file.flush()
    def receive(self):
        while b"\0" not in self.rest:
            part = self.socket.recv(65536)
            if not part: raise EOFError
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        reply = json.loads(message)
        if "error" in reply: raise RuntimeError(reply)
        return reply["parameters"]
    def call(self, method, **parameters):
        with self.turn:
            self.send(method, **parameters)
            return self.receive()

class Presenter:
    def __init__(self, path, answers=None, **options):
        self.events, self.questions, self.over, self.answers = [], [], [], answers
        self.calls, self.attending = Service(), Service()
        self.attending.send("Presenters.Attend", more=True)
        self.session = self.attending.receive()["session"]
        self.id = self.present(path, **options)
        threading.Thread(target=self.listen, daemon=True).start()
    def present(self, path, **options):
        return self.call("Present", path=os.path.join(M, path), **options)["presenter"]
    def call(self, method, **parameters):
        return self.calls.call("Presenters." + method, session=self.session, **parameters)
    def unsaved(self, value): self.call("SetUnsaved", presenter=self.id, unsaved=value)
    def listen(self):
        while True:
            for message in self.attending.receive()["messages"]:
                if "event" in message:
                    event = message["event"]
                    place = lambda key: os.path.relpath(event[key], M) if key in event else None
                    self.events.append((event["kind"], place("oldPath"), place("path")))
                elif "over" in message: self.over.append(message["over"])
                else:
                    self.questions.append(message["question"])
                    if self.answers:
                        failure = self.answers(message["question"])
                        more = {} if failure is None else {"failure": failure}
                        self.call("Answer", presenter=message["presenter"], question=message["question"]["id"], **more)
