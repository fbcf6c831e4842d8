import CLinux
import Coordination
import Glibc
public import MountProtocol
import StorePrimitives
import SystemPackage

/// Claims of the service's clients.
extension MountedStore {
    public func isBrief(_ request: ClaimCall, for peer: Peer) -> Bool {
        // Such a claim needs no check of files, and nobody else's rights matter; claims for reading need snapshots.
        fileSystem.tags.access.isUnlimited(Credentials(peer)) && fileSystem.coordinator.foreignClaims.load(ordering: .relaxed) == 0
            && request.intents.allSatisfy { $0.access == .writing }
    }

    public func claim(
        _ request: ClaimCall, for peer: Peer, wake: @escaping @Sendable () -> Void
    ) throws(ServiceFailure) -> any ServedClaim {
        guard request.intents.count <= Self.mostItems else {
            throw .failed("\(request.intents.count) items in one claim: \(Self.mostItems) at most")
        }
        let caller = Credentials(peer)
        var intents: [ClaimIntent] = []
        for intent in request.intents {
            let wanted = ClaimIntent(try item(intent.path), try intent.wantedAccess())
            // A reader within a reader may go by the path that it was given.
            let isThere = wanted.isOfSnapshot && !wanted.isWriting
            intents.append(isThere ? ClaimIntent(wanted.path, .reading(.metadataOnly)) : whole(wanted, caller))
        }
        if let time = request.timeout, !(time >= 0 && time <= Self.longestTimeout) { throw .invalidParameter("timeout") }
        let timeout = request.timeout.map { Duration.milliseconds(Int64(clamping: $0 * 1000)) } ?? configuration.options.coordinationTimes.claims
        for intent in intents where isServed(intent.path) {
            throw .failed("\(place(intent.path)): is on a network or FUSE file system inside the store, where nothing can be claimed")
        }
        for intent in intents where !mayClaim(intent, caller) {
            throw .permissionDenied(
                "\(place(intent.path)): you may not read or write it, or it is a folder of somebody else's to be claimed whole")
        }
        let ticket = fileSystem.coordinator.claim(
            intents, by: claimant(SaveProcess(peer), user: caller.uid, purpose: request.purpose), caller,
            at: fileSystem.saves.processes.moment(), within: request.within.map { ClaimID($0) }, timeout: timeout, onAnswer: wake)
        return ClaimInMount(ticket, intents, self, caller)
    }

    /// A claim for writing a part of a package, as one of the package with all that is in it: it is one document. As asked for where the caller
    /// may not claim all of it.
    private func whole(_ intent: ClaimIntent, _ caller: Credentials) -> ClaimIntent {
        let packages = indexer.reader.packages
        let isPart = packages.isPart(intent.path)
        guard case .writing(let options) = intent.access, isPart || indexer.reader.isPackage(intent.path) else { return intent }
        // The package stays if a part of it goes, is moved or is replaced.
        let wanted = isPart ? options.intersection([.merging, .metadataOnly]) : options
        let whole = ClaimIntent(packages.whole(intent.path), .writing(wanted.union(.contents)))
        return mayClaim(whole, caller) ? whole : intent
    }

    private static let mostItems = 1_000
    /// A day, in seconds.
    private static let longestTimeout = 86_400.0

    func claimant(_ process: SaveProcess?, user: UInt32, purpose: String?) -> Claimant {
        DocumentWriters(saves: fileSystem.saves, handles: fileSystem.writers)
            .claimant(process, user: user, purpose: purpose.map { PurposeID($0) })
    }

    /// Whether a client may be told of what happens to an item: who may read it, or list the folder where it is to come.
    func mayListen(to path: StorePath, _ caller: Credentials) -> Bool { mayClaim(ClaimIntent(path, .reading([])), caller) }

    /// Whether a client may claim an item. Of what is not there the folder decides.
    func mayClaim(_ intent: ClaimIntent, _ caller: Credentials) -> Bool {
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

    private func isServed(_ path: StorePath) -> Bool {
        do throws(Errno) { _ = try fileSystem.store.held(path) } catch { return error == .improperLink }
        return false
    }

    /// Whether it is no folder of somebody else's.
    private func isOwn(_ path: StorePath, _ caller: Credentials) -> Bool {
        guard let held = try? fileSystem.store.held(path), let status = try? FileStatus(of: held) else { return true }
        return !status.isFolder || status.st.st_uid == caller.uid
    }
}

extension ClaimIntent {
    /// Whether the item is in a snapshot: it stays as it is, and nobody can write it.
    var isOfSnapshot: Bool { path.names.first == SnapshotsFolder.name }
}

extension ClaimCall.Intent {
    private static let readingOptions: [String: ClaimReadingOptions] = [
        "immediately": .immediately, "withoutChanges": .withoutChanges, "metadataOnly": .metadataOnly, "live": .live,
    ]
    private static let writingOptions: [String: ClaimWritingOptions] = [
        "merging": .merging, "replacing": .replacing, "moving": .moving, "deleting": .deleting, "metadataOnly": .metadataOnly,
        "contents": .contents,
    ]

    fileprivate func wantedAccess() throws(ServiceFailure) -> ClaimIntent.Access {
        switch access {
        case .reading: .reading(try Self.options(options, Self.readingOptions))
        case .writing: .writing(try Self.options(options, Self.writingOptions))
        }
    }

    private static func options<Options: OptionSet>(
        _ words: [String]?, _ known: [String: Options]
    ) throws(ServiceFailure) -> Options where Options.Element == Options {
        var result: Options = []
        for word in words ?? [] {
            guard let option = known[word] else { throw .invalidParameter("options") }
            result.insert(option)
        }
        return result
    }
}

/// A claim of one peer.
private final class ClaimInMount: ServedClaim {
    private let ticket: ClaimTicket
    private let intents: [ClaimIntent]
    private let mount: MountedStore
    private let asker: Credentials

    init(_ ticket: ClaimTicket, _ intents: [ClaimIntent], _ mount: MountedStore, _ asker: Credentials) {
        (self.ticket, self.intents, self.mount, self.asker) = (ticket, intents, mount, asker)
    }

    func outcome() throws(ServiceFailure) -> GrantedClaim? {
        switch ticket.outcome {
        case nil: return nil
        case .granted(let places):
            var next = places.makeIterator()
            let snapshots = intents.map { $0.wantsSnapshot ? next.next().map(mount.place) : nil }
            return GrantedClaim(claim: ticket.id.rawValue, snapshots: snapshots)
        case .refused(let refusal): throw mount.failure(refusal, for: asker)
        }
    }

    /// Waits for the disk if something was saved within it. What was to be published and was not is kept, and the claim has ended all
    /// the same.
    func end(_ end: ClaimEnd, pictures: [DocumentPicture]) throws(ServiceFailure) {
        let transactions = mount.fileSystem.transactions
        defer {
            mount.fileSystem.coordinator.release(ticket.id)
            transactions.ended(ticket.id)
        }
        switch end {
        case .discarded: transactions.drop(ticket.id, .discarded)
        case .lost: transactions.drop(ticket.id, .lost)
        case .published:
            do throws(TransactionFailure) {
                try transactions.publish(ticket.id, of: ticket.credentials)
            } catch {
                throw .notPublished(
                    "\(mount.place(error.path)): what was saved within the claim cannot be published (\(error.errno)); none of it was, "
                        + "and it is kept: see 'quire recover list'")
            }
            // Still claimed, so that nobody else has saved since.
            for picture in pictures { handOver(picture) }
        }
    }

    /// Of a document that the claim included, and that its holder may write.
    private func handOver(_ picture: DocumentPicture) {
        guard let path = try? mount.item(picture.path), picture.bytes.count <= DocumentPicture.mostBytes,
            intents.contains(where: { $0.isWriting && (path == $0.path || path.isInside($0.path)) })
        else { return }
        mount.handOverThumbnail(picture.bytes, of: path, for: asker)
    }

    var endsAtOnce: Bool { !mount.fileSystem.transactions.isUsed(by: ticket.id) }
}
