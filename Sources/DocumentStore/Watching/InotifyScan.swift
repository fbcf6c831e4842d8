import StorePrimitives

/// A walk under way that gives folders their watches.
struct InotifyScan {
    enum Purpose: Equatable {
        /// Folders that were there before.
        case beginning
        /// A folder that came: what is found in it is told, because it may have been made before there was a watch.
        case arrival
        /// The whole store, after events were lost: folders that have a watch are gone through as well, and those not found
        /// again lose theirs.
        case repair(round: UInt32)
    }

    let walk: FolderWalk
    let purpose: Purpose
    /// Where the walk begins; nil for the root.
    let start: (parent: WatchedFolders.Watch, name: EntryName)?
    /// Whether changes may have been missed until the walk is done.
    var endsInOverflow: Bool
    /// The watches from the start down to where the walk stands.
    private var trail: [WatchedFolders.Watch] = []

    init(
        _ store: SharedStore, from place: StorePath, purpose: Purpose, start: (parent: WatchedFolders.Watch, name: EntryName)?
    ) {
        walk = FolderWalk(store, startingAt: place)
        self.purpose = purpose
        self.start = start
        endsInOverflow = if case .repair = purpose { true } else { false }
    }

    var isRepair: Bool { if case .repair = purpose { true } else { false } }

    /// The folder that holds the one visited, and its name there; nils for the root.
    func parent(of visit: FolderWalk.Visit) -> (WatchedFolders.Watch?, EntryName?) {
        visit.depth == 0 ? (start?.parent, start?.name) : (trail[visit.depth - 1], visit.path.lastName)
    }

    mutating func entered(_ visit: FolderWalk.Visit, watch: WatchedFolders.Watch) {
        trail.removeSubrange(visit.depth...)
        trail.append(watch)
    }
}
