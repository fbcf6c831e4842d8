/// What one party calls itself, like `NSFileCoordinator.purposeIdentifier`: claims of one purpose and user never wait for
/// each other, whichever processes make them.
public struct PurposeID: Hashable, Sendable {
    public let name: String
    public init(_ name: String) { self.name = name }
}

/// Who claims, presents or opens.
public struct Claimant: Hashable, Sendable {
    public let user: UInt32
    /// Nil if it is not known, as for processes in a foreign pid namespace.
    public let process: SaveProcess?
    /// Its parent, the parent's parent and so on.
    public let ancestors: [SaveProcess]
    public let purpose: PurposeID?

    public init(user: UInt32, process: SaveProcess?, ancestors: [SaveProcess] = [], purpose: PurposeID? = nil) {
        self.user = user
        self.process = process
        self.ancestors = ancestors
        self.purpose = purpose
    }
}

extension Claimant {
    /// Whether another is the same party, or works for it: it, what it has started since `moment`, and what bears its purpose.
    /// Two purposes in one process are two parties.
    func includes(_ other: Claimant, since moment: SaveMoment) -> Bool {
        if user == other.user, let purpose, purpose == other.purpose { return true }
        if let process, process == other.process { return purpose == nil || other.purpose == nil }
        return hasStarted(other, since: moment)
    }

    /// Whether it has started a process since `moment`, itself or through others.
    func hasStarted(_ other: Claimant, since moment: SaveMoment) -> Bool {
        guard let own = process, let process = other.process, process != own else { return false }
        return process.descends(from: [own], since: moment, by: other.ancestors)
    }
}
