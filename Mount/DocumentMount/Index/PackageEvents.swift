import DocumentStore
import StorePrimitives

extension Packages {
    /// The events of documents that an event stands for, where files and folders in a package are parts of it: a change of a part is a change
    /// of the package.
    func events(for event: ChangeJournal.Event) -> [ChangeJournal.Event] {
        switch event {
        case .present(let path): return [.present(whole(path))]
        case .touched(let path, let user): return [.touched(whole(path), by: user)]
        case .written(let path, let caller, let time): return [.written(whole(path), caller, at: time)]
        case .tagsTaken(let tags, let path, let user, let time, let canBeUndone):
            return [.tagsTaken(tags, from: whole(path), by: user, at: time, canBeUndone: canBeUndone)]
        case .absent(let path), .replaced(let path): return [isPart(path) ? .present(whole(path)) : event]
        case .madeAnew(let path, let aside):
            if !isPart(path), !isPart(aside) { return [event] }
            return [.present(whole(path)), .present(whole(aside))]
        case .moved(let old, let new, let isFolder, let takesOver, let caller):
            if let events = move(old, new, isFolder) {
                // A save by rename of a part is a save of the package.
                return takesOver && isPart(new) ? events + [.written(whole(new), caller, at: Clock.now)] : events
            }
            return [event]
        case .movedOutside(let old, let new, let isFolder): return move(old, new, isFolder) ?? [event]
        case .exchanged(let one, let other, let areFolders):
            if !isPart(one), !isPart(other), !areFolders || isPackage(one) == isPackage(other) { return [event] }
            // A package that changes places with a folder, as in a save of the whole, is the same document.
            return [one, other].map { isPart($0) || areFolders && isPackage($0) ? .present(whole($0)) : .replaced($0) }
        case .opened, .tagDropped, .overflow: return [event]
        }
    }

    /// A move into, out of or within packages, or one that makes a folder a package or a package a folder; nil for any other.
    private func move(_ old: StorePath, _ new: StorePath, _ isFolder: Bool) -> [ChangeJournal.Event]? {
        let turns = isFolder && isPackage(old) != isPackage(new)
        guard isPart(old) || isPart(new) || turns else { return nil }
        func isOfPackage(_ path: StorePath) -> Bool { isPart(path) || isFolder && isPackage(path) }
        // A package may have changed places with its new version: it is looked at, and stays the same document.
        return [
            isOfPackage(old) ? .present(whole(old)) : .absent(old), isOfPackage(new) ? .present(whole(new)) : isFolder ? .replaced(new) : .present(new),
        ]
    }
}
