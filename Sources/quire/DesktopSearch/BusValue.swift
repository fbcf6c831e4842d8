import CGio
import Glibc

/// A value on D-Bus (GVariant).
indirect enum BusValue {
    case string(String)
    case unsigned(UInt32)
    case double(Double)
    /// Of values of one type, which is named for a list without any.
    case list(of: String, [BusValue])
    case tuple([BusValue])
    case dictionary([(String, BusValue)])
    /// As GIO writes an icon.
    case icon(ofType: String)

    /// A floating reference, which its first user takes.
    fileprivate func made() -> OpaquePointer? {
        switch self {
        case .string(let text): return g_variant_new_string(text.replacing("\0", with: ""))
        case .unsigned(let number): return g_variant_new_uint32(number)
        case .double(let number): return g_variant_new_double(number)
        case .list(let type, let values): return Self.built("a" + type, values.map { $0.made() })
        case .tuple(let values):
            let children = values.map { $0.made() }
            return children.withUnsafeBufferPointer { g_variant_new_tuple($0.baseAddress, UInt(bitPattern: $0.count)) }
        case .dictionary(let entries):
            return Self.built(
                "a{sv}",
                entries.map { name, value in
                    let made = value.made()
                    let variant = g_variant_new_variant(made)
                    // A serialized icon is no floating reference.
                    if case .icon = value { g_variant_unref(made) }
                    return g_variant_new_dict_entry(g_variant_new_string(name), variant)
                })
        case .icon(let type):
            let icon = g_content_type_get_icon(type)
            defer { g_object_unref(UnsafeMutableRawPointer(icon)) }
            return g_icon_serialize(icon) ?? g_variant_ref_sink(g_variant_new_string("text-x-generic"))
        }
    }

    private static func built(_ type: String, _ values: [OpaquePointer?]) -> OpaquePointer? {
        let type = g_variant_type_new(type)
        defer { g_variant_type_free(type) }
        let builder = g_variant_builder_new(type)
        defer { g_variant_builder_unref(builder) }
        for value in values { g_variant_builder_add_value(builder, value) }
        return g_variant_builder_end(builder)
    }
}

/// A method call that a program on the bus has made, to be answered once.
struct BusCall {
    let method: String
    private let parameters: OpaquePointer?
    private let invocation: OpaquePointer?

    init(_ method: String, _ parameters: OpaquePointer?, _ invocation: OpaquePointer?) {
        (self.method, self.parameters, self.invocation) = (method, parameters, invocation)
    }

    /// Of the parameter at a place, which GDBus has found to be of the type that the interface says.
    func string(_ place: Int) -> String { withParameter(place) { Self.text($0) } }

    func strings(_ place: Int) -> [String] {
        withParameter(place) { list in
            var texts: [String] = []
            var number: gsize = 0
            while number < g_variant_n_children(list) {
                let child = g_variant_get_child_value(list, number)
                texts.append(Self.text(child))
                g_variant_unref(child)
                number += 1
            }
            return texts
        }
    }

    func answer(_ values: BusValue...) { g_dbus_method_invocation_return_value(invocation, BusValue.tuple(values).made()) }

    func refuse(_ message: String) {
        g_dbus_method_invocation_return_dbus_error(invocation, "org.freedesktop.DBus.Error.Failed", message)
    }

    private func withParameter<Result>(_ place: Int, _ body: (OpaquePointer?) -> Result) -> Result {
        let value = g_variant_get_child_value(parameters, UInt(bitPattern: place))
        defer { g_variant_unref(value) }
        return body(value)
    }

    private static func text(_ value: OpaquePointer?) -> String { g_variant_get_string(value, nil).map { String(cString: $0) } ?? "" }
}
