import ArgumentParser
import CGio
import Glibc
import StorePrimitives

struct DesktopSearchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "desktop-search",
        abstract: "Answer the searches of GNOME's and KDE's desktops.",
        discussion: """
            The desktop starts this on demand, by D-Bus; it ends after a minute without a search. It serves org.quire.Search on the session \
            bus: the interfaces org.gnome.Shell.SearchProvider2 and org.kde.krunner1. 'quire help search' has more.

            Example:
              gdbus call --session --dest org.quire.Search --object-path /org/quire/Search \\
                --method org.gnome.Shell.SearchProvider2.GetInitialResultSet '["invoice"]'

            Exit codes: 0 nobody has searched for a minute; 1 there is no session bus, or the name is taken; 64 the command line is wrong.
            """,
        shouldDisplay: false)

    private static let name = "org.quire.Search"
    private static let path = "/org/quire/Search"
    private static let timeUntilIdle = 60.0
    private static let objects: [any SearchBusObject.Type] = [GNOMESearchProvider.self, KRunner.self]

    func run() throws {
        var error: UnsafeMutablePointer<GError>?
        defer { g_clear_error(&error) }
        guard let bus = g_bus_get_sync(G_BUS_TYPE_SESSION, nil, &error) else {
            throw CommandFailure("there is no session bus: \(error.map { String(cString: $0.pointee.message) } ?? "")")
        }
        for object in Self.objects { try Self.register(object, on: bus) }
        // Callers wait for the name: they find the objects.
        g_bus_own_name_on_connection(bus, Self.name, G_BUS_NAME_OWNER_FLAGS_DO_NOT_QUEUE, nil, { _, _, _ in DesktopSearchLoop.isLost = true }, nil, nil)
        DesktopSearchLoop.run(untilIdleFor: Self.timeUntilIdle)
        if DesktopSearchLoop.isLost { throw CommandFailure("\(Self.name): another program has this name on the session bus") }
    }

    private static func register(_ object: any SearchBusObject.Type, on bus: OpaquePointer) throws(CommandFailure) {
        var error: UnsafeMutablePointer<GError>?
        defer { g_clear_error(&error) }
        var table = GDBusInterfaceVTable()
        table.method_call = { _, _, _, interface, method, parameters, invocation, _ in
            let (interface, method) = (interface.map { String(cString: $0) } ?? "", method.map { String(cString: $0) } ?? "")
            DesktopSearchLoop.lastCall = time(nil)
            let call = BusCall(method, parameters, invocation)
            guard let object = DesktopSearchCommand.objects.first(where: { $0.interface == interface }) else { return call.refuse("no such interface") }
            do throws(CommandFailure) { try object.answer(call) } catch { call.refuse(error.message) }
        }
        let node = g_dbus_node_info_new_for_xml(object.description, nil)
        defer { if let node { g_dbus_node_info_unref(node) } }
        let number = g_dbus_connection_register_object(bus, path, g_dbus_node_info_lookup_interface(node, object.interface), &table, nil, nil, &error)
        guard number > 0 else { throw CommandFailure("\(object.interface): \(error.map { String(cString: $0.pointee.message) } ?? "not registered")") }
    }
}

/// GLib's main loop, in which calls are answered one after another.
private enum DesktopSearchLoop {
    /// Safe: these are used by the main thread alone.
    nonisolated(unsafe) static var lastCall = time(nil)
    nonisolated(unsafe) static var isLost = false

    static func run(untilIdleFor seconds: Double) {
        // Wakes the loop, which has nothing else to wake it when nobody calls.
        g_timeout_add_seconds(10, { _ in 1 }, nil)
        while !isLost, difftime(time(nil), lastCall) < seconds { g_main_context_iteration(nil, 1) }
    }
}
