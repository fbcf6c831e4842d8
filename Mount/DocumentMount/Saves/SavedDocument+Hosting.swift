import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Handles that write a working copy by the inode that the kernel has of another version (its *host*), since no LOOKUP led their programs to
/// the working copy: ftruncate(2) on an open descriptor, an open through /proc/self/fd or by a file handle.
///
/// The kernel changes the size of the host with what the handle does (O_TRUNC, each write), and by that size it reads for all programs that
/// have the host open. So the published version gets a second node, and with it a second inode in the kernel, which all who walk the
/// path come to; the host is left to those that have it open.
extension SavedDocument {
    /// Before a handle on a node writes another version's file. With no lock held.
    ///
    /// Programs that opened the host lately have a moment to read it and close it. What one reads that has it open for longer by the kernel's
    /// pages, and reads beyond its end during the save, may be zeros.
    ///
    /// - Parameter isLocked: the request holds the inode's lock in the kernel, which close(2) needs.
    func host(on node: Node, _ caller: Caller, isLocked: Bool) -> HostedWriting {
        let hosted = HostedWriting(on: node)
        makeHost(of: node, caller, isLocked: isLocked)
        return hosted
    }

    /// Gives the published version a second node and waits for its readers, for a handle that counts as hosted already.
    func makeHost(of node: Node, _ caller: Caller, isLocked: Bool) {
        hasHostedSaves.store(true, ordering: .relaxed)
        service.awaitRetries(in: self)
        displace(node, caller)
        // The kernel's name leads to the host, or to the published version, also for the saver.
        noteLastingEntry()
        forgetLastingEntries(waits: true)
        service.awaitReaders(of: node, besides: caller.thread, isLocked: isLocked)
    }

    /// Gives the published version a second node, unless the node is another version's, or its name cannot stand still.
    private func displace(_ node: Node, _ caller: Caller) {
        let process = service.processes.process(of: caller.thread)
        // A save that is being published has its plans with the node.
        let isDisplaced = turn.withLock {
            service.locator.names.changing {
                naming.withLock { () -> Bool in
                    guard state.withLock({ $0.published === node }), let link = node.currentLink, !node.hasOtherNames,
                        (try? service.awaitFreeNameChanges(of: node)) != nil, let folder = try? service.locator.folder(link.parent),
                        let file = try? service.locator.open(link.name, in: folder, flags: CL_O_PATH | O_NOFOLLOW, as: node)
                    else { return false }
                    return link.parent.nameChanges.during { displace(node, at: link, file, caller, process) }
                }
            }
        }
        // The document's hold on the node goes on to there.
        if isDisplaced { service.saveNotifier.superseded(node) }
    }

    /// With all names, the document's too, standing still.
    private func displace(
        _ node: Node, at link: Node.Link, _ file: Descriptor, _ caller: Caller, _ process: SaveProcess?
    ) -> Bool {
        let standIn = Node(standingInFor: node)
        _ = standIn.saved.storeIfNil(self)
        link.name.withCString { _ = standIn.seen(in: link.parent, name: $0, hasOtherNames: false) }
        let writers = withMachine(knownBy: node) { state, machine -> [FileHandle]? in
            guard state.published === node else { return nil }
            service.table.replace(node, by: standIn)
            node.isDisplaced.store(true, ordering: .sequentiallyConsistent)
            machine.renamePublished(to: standIn.versionID)
            state.published = standIn
            state.others += 1
            return state.handles.values.filter { $0.served === node }
        }
        guard let writers else { return false }
        node.superseded(by: process, pin: Pin(file, for: caller.uid, of: service.shares))
        // They write the document's file, by inodes of the kernel that readers do not have.
        redirect(writers, to: file, of: standIn)
        return true
    }
}

extension Node {
    /// Whether handles of the document have written another version's file by the inode of one.
    var hasHostedSaves: Bool { saved.load()?.hasHostedSaves.load(ordering: .relaxed) ?? false }
}

extension SaveService {
    /// Waits for programs whose open for reading the kernel retries in the document, to open the published version: the kernel retries an open
    /// once. With no lock held.
    func awaitRetries(in document: SavedDocument) {
        let begun = cl_monotonic_ns()
        unlessManyWait {
            // Others may begin to retry all the time.
            waitWhile(polls: .max) {
                staleRetries.areReadersExpected(in: document, within: Self.retryTime) && cl_monotonic_ns() - begun < Self.retryTime
            }
        }
    }

    /// How long a program may take from the answer ESTALE to its second OPEN.
    private static let retryTime: Int64 = 200_000_000

    /// Waits for programs that have opened a node to read it within the time that reading a document takes as a rule. With no lock held.
    /// A busy machine gives them longer: the checks come later there, and threads that wait for a processor or a READ are waited for.
    ///
    /// - Parameter isLocked: none of them can close it, so they get a tenth of that time to have it read.
    func awaitReaders(of node: Node, besides thread: pid_t, isLocked: Bool) {
        unlessManyWait {
            let begun = cl_monotonic_ns()
            let (time, least) = isLocked ? (Self.lockedReadingTime, Self.lockedReadingPolls) : (Self.readingTime, Self.readingPolls)
            var polls = 0
            waitWhile(polls: .max) {
                let waited = cl_monotonic_ns() - begun
                polls += 1
                if waited > Self.longestReading { return false }
                let readers = node.state.withLock { state in
                    state.handles.compactMap { handle in
                        !handle.isWritable && !handle.isElsewhere && handle.caller.thread != thread && begun - handle.moment < Self.readingTime
                            ? handle.caller.thread : nil
                    }
                }
                if readers.isEmpty { return false }
                if waited <= time || polls <= least { return true }
                if waited < Self.longestAsking, cl_monotonic_ns() - node.lastAsked.load(ordering: .relaxed) < Self.askingPause { return true }
                return waited < Self.longestRunning && readers.contains(where: ProcessFacts.isUnderWay)
            }
        }
    }

    /// A program that has a document open for longer shows it, or plays it: it is not about to close it.
    private static let readingTime: Int64 = 200_000_000
    /// So many take that time where they are not late.
    private static let readingPolls = 2_000
    private static let lockedReadingTime: Int64 = 20_000_000
    private static let lockedReadingPolls = 200
    /// A thread that is runnable for longer computes.
    private static let longestRunning: Int64 = 500_000_000
    private static let longestReading: Int64 = 2_000_000_000
    /// A program that asks for more of the inode after no longer than the pause is in the middle of reading it.
    private static let longestAsking: Int64 = 1_000_000_000
    private static let askingPause: Int64 = 50_000_000

    /// The node that took the place of a displaced one, as long as its file is the document. One atomic load for others.
    func standIn(for node: Node) -> Node? {
        guard node.isDisplaced.load(ordering: .relaxed), let published = node.saved.load()?.state.withLock({ $0.published }),
            published !== node, published.identity == node.identity
        else { return nil }
        return published
    }

    /// The node that has the document's name: the one that took the place of a displaced node, else the node itself.
    func named(_ node: Node) -> Node { standIn(for: node) ?? node }
}
