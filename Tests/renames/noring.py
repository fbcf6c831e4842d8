import re,subprocess,os
def sub(p,*prs):
    s=open(p).read()
    for a,b in prs:
        assert a in s,(p,a)
        s=s.replace(a,b,1)
    open(p,'w').write(s)
def cut(p,a,b,new=''):
    s=open(p).read(); i=s.index(a); j=s.index(b,i); open(p,'w').write(s[:i]+new+s[j:])
F='Mount/FuseServer/'
sub(F+'KernelChannel.swift',("Three things are done here","Two things are done here"),("/// - Answers to requests that came by a ring go back by it (`KernelRings`).\n",""),
 ("    let rings: KernelRings?\n",""),("    init(wantsPassthrough: Bool, rings: KernelRings?) {\n        self.wantsPassthrough = wantsPassthrough\n        self.rings = rings\n    }","    init(wantsPassthrough: Bool) { self.wantsPassthrough = wantsPassthrough }"),
 ('''    var ringsGranted: Bool { areRingsGranted.load(ordering: .relaxed) }
    private let areRingsGranted = Atomic<Bool>(false)
    /// Known when INIT is at hand.
    var ringsOffered: Bool {
        rings != nil && negotiation.withLock { $0.offeredFlags2 & QUIRE_FUSE_OVER_IO_URING != 0 }
    }
''',''),
 ('''    /// Sends an answer or a notification: by the ring that the request came by, else by the device, as writev(2).
''','''    /// Sends an answer or a notification, as writev(2).
'''),
 ('''        if isNegotiated.load(ordering: .relaxed) {
            return KernelRings.take(vector, count: Int(count)) ?? writev(device, vector, count)
        }
''','''        if isNegotiated.load(ordering: .relaxed) { return writev(device, vector, count) }
'''),
 ('''            if rings != nil, state.offeredFlags2 & QUIRE_FUSE_OVER_IO_URING != 0 {
                answer.pointee.flags |= QUIRE_FUSE_INIT_EXT
                answer.pointee.flags2 |= QUIRE_FUSE_OVER_IO_URING
                areRingsGranted.store(true, ordering: .relaxed)
            }
''',''))
cut(F+'FuseSession+Serving.swift','''        let refusal = Mutex<Errno?>(nil)''','''        let pulse = Named''','''        for (index, slot) in dispatcher.slots.enumerated().dropFirst() {
            start("quire-serve-\\(index)") { [self] in serveRequests(slot) }
        }
''')
cut(F+'FuseSession+Serving.swift','    private func startRings(','    private func start(_ name')
cut(F+'FuseSession+Serving.swift','    /// A request that came by a ring.\n','    private func answer(_ buffer')
sub(F+'FuseSession+Serving.swift',('''    /// Serves until the mount is gone: unmounted by anyone, or `unmount()`. Throws what the kernel refused its rings with,
    /// after it had agreed to them: the mount ends then.
''','''    /// Serves until the mount is gone: unmounted by anyone, or `unmount()`.
'''),('''lettingGo: () -> Void) throws(Errno) {''','''lettingGo: () -> Void) {'''),
 ('''        if let refused = refusal.withLock({ $0 }) { throw refused }
''',''),
 ('''            // Only FORGET and INTERRUPT come this way then: many at once cost less.
            if channel.ringsGranted { usleep(1_000) }
''',''))
sub(F+'FuseSession.swift',("    let ringServers = Mutex<[RingServer]>([])\n",""),('''        /// Asks for requests by io_uring instead of read(2) of the device (Linux 6.14, see `KernelRings`).
        public var rings = false
''',''),('''        let rings = tuning.rings ? KernelRings(threads: tuning.threads, capacity: Int(tuning.maximumWrite)) : nil
        channel = KernelChannel(wantsPassthrough: tuning.passthrough, rings: rings)
''','''        channel = KernelChannel(wantsPassthrough: tuning.passthrough)
'''),('''    /// Whether requests come by io_uring. Known once the mount answers.
    public var ringsGranted: Bool { channel.ringsGranted }

''',''),('''        // A wait for a lock must not keep a ring's place, see KernelRings: the kernel keeps the locks then.
        want(Int(FUSE_CAP_POSIX_LOCKS), !channel.ringsOffered)
        want(Int(FUSE_CAP_FLOCK_LOCKS), !channel.ringsOffered)
''','''        want(Int(FUSE_CAP_POSIX_LOCKS))
        want(Int(FUSE_CAP_FLOCK_LOCKS))
'''))
sub(F+'FuseSession+Ending.swift',(" || ringServers.withLock { $0.contains { $0.isWorking } }",""))
sub(F+'Reply.swift',('''    /// Whether the answer may come later (`ParkedReply`): the request came by the device.
    public var canWait: Bool { RingRequest.current == nil }

''',''))
sub(F+'ParkedReply.swift',('''        precondition(reply.canWait, "a ring's place is not to be kept waiting, see KernelRings")
''',''),("    /// On the thread that the request came to, by the device.\n","    /// On the thread that the request came to.\n"))
sub(F+'FileData.swift',("read straight into a ring's place, else into memory.","read into memory."),('''        if let place = RingRequest.current {
            let length = quire_read_all(descriptor, place.payload, min(count, place.capacity), off_t(offset))
            guard length >= 0 else { return fail(Errno(rawValue: CInt(clamping: -length))) }
            fuse_reply_buf(take(), place.payload.assumingMemoryBound(to: CChar.self), length)
            return
        }
''',''))
cut(F+'RequestDispatcher.swift','    /// From now on one thread reads.\n','    /// Whether a request is being worked on.')
sub(F+'README.md',("Requests are read from the device, unless they come through io_uring ([Ring](Ring/README.md)). Many readers do not help: each\nrequest","Requests are read from the device. Many readers do not help: each request"),
 ("- A request that is quick costs one atomic read. Requests that come through io_uring are not held back.","- A request that is quick costs one atomic read."))
cut('Mount/CFuse/shim.h','// FUSE over io_uring','struct quire_backing_map {')
sub('Mount/CFuse/shim.h',('#define QUIRE_FUSE_OVER_IO_URING (1u << 9)        // flags2\n',''))
D='Mount/DocumentMount/'
sub(D+'Operations/Operations+Guarded.swift',('''        let canWait = reply.canWait
        guard canWait else { return openAtOnce(open, of: path, reply) }
''',''),('canWait: true, asksPresenters','asksPresenters'))
cut(D+'Operations/Operations+Guarded.swift','''    /// A request that holds a ring's place''','''    /// What an open has waited''')
sub(D+'Operations/Operations+Lookup.swift',('''                if reply.canWait { return wait(for: picture, caller, in: parent, EntryName(copying: name), reply) }
                // It is there at a later lookup.
                picture.service.render(picture.path, isFolder: picture.isFolder, picture.size, .awaited, for: caller.uid)
''','''                return wait(for: picture, caller, in: parent, EntryName(copying: name), reply)
'''))
sub(D+'Claims/Coordinator+Opens.swift',('''    ///   - canWait: whether the request may be kept waiting.
''',''),(', canWait: Bool, asksPresenters',', asksPresenters'),('open.reads && canWait && asksPresenters','open.reads && asksPresenters'),('guard canWait, open.deadline','guard open.deadline'))
sub(D+'Previews/Operations+Previews.swift',('''/// Requests in `.previews` that wait until something is made. Where they cannot wait (io_uring) it is made all the same, and they
/// are to be made again: EAGAIN.
''','''/// Requests in `.previews` that wait until something is made.
'''),('''        guard reply.canWait else {
            service.make(need, of: document, for: PreviewService.Request(user: caller.uid, isWaiting: { true }, completion: {}))
            return reply.fail(.resourceTemporarilyUnavailable)
        }
''',''))
cut(D+'Options/MountOptions.swift','    public enum Rings','    public enum VirtualFolderMode')
sub(D+'Options/MountOptions.swift',("    public var rings = Rings.off\n",""),('''        case "uring": rings = try Self.choice(name, value)
''','''        // Earlier versions took the kernel's requests through io_uring with it.
        case "uring": break
'''),('"passthrough", "uring", "restart"','"passthrough", "restart"'))
sub(D+'MountedStore.swift',("        tuning.rings = configuration.options.rings == .on\n",""),('''        if let refusal {
            throw MountFailure(
                "\\(configuration.mountPointText): the kernel refused requests by io_uring: \\(refusal); mount with -o uring=off")
        }
''',''),('''    /// Whether requests come by io_uring.
    public var ringsGranted: Bool { session.ringsGranted }

''',''))
sub(D+'Thumbnails/README.md',('''the queue drops those for which nobody waits any more. Requests through io_uring cannot wait: there a lookup causes rendering, and finds
nothing until the picture is rendered.
''','''the queue drops those for which nobody waits any more.
'''))
sub('Mount/README.md',("| `quire-ring-N` (24, or 4 a processor) | with io_uring: one request from ring to ring | the store's disk, ranked locks |\n| `quire-serve-0` alone, with io_uring | FORGET and INTERRUPT, which come through the device; one batch a millisecond at most | ranked locks |\n",""),
 ("[FuseServer](FuseServer/README.md), [FuseServer/Ring](FuseServer/Ring/README.md) | seats, shares of threads, waiting, making the kernel forget; io_uring |","[FuseServer](FuseServer/README.md) | seats, shares of threads, waiting, making the kernel forget |"))
sub('Sources/README.md',("passthrough, io_uring; knows","passthrough; knows"))
sub('Package.swift',(''' cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("uring")]),''',''' cSettings: [.define("_GNU_SOURCE")]),'''),(', exclude: ["README.md", "Ring/README.md"]',', exclude: ["README.md"]'))
sub('Sources/CoordinationService/Interface/MountStatus.swift',("    /// Whether the kernel's requests come by io_uring.\n    public var uring: Bool\n",""),("passthroughReason: String?, uring: Bool, gather","passthroughReason: String?, gather"),("        self.uring = uring\n",""))
sub('Sources/CoordinationService/Interface/MountInterface.swift',("          uring: bool,\n",""))
sub('Sources/quire/Daemon/OpenStore.swift',(" uring: store.ringsGranted,",""))
sub('Sources/quire/Output/MountReport.swift',('            "  io_uring     \\(status.uring ? "yes" : "no")",\n',''))
sub('Sources/quire/Commands/StatusCommand.swift',("passthroughReason, uring, gather","passthroughReason, gather"))
sub('Sources/quire/Commands/MountCommand.swift',("              uring=on|off                 take the kernel's requests by io_uring where it can (off)\n",""))
sub('Sources/quire/Doctor/SystemChecks.swift',("passthrough(), rings(isRoot: isRoot), attributes","passthrough(), attributes"))
cut('Sources/quire/Doctor/SystemChecks.swift','    private static func rings(','    private static func attributes(')
sub('Sources/quire/Thumbnails/MountedThumbnails.swift',("// A lookup waits for ten seconds, or not at all (io_uring); others may be before it.","// A lookup waits for ten seconds; others may be before it."))
sub('Sources/quire/Guard/DeadDaemon.swift',("/// Requests that came by io_uring are not handed out again, nor is any before Linux 6.9.","/// Before Linux 6.9 no request is handed out again."))
H='Sources/quire/Help/'
sub(H+'topics.c',('''static const char io_uring[] = {
#embed "io-uring.md" suffix(, 0)
};
''',''),('    {"io-uring", io_uring},\n',''))
sub(H+'mounting.md',("| `uring=on`, `off` | The kernel sends its requests through io_uring where it can (`quire help io-uring`). | `off` |\n",""))
sub(H+'saves.md',("With `-o uring=on`, `quire help io-uring` names further limits.\n",""))
sub(H+'installing.md',("`libsqlite3-0`, `liburing2`, `libstdc++6`","`libsqlite3-0`, `libstdc++6`"))
sub(H+'troubleshooting.md',(" On Linux 6.14 and newer, `-o uring=on` shortens each request (`quire help io-uring`).",""))
sub('README.md',(", [limits](Sources/quire/Help/limits.md), [io-uring](Sources/quire/Help/io-uring.md) | several users; backup and sync programs; differences from a plain folder |",", [limits](Sources/quire/Help/limits.md) | several users; backup and sync programs; differences from a plain folder |"))
s=open('Sources/CLinux/include/CLinux.h').read(); s=re.sub(r'#include "ring.h"\n','',s); open('Sources/CLinux/include/CLinux.h','w').write(s)
s=open('Tests/traps.proved').read(); s=''.join(l for l in s.splitlines(True) if 'FuseServer/Ring/' not in l and 'precondition(reply.canWait' not in l); open('Tests/traps.proved','w').write(s)
sub('Tests/CoordinationServiceTests/StubMount.swift',(', uring: true',''))
M='Tests/MountTests/'
sub(M+'Saves/SaveWatchTests.swift',('SaveMount.accounts + [.rootWithRings]','SaveMount.accounts'))
sub(M+'Saves/FailingDiskTests.swift',('[SaveMount.rootWithoutPassthrough, .user, .userWithRings]','[SaveMount.rootWithoutPassthrough, .user]'))
sub(M+'Saves/TornReadTests.swift',('SaveMount.allCases + [.rootWithRings]','SaveMount.allCases'))
for f,a in ((M+'Store/AppendTests.swift','SaveMount.allCases + [.rootWithRings]'),(M+'Store/OutsideWatchTests.swift','SaveMount.allCases + [.rootWithRings]'),(M+'Store/SmallReadTests.swift','SaveMount.allCases + [.rootWithRings]')):
    sub(f,(a,'SaveMount.allCases'))
sub(M+'Saves/SharedMount.swift',('user, rootWithRings, userWithRings','user'),('''    /// Requests by io_uring change how a save's requests come, not what is done with them.
    static let allCases: [SaveMount] = [.root, .rootWithoutPassthrough, .user]

''',''),('self == .user || self == .userWithRings ?','self == .user ?'),('''        case .rootWithRings, .userWithRings: account.options + ["uring=on"]
''',''),('SaveMount.allCases + [.rootWithRings, .userWithRings]','SaveMount.allCases'))
sub(M+'Saves/DaemonDeathTests.swift',('[.user, .userWithRings, .root, .rootWithoutPassthrough, .rootWithRings]','[.user, .root, .rootWithoutPassthrough]'),('''            # EINTR: of calls under way by io_uring, where the kernel's copy to the ring is what ends.
''',''),(' | ({errno.EINTR} if "uring=on" in options else set())',''))
sub(M+'Posix/PosixTests.swift',('''            (.root, Account.root.options + ["passthrough=off,uring=on"]),
''',''))

cut(M+'Posix/PosixTests.swift','        @Test(arguments: [["uring=on"]','        @Test func theMountBehavesAsTmpfs')
cut(M+'Thumbnails/ThumbnailCommandTests.swift','        /// Requests by io_uring cannot wait; the','        @Test func whyNothingCanBeKept')
sub('Sources/CoordinationService/Interface/MountInterface.swift',("        # documents by itself. uring: whether the kernel's requests come by io_uring.\n","        # documents by itself.\n"))
sub(M+'Previews/PreviewFolderTests.swift',("        @Test func onIoUringALookupIsMadeAgain() throws {\n            try withMount(.root, [\"allow_other,uring=on\"]","        @Test func aPictureIsWholeWhenItCanBeOpened() throws {\n            try withMount(.root, [\"allow_other\"]"))
sub(D+'MountedStore.swift',('''        var refusal: Errno?
        do throws(Errno) { try session.serve(lettingGo: lettingGo) } catch { refusal = error }
''','''        session.serve(lettingGo: lettingGo)
'''))
import re
s=open('Mount/try').read(); open('Mount/try','w').write(s.replace(' liburing-dev','',1))
