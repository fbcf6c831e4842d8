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
    }
    private struct State {
        var last: Made?
        /// The last one that somebody read names from, and when a name of it was last looked up.
        var shown: Made?
        var shownUsed: Int64 = 0
        /// How many names were looked up without a list since the last change.
        var lookups = 0
        var generation: UInt64 = 0
    }
    private final class Slot: Sendable {
        /// Held while a list is made; see Mount/README.md.
        let making = ThreadLock()
        let state = Mutex(State())
    }
    private let slots = Guarded<[Key: (slot: Slot, used: Int64)]>([:])
    /// How many lists were made.
    let made = Atomic<Int>(0)
    /// Counts the changes that make lists void.
    private let generation: @Sendable () -> UInt64
    private static let capacity = 32
    /// Permissions may change without the index hearing of it.
    private static let lifetime: Int64 = 1_000_000_000
    /// How long the names of a list go on to stand for the same documents, counted from the last look.
    private static let namesHold: Int64 = 5_000_000_000

    init(generation: @escaping @Sendable () -> UInt64) { self.generation = generation }

    /// The list of a folder; made by `make` unless the last one holds. `isShown`: for somebody who reads the names.
    func listing(
        of folder: [UInt8], for caller: Credentials, isShown: Bool, _ make: () -> VirtualListing
    ) -> VirtualListing {
        let slot = slot(folder, caller)
        let wanted = generation()
        let made = valid(slot, wanted) ?? slot.making.withLock {
            if let made = valid(slot, wanted) { return made }
            // Noted before the list is made: it has all the changes that are counted.
            let (current, now) = (generation(), Clock.now)
            let made = Made(listing: make(), generation: current, time: now)
            slot.state.withLock { $0.last = made }
            self.made.wrappingAdd(1, ordering: .relaxed)
            return made
        }
        if isShown { slot.state.withLock { ($0.shown, $0.shownUsed) = (made, Clock.now) } }
        return made.listing
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
            return state.lookups > max(4, (state.last?.listing.entries.count ?? 0) / 50)
        }
        return isWorthIt ? listing(of: folder, for: caller, isShown: false, make) : nil
    }

    /// The list that was shown last, if it is void since: who goes through its names (`rm -r`) means what they stood for,
    /// however the folder would be listed now.
    func shownBefore(of folder: [UInt8], for caller: Credentials) -> VirtualListing? {
        let (current, now) = (generation(), Clock.now)
        return slot(folder, caller).state.withLock { state in
            guard let shown = state.shown, shown.generation < current, now - state.shownUsed < Self.namesHold else { return nil }
            state.shownUsed = now
            return shown.listing
        }
    }

    private func valid(_ slot: Slot, _ generation: UInt64) -> Made? {
        guard let last = slot.state.withLock({ $0.last }), last.generation >= generation, Clock.now - last.time < Self.lifetime
        else { return nil }
        return last
    }

    private func slot(_ folder: [UInt8], _ caller: Credentials) -> Slot {
        let key = Key(caller: caller, folder: folder)
        let now = Clock.now
        return slots.withLock { slots in
            if slots[key] == nil, slots.count >= Self.capacity, let oldest = slots.min(by: { $0.value.used < $1.value.used }) {
                slots[oldest.key] = nil
            }
            let slot = slots[key]?.slot ?? Slot()
            slots[key] = (slot, now)
            return slot
        }
    }
}
