import CLinux
public import Coordination
import FuseServer
import Glibc
public import StorePrimitives
import SystemPackage

/// Claims and presenters, for the service's clients.
extension MountedStore {
    /// Who asks.
    public struct Client: Sendable {
        /// The process that made the connection, as it was when that was accepted; nil if it had ended by then. By its number alone it
        /// could be taken for another one later.
        public let process: SaveProcess?
        public let credentials: Credentials

        public init(process: SaveProcess?, credentials: Credentials) { (self.process, self.credentials) = (process, credentials) }
    }

    private var coordinator: Coordinator { fileSystem.coordinator }

    /// How long claims that name no time are waited for.
    public var claimTimeout: Duration { configuration.options.coordinationTimes.claims }

    /// Whether a client may claim whatever there is, without a check of permissions.
    public func mayAccessAll(_ caller: Credentials) -> Bool { fileSystem.tags.access.isUnlimited(caller) }

    /// Whether a claim of such a client is decided without a check of files: nobody else's rights matter.
    public func decidesAtOnce(for caller: Credentials) -> Bool {
        mayAccessAll(caller) && coordinator.foreignClaims.load(ordering: .relaxed) == 0
    }

    /// Asks for a claim; the ticket tells when it is decided, and `onAnswer` is called then, on any thread. Whoever has it calls
    /// `release`. Throws .permissionDenied if the client may not read or write an item.
    public func claim(
        _ intents: [ClaimIntent], purpose: String?, within outer: ClaimID?, timeout: Duration, for client: Client,
        onAnswer: @escaping @Sendable () -> Void
    ) throws(Errno) -> ClaimTicket {
        for intent in intents where !mayAccess(intent, client.credentials) { throw .permissionDenied }
        return coordinator.claim(
            intents, by: claimant(client, purpose: purpose), client.credentials, at: fileSystem.saves.processes.moment(), within: outer,
            timeout: timeout, onAnswer: onAnswer)
    }

    /// Whether a client may claim an item.
    public func mayClaim(_ intent: ClaimIntent, _ caller: Credentials) -> Bool { mayAccess(intent, caller) }

    /// What becomes of what was saved within a claim.
    public enum TransactionEnd: Sendable {
        case published
        case discarded
        /// Its holder has gone without a word: it is kept for `quire recover`.
        case lost
    }

    /// Ends a claim, also one that waits. Waits for the disk if something was saved within it (`hasSaves`). Throws if that was to be
    /// published and was not, none of it; the claim has ended all the same.
    /// - Parameter published: called when all is published and still claimed, so that nobody else has saved since.
    public func release(_ ticket: ClaimTicket, _ end: TransactionEnd, published: () -> Void = {}) throws(TransactionFailure) {
        let transactions = fileSystem.transactions
        defer {
            coordinator.release(ticket.id)
            transactions.ended(ticket.id)
        }
        switch end {
        case .published:
            try transactions.publish(ticket.id, of: ticket.credentials)
            published()
        case .discarded: transactions.drop(ticket.id, .discarded)
        case .lost: transactions.drop(ticket.id, .lost)
        }
    }

    /// Whether something was saved within a claim that is to be published with it.
    public func hasSaves(_ ticket: ClaimTicket) -> Bool { fileSystem.transactions.isUsed(by: ticket.id) }

    /// A client that presents items, to be ended by `end`. `onMessage` is called, on any thread, when there is something to take.
    public func attend(for client: Client, onMessage: @escaping @Sendable () -> Void) -> PresenterSession {
        PresenterSession(
            owner: claimant(client, purpose: nil), name: client.process.flatMap { ProcessFacts.name(of: $0.id) } ?? "",
            credentials: client.credentials, moment: fileSystem.saves.processes.moment(), shares: shares,
            onMessage: onMessage)
    }

    /// Throws .permissionDenied if the client may not read the item, .tooManyReferences if it presents as much as one may.
    public func present(
        _ path: StorePath, coversContents: Bool, hasUnsavedChanges: Bool, in session: PresenterSession
    ) throws(Errno) -> PresenterID {
        guard mayListen(to: path, session.credentials) else { throw .permissionDenied }
        let maySave = mayAccess(ClaimIntent(path, .writing([])), session.credentials)
        let id = coordinator.present(
            path, coversContents: coversContents, hasUnsavedChanges: hasUnsavedChanges, maySave: maySave, in: session)
        guard let id else { throw .tooManyReferences }
        return id
    }

    /// These throw .noSuchFileOrDirectory if the session has no such presenter.
    public func withdraw(_ id: PresenterID, in session: PresenterSession) throws(Errno) {
        try found(coordinator.withdraw(id, in: session))
    }

    public func setUnsavedChanges(_ hasChanges: Bool, of id: PresenterID, in session: PresenterSession) throws(Errno) {
        try found(coordinator.setUnsavedChanges(hasChanges, of: id, in: session))
    }

    public func answer(
        _ question: PresenterQuestion.ID, from id: PresenterID, failure: String?, in session: PresenterSession
    ) throws(Errno) {
        try found(coordinator.answer(question, from: id, failure: failure, in: session))
    }

    public func end(_ session: PresenterSession) { coordinator.end(session) }

    /// Whether a client may be told of what happens to an item: who may read it, or list the folder where it is to come.
    public func mayListen(to path: StorePath, _ caller: Credentials) -> Bool { mayAccess(ClaimIntent(path, .reading([])), caller) }

    /// Whether a client may know of an item that somebody else claims.
    public func mayBeNamed(_ path: StorePath, to caller: Credentials) -> Bool { fileSystem.tags.access.may(caller, path, R_OK) }

    private func found(_ isFound: Bool) throws(Errno) { if !isFound { throw .noSuchFileOrDirectory } }

    private func claimant(_ client: Client, purpose: String?) -> Claimant {
        let saves = fileSystem.saves
        return DocumentWriters(saves: saves, handles: fileSystem.writers).claimant(
            client.process, user: client.credentials.uid, purpose: purpose.map { PurposeID($0) })
    }

    /// Of what is not there the folder decides.
    private func mayAccess(_ intent: ClaimIntent, _ caller: Credentials) -> Bool {
        let access = fileSystem.tags.access
        if intent.isOfSnapshot { return !intent.isWriting }
        if access.isUnlimited(caller) { return true }
        var mode = R_OK
        if case .writing(let options) = intent.access {
            mode = W_OK
            // Such a claim on a folder keeps others from all that is in it, whosever that is.
            guard !options.coversContents || isOwn(intent.path, caller) else { return false }
        }
        return access.mayUseOrMake(caller, intent.path, mode)
    }

    /// Whether it is no folder of somebody else's.
    private func isOwn(_ path: StorePath, _ caller: Credentials) -> Bool {
        var status = cl_status()
        let result = path.withCString { cl_statx(fileSystem.store.number, $0, AT_SYMLINK_NOFOLLOW, &status) }
        return result != 0 || status.st.st_mode & S_IFMT != S_IFDIR || status.st.st_uid == caller.uid
    }
}

extension ClaimIntent {
    /// Whether the item is in a snapshot: it stays as it is, and nobody can write it.
    public var isOfSnapshot: Bool { path.names.first == SnapshotsFolder.name }
}
