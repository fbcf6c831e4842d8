import DocumentMount
import Testing

struct MountOptionsTests {
    @Test func noOptionsGiveTheDefaults() throws {
        let options = try MountOptions(parsing: [])
        #expect(options == MountOptions())
        #expect(!options.allowOther && !options.readOnly && !options.nonEmpty)
        #expect(options.passthrough == .auto && options.virtualFolders == .listed)
        #expect(options.kernelOptions == [])
    }

    @Test func ownOptionsAreTyped() throws {
        let options = try MountOptions(parsing: ["allow_other,passthrough=off", "virtual=hidden,nonempty"])
        #expect(options.allowOther && options.nonEmpty)
        #expect(options.passthrough == .off && options.virtualFolders == .hidden)
        #expect(options.kernelOptions == [])
    }

    @Test func kernelOptionsArePassedOn() throws {
        let options = try MountOptions(parsing: ["ro,nosuid,nodev,noexec,noatime,dirsync,sync"])
        #expect(options.readOnly)
        #expect(options.kernelOptions == ["ro", "nosuid", "nodev", "noexec", "noatime", "dirsync", "sync"])
    }

    @Test func theLaterOfTwoContradictingOptionsHolds() throws {
        let options = try MountOptions(parsing: ["ro,nosuid,virtual=off", "rw,suid,virtual=listed"])
        #expect(!options.readOnly && options.virtualFolders == .listed)
        #expect(options.kernelOptions == ["rw", "suid"])
    }

    @Test(arguments: [
        "defaults", "noauto", "nofail", "user", "users", "owner", "group", "_netdev", "x-systemd.automount",
        "x-gvfs-name=Docs", "X-mount.mkdir", "comment=mine", "user=ann", "relatime", "strictatime", "nodiratime",
        "default_permissions", "auto",
    ])
    func whatFstabAddsIsAcceptedWithoutEffect(option: String) throws {
        #expect(try MountOptions(parsing: [option]) == MountOptions())
    }

    @Test func emptyPartsAreNoOptions() throws {
        #expect(try MountOptions(parsing: [",,", ""]) == MountOptions())
    }

    @Test func anUnknownOptionIsNamedWithTheNearestKnown() {
        #expect(throws: MountOptionError.unknown("alow_other", nearest: "allow_other")) {
            try MountOptions(parsing: ["ro,alow_other"])
        }
        #expect(throws: MountOptionError.unknown("passthru=off", nearest: "passthrough")) {
            try MountOptions(parsing: ["passthru=off"])
        }
        #expect(throws: MountOptionError.unknown("compress", nearest: nil)) { try MountOptions(parsing: ["compress"]) }
        #expect(throws: MountOptionError.unknown("ro=1", nearest: "ro")) { try MountOptions(parsing: ["ro=1"]) }
    }

    @Test func aBadValueIsNamedWithTheAllowedOnes() {
        #expect(throws: MountOptionError.badValue(option: "virtual", value: "maybe", allowed: ["listed", "hidden", "off"])) {
            try MountOptions(parsing: ["virtual=maybe"])
        }
        #expect(throws: MountOptionError.badValue(option: "passthrough", value: nil, allowed: ["auto", "off"])) {
            try MountOptions(parsing: ["passthrough"])
        }
    }
}

struct StoreIDTests {
    @Test func aStoreIDDependsOnThePathAlone() {
        #expect(StoreID(canonicalPath: "".utf8).description == "cbf29ce484222325")
        #expect(StoreID(canonicalPath: "a".utf8).description == "af63dc4c8601ec8c")
        #expect(StoreID(canonicalPath: "/home/ann/Documents".utf8) != StoreID(canonicalPath: "/home/ann/documents".utf8))
    }

    @Test func aStoreIDHasSixteenDigitsWhateverTheBytes() {
        for byte in UInt8.min...UInt8.max {
            #expect(StoreID(canonicalPath: [0x2f, byte]).description.count == 16)
        }
    }
}
