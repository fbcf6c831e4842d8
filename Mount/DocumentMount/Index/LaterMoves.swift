import StorePrimitives

/// Where files are now that the journal names by where they were: events are looked at some time after they happened, and a
/// document written and then moved is to be found at its new place.
///
/// Made from the end of a batch of events to its beginning: at each event it knows the moves that came after.
struct LaterMoves {
    /// Files that were moved themselves, by the names from before all moves known; nil for one that was replaced.
    private var files: [StorePath: StorePath?] = [:]
    private var folders: [(from: StorePath, to: StorePath)] = []

    /// Where what was at `path` is now; nil if it was replaced.
    func place(of path: StorePath) -> StorePath? {
        if let known = files[path] { return known }
        var place = path
        for move in folders { place = place.moved(from: move.from, to: move.to) ?? place }
        return place
    }

    /// The event before those known.
    mutating func precede(by event: ChangeJournal.Event) {
        switch event {
        case .moved(let old, let new, true, _, _):
            // What is known is told in the names from before the event.
            let known = files
            files = [:]
            for (path, place) in known { files[path.moved(from: new, to: old) ?? path] = place }
            folders.insert((old, new), at: 0)
        case .moved(let old, let new, false, _, _):
            let place = place(of: new)
            files[new] = .some(nil)
            files[old] = place
        case .exchanged(let one, let other, _):
            let places = (place(of: one), place(of: other))
            (files[one], files[other]) = (places.1, places.0)
        default: break
        }
    }

    /// For each event that names a document, where to look for it now.
    static func places(for events: [ChangeJournal.Event]) -> [StorePath?] {
        var places = [StorePath?](repeating: nil, count: events.count)
        var moves = LaterMoves()
        for index in events.indices.reversed() {
            switch events[index] {
            case .present(let path), .touched(let path, _), .written(let path, _, _), .madeAnew(let path, _), .replaced(let path),
                .moved(_, let path, false, _, _):
                places[index] = moves.place(of: path)
            default: break
            }
            moves.precede(by: events[index])
        }
        return places
    }
}
