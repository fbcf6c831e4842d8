import Foundation
import MountClient
import MountProtocol
import Synchronization

/// How an access is granted.
extension FileCoordinator {
    /// Waits for an access on the calling thread.
    ///
    /// First the presenters of this process are asked, as a mount's daemon does not ask those of who claims; then each
    /// mount's daemon, in the order of the mount points, so that accesses to several mounts do not wait for each other in a
    /// circle, and last the table for what is in none.
    /// - Parameter outer: the access that this one is made within.
    func acquire(
        _ intents: [FileAccessIntent], within outer: FileAccess?, announces: Bool = true, _ wait: AccessWait
    ) throws(FileCoordinationError) -> FileAccess {
        precondition(!intents.isEmpty, "an access names at least one item")
        try wait.check()
        var items: [AccessItem] = []
        for intent in intents { items.append(try AccessItem(intent)) }
        if let included = accesses(including: items) {
            for index in items.indices { items[index].follow() }
            return try granted(items, holds: [], relinquished: [], included: included, announces)
        }
        let relinquished = try PresenterRegistry.shared.ask(for: items, besides: filePresenter, wait)
        var holds: [FileAccess.Hold] = []
        do throws(FileCoordinationError) {
            for group in Self.groups(items) {
                if let mount = group.mount {
                    let hold = try claim(group.items, in: mount, within: outer, wait)
                    holds.append(hold)
                    Self.note(hold, of: group.items, in: &items)
                } else {
                    holds.append(try holdLocally(group.items, within: outer, wait))
                }
            }
        } catch {
            for hold in holds.reversed() { try? FileAccess.release(hold, discards: true) }
            for each in relinquished { each.end() }
            throw error
        }
        for index in items.indices { items[index].follow() }
        return try granted(items, holds: holds, relinquished: relinquished, included: [], announces)
    }

    private func granted(
        _ items: [AccessItem], holds: [FileAccess.Hold], relinquished: [Relinquishment], included: [FileAccess], _ announces: Bool
    ) throws(FileCoordinationError) -> FileAccess {
        let access = FileAccess(
            items, of: self, holds: holds, relinquished: relinquished, included: included, announces: announces)
        keep(access)
        do throws(FileCoordinationError) { try access.placeItems() } catch {
            try? access.end(discards: true)
            throw error
        }
        return access
    }

    /// Where the items to be read are.
    private static func note(_ hold: FileAccess.Hold, of claimed: [AccessItem], in items: inout [AccessItem]) {
        guard case .claim(_, let granted, _) = hold else { return }
        for (item, place) in zip(claimed, granted.snapshots) {
            guard let place, let index = items.firstIndex(where: { $0.intent === item.intent }) else { continue }
            items[index].snapshot = AbsolutePath(place)
        }
    }

    private struct Group {
        let mount: QuireMount?
        var items: [AccessItem]
    }

    private static func groups(_ items: [AccessItem]) -> [Group] {
        var groups: [Group] = []
        for item in items {
            let mount = QuireMount.holding(item.path)
            if mount == nil { PresenterRegistry.shared.noteUncoordinated(item.path) }
            if let index = groups.firstIndex(where: { $0.mount == mount }) {
                groups[index].items.append(item)
            } else {
                groups.append(Group(mount: mount, items: [item]))
            }
        }
        return groups.sorted { one, other in
            guard let place = one.mount?.mountPoint, let otherPlace = other.mount?.mountPoint else { return one.mount != nil }
            return place.bytes.lexicographicallyPrecedes(otherPlace.bytes)
        }
    }

    private func claim(
        _ items: [AccessItem], in mount: QuireMount, within outer: FileAccess?, _ wait: AccessWait
    ) throws(FileCoordinationError) -> FileAccess.Hold {
        var request = ClaimCall(
            intents: items.map { .init($0) }, purpose: purposeIdentifier,
            timeout: timeout.map { Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18 })
        if let (channel, around) = outer?.claim(in: mount) {
            request.within = around.claim
            // Not to be interrupted: the claim around it would end with the connection.
            let claim = try wait.run(interrupt: nil, undo: { try? channel.release($0, discards: true) }) {
                () throws(FileCoordinationError) in
                do throws(ServiceCallError) { return try channel.claim(request) } catch { throw FileCoordinationError(error, in: mount) }
            }
            return .claim(channel, claim, isOwn: false)
        }
        let (channel, claim) = try ClaimChannels.shared.take(to: mount, wait) { (channel) throws(ServiceCallError) in
            try channel.claim(request)
        }
        return .claim(channel, claim, isOwn: true)
    }

    /// How long accesses outside of mounts are waited for, as in a mount by default.
    private static let localTimeout = Duration.seconds(10)

    private func holdLocally(
        _ items: [AccessItem], within outer: FileAccess?, _ wait: AccessWait
    ) throws(FileCoordinationError) -> FileAccess.Hold {
        let request = LocalAccessTable.Request(
            items: items.map { ($0.path, $0.intent) }, purpose: purposeIdentifier, outer: outer?.localHold)
        return .local(try LocalAccessTable.shared.acquire(request, timeout: timeout ?? Self.localTimeout, wait))
    }
}

extension FileAccess {
    /// Its claim in a mount, for claims within it.
    fileprivate func claim(in mount: QuireMount) -> (ClaimChannel, GrantedClaim)? {
        for hold in holds {
            if case .claim(let channel, let claim, _) = hold, channel.mount == mount { return (channel, claim) }
        }
        return nil
    }

    fileprivate var localHold: UInt64? {
        for hold in holds { if case .local(let id) = hold { return id } }
        return nil
    }
}

extension ClaimCall.Intent {
    fileprivate init(_ item: AccessItem) {
        var words: [String] = []
        switch item.intent.access {
        case .reading(let options):
            if options.contains(.withoutChanges) { words.append("withoutChanges") }
            if options.contains(.immediatelyAvailableMetadataOnly) { words.append("metadataOnly") }
        case .writing(let options):
            for (option, word) in [
                (FileCoordinator.WritingOptions.forDeleting, "deleting"), (.forMoving, "moving"), (.forMerging, "merging"),
                (.forReplacing, "replacing"), (.contentIndependentMetadataOnly, "metadataOnly"),
            ] where options.contains(option) { words.append(word) }
        }
        self.init(
            path: item.path.wire, access: item.intent.isWriting ? .writing : .reading, options: words.isEmpty ? nil : words)
    }
}
