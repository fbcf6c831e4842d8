import DocumentStore
import FuseServer
import Glibc
import StorePrimitives

/// The change that is being replayed at this moment: which requests of the replay process are answered as done.
struct ReplayedChange {
    enum Change {
        case made(OutsideChange.Place)
        /// `type` is that of st_mode.
        case gone(OutsideChange.Place, type: mode_t)
        /// `node` is what was moved, with a lookup counted.
        case moved(from: OutsideChange.Place, to: OutsideChange.Place, node: Node)
        /// Written, or its attributes were changed.
        case touched
    }

    let change: Change
    /// What the kernel has under the name that goes, or that something was moved to, if the process has found that out. With a
    /// lookup counted.
    var found: Node?
    /// The kernel has asked for the name that goes, and so has what it was answered.
    var isLookedUp = false
}

extension OutsideChange.Place {
    func isName(_ other: BorrowedName, in parent: Node) -> Bool { parent.identity == folder && name.matches(other) }
}
