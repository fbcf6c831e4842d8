import StorePrimitives
import Synchronization

/// Keeps the lists of virtual folders made last. One list is made at a time for those who may see the same: the others wait
/// for it.
final class ListingCache: Sendable {
    private struct Key: Hashable {
        let caller: Credentials
        let folder: [UInt8]
    }
    private struct Made {
        let listing: VirtualListing
        let generation: UInt64
        let time: Int64
        let share: TakenShare
    }
    private struct State {
        var last: Made?
        /// How long the last one was, kept or not.
        var count = 0
        /// The last one that somebody read names from, and when a name of it was last looked up.
        var shown: Made?
        var shownUsed: Int64 = 0
        /// How many names were looked up without a list since the last change.
        var lookups = 0
        var generation: UInt64 = 0
    }
    private final class Slot: Sendable {
        /// Rank 0b: held while a list is made; see README.md in this folder.
        let making = ThreadLock()
        let state = Mutex(State())
    }
    private let slots = Locked<[Key: (slot: Slot, used: Int64)]>([:])
    /// How many lists were made.
    let made = Atomic<Int>(0)
    /// Counts the changes that make lists void.
    private let generation: @Sendable () -> UInt64
    private let shares: UserShares
    private static let capacity = 32
    /// In nanoseconds.
    private let lifetime: Int64
    static let usualLifetime: Int64 = 1_000_000_000
    /// How long the names of a list go on to stand for the same documents, counted from the last lookup.
    private static let namesHold: Int64 = 60_000_000_000
    /// A list that nobody has looked at for so long goes when another one is looked at.
    private static let longestUnused: Int64 = namesHold

    /// - Parameter lifetime: a list is kept for so long, in nanoseconds: permissions may change without the index hearing of it.
    init(_ shares: UserShares, lifetime: Int64 = usualLifetime, generation: @escaping @Sendable () -> UInt64) {
        self.shares = shares
        self.lifetime = lifetime
        self.generation = generation
    }

    /// The list of a folder; made by `make` unless the last one holds. `isShown`: for somebody who reads the names.
    func listing(
        of folder: [UInt8], for caller: Credentials, isShown: Bool, _ make: () -> VirtualListing
    ) -> VirtualListing {
        let slot = slot(folder, caller)
        let wanted = generation()
        let (listing, made) = valid(slot, wanted).map { ($0.listing, Optional($0)) } ?? slot.making.withLock {
            if let made = valid(slot, wanted) { return (made.listing, made) }
            // Noted before the list is made: it has all the changes that are counted.
            let current = generation()
            let listing = make()
            // And then: a list that takes long to make is not void when it is made.
            let now = Clock.now
            let made = share(listing.entries.count, for: caller, but: slot).map { share in
                Made(listing: listing, generation: current, time: now, share: share)
            }
            slot.state.withLock { ($0.last, $0.count) = (made, listing.entries.count) }
            self.made.wrappingAdd(1, ordering: .relaxed)
            return (listing, made)
        }
        if isShown { slot.state.withLock { ($0.shown, $0.shownUsed) = (made, Clock.now) } }
        return listing
    }

    /// Room for so many names more, for which the user's lists go that were not used for longest. Nil if there is none: the list is not kept.
    private func share(_ count: Int, for caller: Credentials, but slot: Slot) -> TakenShare? {
        slot.state.withLock { ($0.last, $0.shown) = (nil, nil) }
        while true {
            if let share = TakenShare(.keptNames, count, of: shares, for: caller.uid) { return share }
            let isLetGo = slots.withLock { slots in
                let others = slots.filter { $0.key.caller.uid == caller.uid && $0.value.slot !== slot }
                guard let oldest = others.min(by: { $0.value.used < $1.value.used }) else { return false }
                slots[oldest.key] = nil
                return true
            }
            guard isLetGo else { return nil }
        }
    }

    /// The list of a folder for looking one name up; nil where finding that name alone costs less. That is so after a change,
    /// or each step of `mv * .tags/new` would list all that was moved. Many lookups without a change are worth a list: finding
    /// a name costs about as much as listing 50.
    func listingForLookup(
        of folder: [UInt8], for caller: Credentials, _ make: () -> VirtualListing
    ) -> VirtualListing? {
        let slot = slot(folder, caller)
        let current = generation()
        if let made = valid(slot, current) { return made.listing }
        let isWorthIt = slot.state.withLock { state in
            if state.generation != current { (state.generation, state.lookups) = (current, 0) }
            state.lookups += 1
            return state.lookups > max(4, state.count / 50)
        }
        return isWorthIt ? listing(of: folder, for: caller, isShown: false, make) : nil
    }

    /// The list that was shown last, if it is void since: a program that goes through its names (`rm -r`) means what they stood for,
    /// however the folder would be listed now. The caller looks whether that is still so.
    /// - Parameter takesValid: also one that is not known to be void.
    func shownBefore(of folder: [UInt8], for caller: Credentials, evenIfValid takesValid: Bool = false) -> VirtualListing? {
        let (current, now) = (generation(), Clock.now)
        return slot(folder, caller).state.withLock { state in
            guard let shown = state.shown, takesValid || shown.generation < current, now - state.shownUsed < Self.namesHold else { return nil }
            state.shownUsed = now
            return shown.listing
        }
    }

    private func valid(_ slot: Slot, _ generation: UInt64) -> Made? {
        guard let last = slot.state.withLock({ $0.last }), last.generation >= generation, Clock.now - last.time < lifetime
        else { return nil }
        return last
    }

    private func slot(_ folder: [UInt8], _ caller: Credentials) -> Slot {
        let key = Key(caller: caller, folder: folder)
        let now = Clock.now
        return slots.withLock { slots in
            for (key, kept) in slots where now - kept.used > Self.longestUnused { slots[key] = nil }
            if slots[key] == nil, slots.count >= Self.capacity, let oldest = slots.min(by: { $0.value.used < $1.value.used }) {
                slots[oldest.key] = nil
            }
            let slot = slots[key]?.slot ?? Slot()
            slots[key] = (slot, now)
            return slot
        }
    }
}
