import CLinux
import DocumentStore
import Foundation
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage
import Testing

/// Both methods on both file systems; fanotify needs privilege and is left out without, as it is in the product.
struct WatchedSetting: CustomTestStringConvertible, Sendable {
    let method: StoreWatcher.Method
    let base: String

    var testDescription: String { "\(method) on \(base)" }

    static let all: [WatchedSetting] = {
        let privileged = [CL_CAP_SYS_ADMIN, CL_CAP_DAC_READ_SEARCH].allSatisfy { cl_has_capability(Int32($0)) != 0 }
        let methods: [StoreWatcher.Method] = privileged ? [.fanotify, .inotify] : [.inotify]
        return methods.flatMap { method in TestFolder.bases.map { WatchedSetting(method: method, base: $0) } }
    }()
    static let fanotify = all.filter { $0.method == .fanotify }
    static let inotify = all.filter { $0.method == .inotify }
}

@Suite(.serialized) struct StoreWatcherTests {
    @Test(arguments: WatchedSetting.all)
    func eachKindOfChangeByAnotherProcessIsTold(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir sub other; echo text > sub/old; echo text > moves; echo text > goes; echo text > changes")
        let recorder = try ChangeRecorder(folder.root, setting.method)
        #expect(recorder.watcher.coverage == .all)

        let sub = try #require(StorePath("sub"))
        let moved = OutsideChange.Kind.moved(
            to: .init(folder: try folder.identity(of: "sub"), folderPath: sub, name: EntryName("moved")))
        let steps: [(String, OutsideChange.Kind, String)] = [
            ("touch new", .appeared, "new"),
            ("mkdir folder", .appeared, "folder"),
            ("ln -s target link", .appeared, "link"),
            ("ln sub/old hard", .appeared, "hard"),
            ("rm goes", .disappeared, "goes"),
            ("rmdir other", .disappeared, "other"),
            ("mv moves sub/moved", moved, "moves"),
            ("echo more >> changes", .contentChanged, "changes"),
            ("chmod 600 changes", .attributesChanged, "changes"),
            ("setfattr -n user.xdg.tags -v urgent changes 2>&- || touch changes", .attributesChanged, "changes"),
            ("chmod 700 sub", .attributesChanged, "sub"),
        ]
        for (script, kind, path) in steps {
            recorder.forget()
            try folder.shell(script)
            _ = try #require(recorder.first { $0.tells(kind, path) }, "\(script) was not told: \(recorder.changes)")
        }
    }

    @Test(arguments: WatchedSetting.all)
    func aChangeNamesItsFolderAndWhoDidIt(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir -p a/b")
        let recorder = try ChangeRecorder(folder.root, setting.method)
        try folder.shell("echo text > a/b/file")
        let change = try #require(recorder.first { $0.tells(.appeared, "a/b/file") })
        #expect(change.folder == (try folder.identity(of: "a/b")))
        #expect(change.name == EntryName("file"))
        #expect(!change.isFolder)
        #expect((change.pid == nil) == (setting.method == .inotify))
        #expect(change.pid != getpid())
    }

    @Test(arguments: WatchedSetting.fanotify)
    func ownChangesAreNotTold(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        let recorder = try ChangeRecorder(folder.root, .fanotify)
        for number in 0..<100 {
            try folder.write("text", to: "own-\(number)")
            #expect(rename("\(folder.path)/own-\(number)", "\(folder.path)/renamed-\(number)") == 0)
            #expect(unlink("\(folder.path)/renamed-\(number)") == 0)
        }
        try folder.shell("touch last")
        _ = try #require(recorder.first { $0.tells(.appeared, "last") })
        // A program that a test beside this one starts closes the descriptors it inherited: that close is its own.
        let told = recorder.changes.filter { $0.name != EntryName("last") }
        #expect(told.allSatisfy { $0.kind == .contentChanged && $0.pid != getpid() }, "\(told)")
        #expect(told.count < 20)
    }

    @Test(arguments: WatchedSetting.fanotify)
    func whatHappensElsewhereOnTheFileSystemIsNotTold(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        let elsewhere = try TestFolder(on: setting.base)
        // A sibling whose path begins like the store's.
        try folder.shell("mkdir -p '\(folder.path)-beside'", in: "/")
        let recorder = try ChangeRecorder(folder.root, .fanotify)
        try elsewhere.shell("touch a; mkdir b; touch b/c; rm -r b")
        try folder.shell("touch '\(folder.path)-beside/d'; rm -r '\(folder.path)-beside'")
        try folder.shell("touch last")
        _ = try #require(recorder.first { $0.tells(.appeared, "last") })
        #expect(recorder.changes.allSatisfy { $0.name == EntryName("last") }, "\(recorder.changes)")
    }

    @Test(arguments: WatchedSetting.all)
    func aChangeInAMovedFolderIsToldAtItsNewPath(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir -p one/two/three aside")
        let recorder = try ChangeRecorder(folder.root, setting.method)
        try folder.shell("touch one/two/three/before")
        _ = try #require(recorder.first { $0.tells(.appeared, "one/two/three/before") })
        try folder.shell("mv one/two aside/zwei")
        let move = try #require(recorder.first { $0.path == StorePath("one/two") && $0.target != nil })
        #expect(move.target == StorePath("aside/zwei"))
        #expect(move.isFolder)
        try folder.shell("touch aside/zwei/three/after")
        _ = try #require(recorder.first { $0.tells(.appeared, "aside/zwei/three/after") }, "\(recorder.changes)")
    }

    @Test(arguments: WatchedSetting.fanotify)
    func aChangeInAFolderThisProcessMovedIsToldAtItsNewPath(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir old")
        let recorder = try ChangeRecorder(folder.root, .fanotify)
        try folder.shell("touch old/before")
        _ = try #require(recorder.first { $0.tells(.appeared, "old/before") })
        #expect(rename("\(folder.path)/old", "\(folder.path)/new") == 0)
        try folder.shell("touch new/after")
        _ = try #require(recorder.first { $0.tells(.appeared, "new/after") }, "\(recorder.changes)")
    }

    @Test(arguments: WatchedSetting.all)
    func theStoreItselfMayBeMoved(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir -p parent/store/sub")
        let root = try Descriptor(opening: "\(folder.path)/parent/store", flags: CL_O_PATH | O_DIRECTORY)
        let recorder = try ChangeRecorder(root, setting.method)
        try folder.shell("touch parent/store/sub/before; mv parent elsewhere; touch elsewhere/store/sub/after")
        _ = try #require(recorder.first { $0.tells(.appeared, "sub/after") }, "\(recorder.changes)")
    }

    @Test(arguments: WatchedSetting.all)
    func movingIntoAndOutOfTheStoreIsAppearingAndDisappearing(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir -p store outside/came/deep; touch store/file outside/came/deep/inside; mkdir store/leaves")
        let root = try Descriptor(opening: "\(folder.path)/store", flags: CL_O_PATH | O_DIRECTORY)
        let recorder = try ChangeRecorder(root, setting.method)
        try folder.shell("mv store/file outside/file")
        _ = try #require(recorder.first { $0.tells(.disappeared, "file") }, "\(recorder.changes)")
        try folder.shell("mv outside/file store/back")
        _ = try #require(recorder.first { $0.tells(.appeared, "back") }, "\(recorder.changes)")
        try folder.shell("mv outside/came store/came")
        let came = try #require(recorder.first { $0.tells(.appeared, "came") }, "\(recorder.changes)")
        #expect(came.isFolder)
        usleep(100_000)
        try folder.shell("touch store/came/deep/later")
        _ = try #require(recorder.first { $0.tells(.appeared, "came/deep/later") }, "\(recorder.changes)")
        try folder.shell("mv store/leaves outside/leaves")
        _ = try #require(recorder.first { $0.tells(.disappeared, "leaves") }, "\(recorder.changes)")
        recorder.forget()
        try folder.shell("touch outside/leaves/unseen outside/unseen store/last")
        _ = try #require(recorder.first { $0.tells(.appeared, "last") })
        #expect(recorder.changes.allSatisfy { $0.path == StorePath("last") }, "\(recorder.changes)")
    }

    @Test(arguments: WatchedSetting.all)
    func filesMadeInFoldersJustMadeAreAllTold(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        let recorder = try ChangeRecorder(folder.root, setting.method)
        try folder.shell("for a in 1 2 3 4 5; do for b in 1 2 3 4 5; do mkdir -p $a/$b/x; touch $a/$b/x/file; done; done")
        for a in 1...5 {
            for b in 1...5 {
                _ = try #require(recorder.first { $0.tells(.appeared, "\(a)/\(b)/x/file") }, "\(a)/\(b)")
            }
        }
        #expect(recorder.watcher.coverage == .all)
    }

    @Test(arguments: WatchedSetting.all)
    func fiveThousandFilesAreAllTold(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        let recorder = try ChangeRecorder(folder.root, setting.method)
        try folder.shell("i=0; while [ $i -lt 5000 ]; do echo x > file-$i; i=$((i+1)); done")
        _ = try #require(recorder.first { $0.name == EntryName("file-4999") })
        let changes = recorder.changes
        #expect(Set(changes.filter { $0.kind == .appeared }.compactMap(\.name)).count == 5_000)
        #expect(!changes.contains { $0.kind == .overflow })
    }

    @Test(arguments: WatchedSetting.all)
    func namesThatAreNotTextAreTold(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        let recorder = try ChangeRecorder(folder.root, setting.method)
        try folder.shell(#"name=$(printf 'a\377 \n"b'); mkdir "$name"; sleep 0.1; touch "$name/$name""#)
        let name = try #require(EntryName([0x61, 0xFF, 0x20, 0x0A, 0x22, 0x62]))
        let path = StorePath.root.appending(name).appending(name)
        _ = try #require(recorder.first { $0.kind == .appeared && $0.path == path }, "\(recorder.changes)")
    }

    @Test(arguments: WatchedSetting.all)
    func changesInAFolderDeeperThanAPathCanBeLongAreTold(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        var deepest = folder.root
        let name = String(repeating: "d", count: 200)
        for _ in 0..<25 {
            _ = try check(cl_mkdirat(deepest.number, name, 0o755))
            deepest = try Descriptor(opening: name, in: deepest, flags: CL_O_PATH)
        }
        let recorder = try ChangeRecorder(folder.root, setting.method)
        try folder.shell("touch \(folder.link(to: deepest))/bottom")
        let change = try #require(recorder.first { $0.name == EntryName("bottom") && $0.kind == .appeared })
        #expect(change.folderPath.depth == 25)
    }

    /// Whoever may write on the store's file system makes folders there as deep as they like.
    @Test(.enabled(if: !WatchedSetting.fanotify.isEmpty))
    func aDeepTreeBesideTheStoreHoldsNothingUp() throws {
        let neighbour = try TestFolder(on: "/dev/shm")
        let folder = try TestFolder(on: "/dev/shm")
        let recorder = try ChangeRecorder(folder.root, .fanotify)
        try neighbour.shell("""
            python3 -c 'import os
            for level in range(8000): os.mkdir("d"); os.chdir("d")'
            """)
        try folder.shell("touch file")
        let told = recorder.first { $0.tells(.appeared, "file") }
        recorder.watcher.stop()
        // A removal by descriptors keeps one open a level.
        try neighbour.shell("rm -rf d")
        #expect(told != nil)
    }

    /// As deep as the mount's own paths go, and no deeper.
    @Test(.enabled(if: !WatchedSetting.fanotify.isEmpty))
    func aDeepTreeInTheStoreIsTold() throws {
        let folder = try TestFolder(on: "/dev/shm")
        let recorder = try ChangeRecorder(folder.root, .fanotify)
        let levels = [500, 501, 1000, 2048]
        try folder.shell("""
            python3 -c 'import os
            for level in range(2100):
                os.mkdir("d" * 40); os.chdir("d" * 40)
                if level + 1 in (500, 501, 1000, 2048, 2049): open("file%d" % (level + 1), "w").close()'
            touch end
            """)
        for level in levels {
            let change = recorder.first { $0.kind == .appeared && $0.name == EntryName("file\(level)") }
            #expect(change?.folderPath.depth == level)
        }
        _ = try #require(recorder.first { $0.tells(.appeared, "end") })
        #expect(!recorder.changes.contains { $0.name == EntryName("file2049") })
        recorder.watcher.stop()
        try folder.shell("rm -rf \(String(repeating: "d", count: 40))")
    }

    @Test(arguments: WatchedSetting.all)
    func stoppingEndsTheThreadAndTellsNothingMore(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        let recorder = try ChangeRecorder(folder.root, setting.method)
        recorder.watcher.stop()
        try folder.shell("touch late")
        usleep(50_000)
        #expect(recorder.changes.isEmpty)
        recorder.watcher.stop()
    }

    @Test(arguments: WatchedSetting.all)
    func aWatcherMayBeStoppedFromItsHandler(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        let holder = Holder()
        var options = StoreWatcher.Options()
        options.method = setting.method
        holder.watcher.withLock { watcher in
            watcher = try? StoreWatcher(folder.store, log: Logger(label: "test"), options: options) { _ in
                holder.watcher.withLock { $0.take() }?.stop()
                holder.stopped.store(true, ordering: .releasing)
            }
        }
        try folder.shell("touch file")
        let deadline = cl_monotonic_ns() + 60_000_000_000
        while !holder.stopped.load(ordering: .acquiring), cl_monotonic_ns() < deadline { usleep(1_000) }
        let stopped = holder.stopped.load(ordering: .acquiring)
        #expect(stopped)
    }

    private final class Holder: Sendable {
        let watcher = Mutex<StoreWatcher?>(nil)
        let stopped = Atomic(false)
    }

    @Test(arguments: WatchedSetting.inotify)
    func settingWatchesThatTakesLongerThanAllowedEndsInAnOverflow(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("for a in 1 2 3 4 5 6 7 8; do mkdir -p $a/x $a/y $a/z; done")
        let recorder = try ChangeRecorder(folder.root, .inotify) { $0.watchSettingMilliseconds = 0 }
        let overflow = try #require(recorder.first { $0.kind == .overflow })
        #expect(overflow.folder == (try folder.identity()))
        #expect(overflow.path == .root)
        usleep(50_000)
        #expect(recorder.watcher.coverage == .all)
        try folder.shell("touch 8/z/file")
        _ = try #require(recorder.first { $0.tells(.appeared, "8/z/file") })
    }

    @Test(arguments: WatchedSetting.inotify)
    func afterAnOverflowChangesAreToldAgain(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir slow")
        // A handler that does not come back lets the kernel's queue run over.
        let gate = Gate()
        var options = StoreWatcher.Options()
        options.method = .inotify
        let watcher = try StoreWatcher(folder.store, log: Logger(label: "test"), options: options) { changes in
            gate.changes.withLock { $0.append(contentsOf: changes) }
            while gate.closed.load(ordering: .acquiring) { usleep(1_000) }
        }
        try folder.shell("touch first; sleep 0.1; i=0; while [ $i -lt 9000 ]; do echo x > file-$((i%50)); i=$((i+1)); done")
        try folder.shell("mkdir -p new/deep; mv slow fast")
        gate.closed.store(false, ordering: .releasing)
        try #require(gate.waits { $0.kind == .overflow })
        try folder.shell("touch new/deep/file fast/file")
        #expect(gate.waits { $0.tells(.appeared, "new/deep/file") })
        #expect(gate.waits { $0.tells(.appeared, "fast/file") })
        watcher.stop()
    }

    private final class Gate: Sendable {
        let closed = Atomic(true)
        let changes = Mutex<[OutsideChange]>([])

        func waits(_ fits: (OutsideChange) -> Bool) -> Bool {
            let deadline = cl_monotonic_ns() + 60_000_000_000
            while cl_monotonic_ns() < deadline {
                if changes.withLock({ $0.contains(where: fits) }) { return true }
                usleep(1_000)
            }
            return false
        }
    }

    @Test func aLocalFileSystemShowsAllItsChanges() throws {
        let folder = try TestFolder()
        #expect(folder.root.mountKind == .local)
        let recorder = try ChangeRecorder(folder.root, .inotify)
        #expect(recorder.watcher.seesRemoteChanges)
    }
}
