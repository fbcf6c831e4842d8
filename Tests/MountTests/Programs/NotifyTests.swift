import TestSupport
import Testing

extension MountTests {
    /// `quire notify` on a desktop: the notifications are dunst's, the user's choice is made by its menu, and xdg-open finds a viewer.
    struct NotifyTests {
        @Test(arguments: Account.allCases)
        func aRescuedSaveIsShownAndRestored(account: Account) throws {
            try withMount(account, prepare: "echo old >doc.txt") { mount in
                let found = try mount.python(Screen.python(for: "notify") + Self.desktop + #"""
                    agent = subprocess.Popen(["quire", "notify"], env=screen, cwd="/", stdout=subprocess.PIPE, text=True, start_new_session=True)
                    try:
                        assert agent.stdout.readline() == f"Watching {mount}.\n"
                        kill_saver("first")
                        until(lambda: notifications() == 1)
                        assert content() == "old\n"
                        use("Show")
                        until(lambda: os.path.exists(viewed))
                        print(open(viewed).read(), end="")
                        until(lambda: notifications() == 0)
                        kill_saver("second")
                        until(lambda: notifications() == 1)
                        use("Restore")
                        until(lambda: content() != "old\n")
                        print(content()[:12], len(content()))
                        print(subprocess.run(["quire", "notify"], env=screen, capture_output=True, text=True).stderr, end="")
                        # It ends with the session.
                        bus.terminate(); agent.wait(180)
                    finally: agent.kill(); bus.terminate(); end(dunst)
                    """#, limit: .seconds(300))
                #expect(found == "first 400\nsecondsecond 54000\nquire: 'quire notify' is running already")
            }
        }

        @Test func itIsTurnedOffAndOn() throws {
            try withMount(.root) { mount in
                let script = """
                    export XDG_CONFIG_HOME="$T/config"; quire notify --off; grep Hidden "$T/config/autostart/org.quire.Notify.desktop"
                    quire notify --on; ls "$T/config/autostart"; quire notify --on
                    """
                let found = try mount.shell(script)
                #expect(found == "Hidden=true")
            }
        }

        private static let desktop = #"""
            document, viewed, button = mount + "/doc.txt", scratch + "/viewed", scratch + "/button"
            def until(condition):
                end = time.monotonic() + 180
                while not condition(): assert time.monotonic() < end; time.sleep(0.1)
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

            """#
    }
}
