import SystemCalls

/// One behaviour, and how to see it.
struct Check {
    let family: String
    /// States the behaviour, as a specification would.
    let name: String
    /// Whether it can only be seen as root: it needs other identities or privileges.
    let needsRoot: Bool
    /// Runs in a process of its own whose working directory is an empty folder, umask 022. Throws a `Mismatch`, an `Errno`
    /// of a call that should have worked, or a `Skipped`.
    let body: () throws -> Void

    var title: String { "\(family): \(name)" }
}

/// All checks, family by family. Each file under Checks adds one family.
final class Table {
    private(set) var checks: [Check] = []
    private var family = ""

    func family(_ name: String, _ fill: () -> Void) {
        family = name
        fill()
    }
    func check(_ name: String, _ body: @escaping () throws -> Void) {
        checks.append(Check(family: family, name: name, needsRoot: false, body: body))
    }
    func rootCheck(_ name: String, _ body: @escaping () throws -> Void) {
        checks.append(Check(family: family, name: name, needsRoot: true, body: body))
    }

    static func all() -> Table {
        let table = Table()
        table.addOpenChecks()
        table.addCreateChecks()
        table.addPathErrorChecks()
        table.addNameChecks()
        table.addFolderChecks()
        table.addUnlinkChecks()
        table.addRenameChecks()
        table.addRenameFlagChecks()
        table.addRenamePermissionChecks()
        table.addLinkChecks()
        table.addSymlinkChecks()
        table.addNodeChecks()
        table.addModeChecks()
        table.addOwnerChecks()
        table.addPermissionChecks()
        table.addTimeChecks()
        table.addTruncateChecks()
        table.addReadWriteChecks()
        table.addSparseChecks()
        table.addCopyChecks()
        table.addMappingChecks()
        table.addAttributeChecks()
        table.addAccessListChecks()
        table.addReaddirChecks()
        table.addSyncChecks()
        table.addRecordLockChecks()
        table.addFlockChecks()
        table.addDescriptorChecks()
        table.addWatchChecks()
        table.addProgramChecks()
        return table
    }
}
