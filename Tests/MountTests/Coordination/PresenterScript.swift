/// A presenter in Python that speaks to the service by itself: a client that none of Quire's own code is in.
enum PresenterScript {
    /// To be put before a program. `Presenter(path)` attends, keeps what it is told in `events` as (kind, oldPath, path) below the
    /// mount, and answers questions by `answers`, a function of a question that returns a failure or None; none: it never does.
    static let text = service + others

    /// Its classes alone; they are in the text `SERVICE` too, for other processes.
    static let service = "SERVICE = r\'\'\'\n" + classes + "\'\'\'\nexec(SERVICE)\n"

    private static let classes = #"""
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

        """#

    private static let others = """
        # What a presenter starts works for it: others are children of a shell that was there before.
        shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        class Result: pass
        def run(command):
            place = os.environ["T"] + "/run.%d" % os.getpid()
            shell.stdin.write("(%s) </dev/null >%s.out 2>%s.err; echo $?\\n" % (command, place, place)); shell.stdin.flush()
            result = Result()
            result.returncode = int(shell.stdout.readline())
            result.stdout, result.stderr = open(place + ".out").read(), open(place + ".err").read()
            return result
        def eventually(test, seen=lambda: None):
            end = time.monotonic() + 180
            while not test():
                if time.monotonic() > end: raise AssertionError("not within three minutes: %s" % (seen(),))
                time.sleep(0.01)
        def timed(command):
            start = time.monotonic()
            return run(command), time.monotonic() - start

        """
}
