import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// The end of a claim of which nothing is published: all is as if nothing had happened.
extension ClaimTransactions {
    /// Why a claim's saves are dropped.
    enum Loss {
        /// As was asked for: they are gone.
        case discarded
        /// The holder has gone without a word, or the mount ends: kept for `quire recover`.
        case lost
    }

    /// Drops what was saved within a claim.
    func drop(_ claim: ClaimID, _ loss: Loss) { drop(close(claim), claim, loss) }

    func drop(_ places: [Place], _ claim: ClaimID, _ loss: Loss) {
        for place in places {
            guard let names = place.folder.staged.load() else { continue }
            names.changing.withLock {
                guard let staged = names[place.name, claim] else { return }
                defer { if loss == .lost, staged.hidden != nil, let path = place.path { journal.aborted(path, staged.caller) } }
                unstage(place, for: claim)
                guard let hidden = staged.hidden else { return }
                if let origin = staged.origin, isBack(hidden, from: place, to: origin, staged.caller) { return }
                // What cannot be kept stays where it is, and is kept when the store is mounted next.
                if loss == .lost || staged.origin != nil, !isKept(hidden, place) { return }
                remove(hidden, in: place.folder, by: staged.caller)
            }
        }
    }

    /// Takes a hidden version away.
    func remove(_ hidden: EntryName, in parent: Node, by caller: Caller) {
        guard let folder = try? locator.folder(parent) else { return }
        hidden.withCString { name in
            guard let status = try? FileStatus(of: name, in: folder) else { return }
            let pinned = try? Descriptor.named(name, in: folder, flags: CL_O_PATH | O_NOFOLLOW)
            _ = cl_unlinkat(folder.number, name, 0)
            guard let node = table.known(FileIdentity(status)) else { return }
            let isLast = status.st.st_nlink <= 1
            node.lost(in: parent, name: name, pin: Pin(pinned, for: caller.uid, of: saves.shares), isLast: isLast)
            if isLast { table.detach(node) }
        }
    }

    /// Puts a document that was there before the claim back to where it was, with a number if something else is there by now. False
    /// if it cannot be.
    private func isBack(_ hidden: EntryName, from place: Place, to origin: Place, _ caller: Caller) -> Bool {
        let others = (1...9).compactMap { EntryName(origin.name.bytes + Array(".\($0)".utf8)) }
        return ([origin.name] + others).contains { isMoved(hidden, from: place, to: Place(folder: origin.folder, name: $0), caller) }
    }

    private func isMoved(_ hidden: EntryName, from place: Place, to origin: Place, _ caller: Caller) -> Bool {
        guard let folder = try? locator.folder(place.folder), let target = try? locator.folder(origin.folder) else { return false }
        let isDone: Bool = locator.names.changing {
            let status = try? FileStatus(of: hidden, in: folder)
            let result = hidden.withCString { old in
                origin.name.withCString { cl_renameat2(folder.number, old, target.number, $0, CL_RENAME_NOREPLACE) }
            }
            guard result == 0 else { return false }
            if let node = status.flatMap({ table.known(FileIdentity($0)) }) {
                hidden.withCString { old in
                    origin.name.withCString { node.moved(from: place.folder, name: old, to: origin.folder, newName: $0) }
                }
                node.saved.load()?.note(origin.name)
            }
            return true
        }
        guard isDone else { return false }
        forget(origin.name, in: origin.folder)
        saves.session.current?.notifier.attributesChangedNow(of: table.id(of: origin.folder))
        origin.name.withCString { journal.made(in: origin.folder, name: $0, by: caller, isIndexed: true) }
        return true
    }

    private func isKept(_ hidden: EntryName, _ place: Place) -> Bool {
        do throws(Errno) {
            let path = place.path ?? StorePath.root.appending(place.name)
            guard try saves.store.keepStaged(hidden, in: locator.folder(place.folder), document: path) else { return true }
            log.notice("\(path): what was saved within a claim was not published and is kept for `quire recover`")
            return true
        } catch .noSuchFileOrDirectory {
            return true
        } catch {
            log.warning("\(place.path ?? .root): what was saved within a claim could not be kept yet: \(error)")
            return false
        }
    }

    /// The mount is ending.
    func stop() { for claim in counts.keys { drop(claim, .lost) } }
}
