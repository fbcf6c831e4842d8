import Foundation
import Synchronization

/// A presenter, from when it is added to when it is removed.
final class RegisteredPresenter: Sendable {
    private enum Audience: Sendable {
        case presenter(any FilePresenter, Mailbox)
        /// Is told, and has nothing to be asked.
        case feed(FileEventWriter)
    }

    struct State {
        var path: AbsolutePath
        var hasUnsavedChanges = false
        /// Has let a question go unanswered, and is not asked again before it answers.
        var isSilent = false
        /// Items whose deletion it was asked to accommodate, until they are gone, or something else is there.
        var accommodated: Set<AbsolutePath> = []
    }

    private let audience: Audience
    /// A leaf lock.
    private let state: Mutex<State>

    init(_ presenter: any FilePresenter, at path: AbsolutePath) {
        audience = .presenter(presenter, Mailbox(presenter.presentedItemOperationQueue))
        state = Mutex(State(path: path))
    }

    init(_ feed: FileEventWriter, at path: AbsolutePath) {
        audience = .feed(feed)
        state = Mutex(State(path: path))
    }

    var path: AbsolutePath { state.withLock { $0.path } }

    var presenter: (any FilePresenter)? { if case .presenter(let presenter, _) = audience { presenter } else { nil } }

    var hasUnsavedChanges: Bool { state.withLock { $0.hasUnsavedChanges } }

    /// Whether that is news.
    func note(unsavedChanges: Bool) -> Bool {
        state.withLock { state in
            defer { state.hasUnsavedChanges = unsavedChanges }
            return state.hasUnsavedChanges != unsavedChanges
        }
    }

    /// Whether a question left unanswered was answered since.
    var isSilent: Bool { state.withLock { $0.isSilent } }
    func note(silence: Bool) { state.withLock { $0.isSilent = silence } }

    // MARK: - Asking

    /// Asks: the item is relinquished, then saved, then its deletion is accommodated. `answer` is called once, on any thread,
    /// with why the presenter could not do it.
    func ask(_ question: AccessQuestion, answer: @escaping @Sendable (String?) -> Void) -> Relinquishment {
        guard case .presenter(let presenter, let mailbox) = audience else {
            answer(nil)
            return Relinquishment { _ in }
        }
        let relinquishment = Relinquishment { mailbox.send($0) }
        let once = Once { [self] failure in
            note(silence: false)
            answer(failure)
        }
        let accommodate: @Sendable () -> Void = { [self] in
            guard question.isDeletion else { return once.answer(nil) }
            accommodateDeletion(of: question.item, presenter) { once.answer($0) }
        }
        let save: @Sendable () -> Void = {
            guard question.savesChanges else { return accommodate() }
            presenter.savePresentedItemChanges { error in
                if let error { once.answer("\(error)") } else { mailbox.send(accommodate) }
            }
        }
        let relinquished: @Sendable ((@Sendable () -> Void)?) -> Void = { reacquire in
            if let reacquire { relinquishment.keep(reacquire) }
            mailbox.send(save)
        }
        mailbox.send {
            if question.isWriting {
                presenter.relinquishPresentedItem(toWriter: relinquished)
            } else {
                presenter.relinquishPresentedItem(toReader: relinquished)
            }
        }
        return relinquishment
    }

    private func accommodateDeletion(
        of item: AbsolutePath, _ presenter: any FilePresenter, _ answer: @escaping @Sendable (String?) -> Void
    ) {
        let own = state.withLock { state in
            state.accommodated.insert(item)
            return state.path
        }
        let handler: @Sendable ((any Error)?) -> Void = { error in answer(error.map { "\($0)" }) }
        if item.isInside(own) {
            presenter.accommodatePresentedSubitemDeletion(at: item.url, completionHandler: handler)
        } else {
            presenter.accommodatePresentedItemDeletion(completionHandler: handler)
        }
    }

    // MARK: - Telling

    /// Tells of something that happened to the item, to something in it, or to a folder that holds it. Returns where the
    /// item is now if it was moved.
    func tell(_ change: ItemChange) -> AbsolutePath? {
        let (own, moved) = state.withLock { state -> (AbsolutePath, AbsolutePath?) in
            let moved = change.kind == .moved || change.kind == .appeared
                ? change.oldPath.flatMap { state.path.moved(from: $0, to: change.path) } : nil
            if let moved { state.path = moved }
            return (moved ?? state.path, moved)
        }
        switch audience {
        case .feed(let feed): feed.yield(change.event)
        case .presenter(let presenter, let mailbox):
            mailbox.send { [self] in tell(presenter, change, own: own, isMoved: moved != nil) }
        }
        return moved
    }

    /// Goes with a move without being told. Returns where the item is now if it was moved.
    func follow(from old: AbsolutePath, to new: AbsolutePath) -> AbsolutePath? {
        state.withLock { state in
            let moved = state.path.moved(from: old, to: new)
            if let moved { state.path = moved }
            return moved
        }
    }

    /// Messages may have been missed.
    func tellToReload() {
        switch audience {
        case .feed(let feed): feed.yieldMissed(at: path.url)
        case .presenter(let presenter, let mailbox): mailbox.send { presenter.presentedItemDidChange() }
        }
    }

    private func tell(_ presenter: any FilePresenter, _ change: ItemChange, own: AbsolutePath, isMoved: Bool) {
        let isSubitem = change.path.isInside(own)
        if change.kind == .changed || change.kind == .appeared { state.withLock { _ = $0.accommodated.remove(change.path) } }
        switch change.kind {
        case .moved where isMoved: presenter.presentedItemDidMove(to: own.url)
        case .appeared where isMoved:
            presenter.presentedItemDidMove(to: own.url)
            presenter.presentedItemDidChange()
        case .moved:
            if let old = change.oldPath, old.isInside(own) {
                presenter.presentedSubitem(at: old.url, didMoveTo: change.path.url)
            } else if isSubitem {
                presenter.presentedSubitemDidAppear(at: change.path.url)
            } else {
                presenter.presentedItemDidChange()
            }
        case .appeared:
            isSubitem ? presenter.presentedSubitemDidAppear(at: change.path.url) : presenter.presentedItemDidChange()
        case .changed, .attributesChanged:
            if isSubitem { presenter.presentedSubitemDidChange(at: change.path.url) }
            if change.path == own { presenter.presentedItemDidChange() }
        case .deleted:
            let wasAsked = state.withLock { $0.accommodated.remove(change.path) != nil }
            if !wasAsked {
                accommodateDeletion(of: change.path, presenter) { _ in }
                state.withLock { _ = $0.accommodated.remove(change.path) }
            }
            isSubitem ? presenter.presentedSubitemDidChange(at: change.path.url) : presenter.presentedItemDidChange()
        case .versionGained:
            isSubitem
                ? presenter.presentedSubitem(at: change.path.url, didGain: change.version)
                : presenter.presentedItemDidGain(change.version)
        case .versionLost:
            isSubitem
                ? presenter.presentedSubitem(at: change.path.url, didLose: change.version)
                : presenter.presentedItemDidLose(change.version)
        case .saveAborted, .missed: break
        }
    }
}
