public import Foundation

/// Moves, which presenters of this process cannot be told of otherwise.
extension FileCoordinator {
    /// Says that an item will be moved. Nothing comes of it on Linux, where no sandbox has to be asked; it is here for code
    /// that says so.
    public func item(at oldURL: URL, willMoveTo newURL: URL) {}

    /// Says that an item was moved, by an accessor that writes `oldURL` for moving and `newURL`: the presenters of this
    /// process are told where it is, and accesses to it that wait outside of mounts go with it. Those of other processes are
    /// told by the mount, whether this is called or not.
    public func item(at oldURL: URL, didMoveTo newURL: URL) {
        guard let old = try? AbsolutePath(oldURL, resolvesLink: false), let new = try? AbsolutePath(newURL, resolvesLink: false)
        else { return }
        note(moveFrom: old, to: new)
        LocalAccessTable.shared.moved(from: old, to: new)
        PresenterRegistry.shared.tell(ItemChange(.moved, at: new, from: old), besides: filePresenter)
        if let filePresenter { PresenterRegistry.shared.follow(filePresenter, from: old, to: new) }
    }
}
