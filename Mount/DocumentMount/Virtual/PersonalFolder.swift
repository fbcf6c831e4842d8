import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// A folder in which each user sees what they may read, and what is theirs. The kernel has one inode of it for all users, and shows
/// every user the names that it keeps.
protocol PersonalFolder: VirtualItem {
    var access: AccessChecker { get }
    /// When what the caller sees in it last changed.
    func lastChange(for caller: Credentials) -> timespec
}

extension PersonalFolder {
    var type: mode_t { S_IFDIR }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        attributes(inode: inode, mode: 0o777, links: 2, modified: access.isForOneUser ? lastChange(for: caller) : timeOfMounts)
    }

    var validity: CacheTime { access.isForOneUser ? .aMoment : .none }
    var attributesValidity: CacheTime { access.isForOneUser ? .aMoment : .untilNotified }
    var listedValidity: CacheTime? { access.isForOneUser ? .aMoment : nil }
}

/// The time of folders in which several users see different things: what one of them did is not to be told to others.
private let timeOfMounts = timespec(since1970: Clock.now)

extension CacheTime {
    /// For a program that goes through what it has just listed or looked up: `ls -l` asks three things of each name.
    fileprivate static let aMoment = CacheTime(seconds: 0.01)
}
