import Coordination
import CoordinationService
import DocumentMount
import Glibc
import StorePrimitives
import SystemPackage

/// Claims, for the service's clients.
extension ServedMount {
    /// Callers exempt from access checks, and given no snapshot.
    func isBrief(_ request: ClaimCall, for peer: Peer) -> Bool {
        store.decidesAtOnce(for: Credentials(peer)) && request.intents.allSatisfy { $0.access == .writing }
    }

    func claim(
        _ request: ClaimCall, for peer: Peer, wake: @escaping @Sendable () -> Void
    ) throws(ServiceFailure) -> any ServedClaim {
        guard request.intents.count <= Self.mostItems else {
            throw .failed("\(request.intents.count) items in one claim: \(Self.mostItems) at most")
        }
        var intents: [ClaimIntent] = []
        for intent in request.intents {
            let wanted = ClaimIntent(try item(intent.path), try intent.wantedAccess())
            // A reader within a reader may go by the path that it was given.
            let isThere = wanted.isOfSnapshot && !wanted.isWriting
            intents.append(isThere ? ClaimIntent(wanted.path, .reading(.metadataOnly)) : wanted)
        }
        if let time = request.timeout, !(time >= 0 && time <= Self.longestTimeout) { throw .invalidParameter("timeout") }
        let timeout = request.timeout.map { Duration.milliseconds(Int64(clamping: $0 * 1000)) } ?? store.claimTimeout
        do throws(Errno) {
            let ticket = try store.claim(
                intents, purpose: request.purpose, within: request.within.map { ClaimID($0) }, timeout: timeout,
                for: MountedStore.Client(peer), onAnswer: wake)
            return ClaimInMount(ticket, intents, self, Credentials(peer))
        } catch {
            let path = intents.first { !store.mayClaim($0, Credentials(peer)) }?.path ?? .root
            throw .permissionDenied("\(place(path)): you may not read or write it, or it is a folder of somebody else's to be claimed whole")
        }
    }

    /// The place in the store that a path names.
    func item(_ path: DocumentPath) throws(ServiceFailure) -> StorePath {
        // Longer than any that the kernel takes, and costly to compare.
        guard path.bytes.count < Int(PATH_MAX) else { throw .invalidParameter("path") }
        guard let inside = path.inside(configuration) ?? (path.names(configuration) ? .root : nil) else {
            throw .notFound("\(path.wire) in this mount")
        }
        return inside
    }

    private static let mostItems = 1_000
    /// A day.
    private static let longestTimeout = 86_400.0
}

extension MountedStore.Client {
    init(_ peer: Peer) {
        self.init(process: peer.start.map { SaveProcess(id: peer.pid, start: $0) }, credentials: Credentials(peer))
    }
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
    private let mount: ServedMount
    private let asker: Credentials

    init(_ ticket: ClaimTicket, _ intents: [ClaimIntent], _ mount: ServedMount, _ asker: Credentials) {
        (self.ticket, self.intents, self.mount, self.asker) = (ticket, intents, mount, asker)
    }

    func outcome() throws(ServiceFailure) -> GrantedClaim? {
        switch ticket.outcome {
        case nil: return nil
        case .granted(let places):
            var next = places.makeIterator()
            let snapshots = intents.map { $0.wantsSnapshot ? next.next().map(mount.place) : nil }
            return GrantedClaim(claim: ticket.id.rawValue, snapshots: snapshots)
        case .refused(let refusal): throw failure(refusal)
        }
    }

    func end(_ end: ClaimEnd, pictures: [DocumentPicture]) throws(ServiceFailure) {
        do throws(TransactionFailure) {
            switch end {
            case .published:
                try mount.store.release(ticket, .published) { for picture in pictures { handOver(picture) } }
            case .discarded: try mount.store.release(ticket, .discarded)
            case .lost: try mount.store.release(ticket, .lost)
            }
        } catch {
            throw .notPublished(
                "\(mount.place(error.path)): what was saved within the claim cannot be published (\(error.errno)); none of it was, "
                    + "and it is kept: see 'quire recover list'")
        }
    }

    /// Of a document that the claim included, and that its holder may write.
    private func handOver(_ picture: DocumentPicture) {
        guard let path = try? mount.item(picture.path), picture.bytes.count <= DocumentPicture.mostBytes,
            intents.contains(where: { $0.isWriting && (path == $0.path || path.isInside($0.path)) })
        else { return }
        mount.store.handOverThumbnail(picture.bytes, of: path, for: asker)
    }

    var endsAtOnce: Bool { !mount.store.hasSaves(ticket) }

    private func failure(_ refusal: ClaimRefusal) -> ServiceFailure {
        switch refusal {
        case .timedOut(let holders) where holders.isEmpty: .timedOut("not granted in time: a presenter did not answer, or others' snapshots took long")
        case .timedOut(let holders): .timedOut("not granted in time: \(text(holders))")
        case .deadlock(let holders): .deadlock("waiting would never end: \(text(holders)), which waits for this process")
        case .presenterFailed(let message): .failed("who shows the document could not let it go: \(message)")
        case .noSnapshot(let path, let reason, let writer):
            .noSnapshot("\(mount.place(path)): \(reason)" + (writer.map { "; it is open in \($0.process) (\($0.name))" } ?? ""))
        case .tooMany(let resource): .failed("too much is claimed already (\(resource.name)): release some first; 'quire status' shows the bounds")
        case .ended: .failed("the mount ends")
        }
    }

    /// `/docs/report.odt is held by vim (pid 4711)`
    private func text(_ holders: [ClaimHolder]) -> String {
        holders.prefix(3).map { holder in
            // The other may claim more than the asker may know of.
            let isKnown = mount.store.mayBeNamed(holder.path, to: asker)
            let path = isKnown ? "\(mount.place(holder.path))" : "what is claimed"
            let process = holder.name.isEmpty ? "process \(holder.process)" : "\(holder.name) (pid \(holder.process))"
            return "\(path) is held by \(process)" + (holder.purpose.map { " for \($0)" } ?? "")
        }.joined(separator: ", ")
    }
}
