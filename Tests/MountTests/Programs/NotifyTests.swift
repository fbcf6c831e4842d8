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
                        eventually(lambda: notifications() == 1)
                        assert content() == "old\n"
                        use("Show")
                        eventually(lambda: os.path.exists(viewed))
                        print(open(viewed).read(), end="")
                        eventually(lambda: notifications() == 0)
                        kill_saver("second")
                        eventually(lambda: notifications() == 1)
                        use("Restore")
                        eventually(lambda: content() != "old\n")
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

        private static let desktop = Products.text(of: "notification-desktop.py")
    }
}
