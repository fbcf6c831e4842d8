import Coordination

/// A document by reference, driven as the mount does it, one whole system call at a time.
final class DrivenDocument {
    /// How a save ended.
    enum Ended: Hashable {
        case replaced
        case inPlace
        case discarded(DiscardReason)
        case failed(Int32)
    }

    struct Opened: Hashable {
        var handle: SaveHandle
        var version: VersionID
        var kind: OpenKind
        var estales: Int
        var isLive: Bool { kind != .transactional }
    }

    static let millisecond: UInt64 = 1_000_000
    static let second: UInt64 = 1_000_000_000
    static let original = VersionID(1)

    var saves: DocumentSaves
    var now: UInt64 = 1_000 * second
    /// What plan said last.
    var plan: PublishPlan?
    var links = 1
    private var lastNumber: UInt64 = 1

    init(writers: [LiveWriter] = [], times: StreamTimes = StreamTimes()) {
        saves = DocumentSaves(published: Self.original, writers: writers, times: times)
    }

    func number() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// A process older than every save, with one thread unless another is named.
    static func process(_ id: Int32, thread: Int32? = nil) -> SaveCaller {
        SaveCaller(thread: ThreadID(thread ?? id), process: SaveProcess(id: id, start: 1))
    }

    /// One that was started after every save.
    static func child(_ id: Int32, of parent: SaveCaller) -> SaveCaller {
        SaveCaller(
            thread: ThreadID(id), process: SaveProcess(id: id, start: 1_000),
            ancestors: [parent.process!] + parent.ancestors)
    }

    static let unknown = SaveCaller(thread: ThreadID(0), process: nil)

    func request(
        _ caller: SaveCaller, _ flags: OpenFlags = [.writes, .truncates], on version: VersionID? = nil,
        facts: OpenFacts = OpenFacts()
    ) -> OpenRequest {
        OpenRequest(
            version: version ?? saves.published, handle: SaveHandle(number()), caller: caller, flags: flags,
            facts: facts)
    }

    /// One request; a working copy is made if it is asked for.
    func ask(_ request: OpenRequest) -> OpenDecision {
        let decision = saves.open(request, now: now)
        guard case .begin = decision else { return decision }
        return saves.begin(
            request, working: VersionID(number()), at: SaveMoment(ticks: 100, lastProcess: 500), now: now)
    }

    /// A whole open(2) by the document's path. `starting`: the version an older LOOKUP has led to.
    func open(
        _ caller: SaveCaller, _ flags: OpenFlags = [.writes, .truncates], starting version: VersionID? = nil
    ) -> Opened {
        var request = request(caller, flags, on: version ?? saves.lookup(caller), facts: OpenFacts())
        for estales in 0... {
            switch ask(request) {
            case .retry: request.version = saves.lookup(caller)
            case .serve(let version, let kind, let step):
                precondition(step == .none, "a plain open ends no save")
                return Opened(handle: request.handle, version: version, kind: kind, estales: estales)
            case .begin, .refuse: preconditionFailure("a plain open")
            }
        }
        preconditionFailure("the loop has no end")
    }

    func append(_ caller: SaveCaller) -> Opened { open(caller, [.writes, .appends]) }

    func write(_ file: Opened, by caller: SaveCaller, bytes: UInt64 = 10) {
        saves.wrote(file.handle, by: caller.process, end: bytes, now: now)
    }

    /// close(2) or the end of a process.
    /// - Parameter isHeld: another descriptor or mapping of the version is left, or nobody knows.
    func close(
        _ file: Opened, by caller: SaveCaller, _ death: Death = .none, isHeld: Bool = false, execed: Bool = false
    ) -> Ended? {
        guard let question = saves.flushing(file.handle, by: caller.process) else { return nil }
        var facts = FlushFacts(death: death)
        if caller.process == question.opener {
            facts.openerDeath = death
            facts.openerHasLeft = death == .none && !isHeld
        }
        facts.openerHasExeced = execed
        if !isHeld { facts.closed = question.holders?.handles ?? [] }
        return carryOut(saves.flush(file.handle, facts))
    }

    /// close(2) of the last descriptor, up to what is to be done then: that is not carried out.
    func flush(_ file: Opened, by caller: SaveCaller) -> SaveStep {
        _ = saves.flushing(file.handle, by: caller.process)
        var facts = FlushFacts()
        facts.closed = [file.handle]
        return saves.flush(file.handle, facts)
    }

    /// - Parameter death: how the save's opener has ended.
    func release(_ file: Opened, _ death: Death = .none) -> Ended? {
        carryOut(saves.release(file.handle, openerDeath: death))
    }

    /// - Parameter errno: publishing fails with it.
    func carryOut(_ step: SaveStep, errno: Int32? = nil) -> Ended? {
        switch step {
        case .none: return nil
        case .refuse(let errno): return .failed(errno)
        case .discard(_, let reason): return .discarded(reason)
        case .publish(let working, let cause):
            switch saves.plan(working, for: cause, hasName: links > 0, now: now) {
            case .none: return nil
            case .discard(let reason): return .discarded(reason)
            case .publish(let planned):
                let plan = staying(planned, working, links, &saves)
                self.plan = plan
                if let errno {
                    return carryOut(saves.failed(working, errno: errno, now: now)) ?? .failed(errno)
                }
                _ = saves.published(working)
                return plan.mode == .replace ? .replaced : .inPlace
            }
        }
    }

    /// Lets time pass. Returns how saves ended by it.
    func pass(_ seconds: UInt64, execed: Bool = false) -> [Ended] {
        now += seconds * Self.second
        return saves.tick(now: now) { _, _ in execed }.compactMap { carryOut($0) }
    }
}

/// What the mount does with a plan to replace a document that has further names: it finds them when it links the new version.
func staying(_ plan: PublishPlan, _ working: VersionID, _ links: Int, _ saves: inout DocumentSaves) -> PublishPlan {
    guard plan.mode == .replace, links > 1 else { return plan }
    saves.staysInPlace(working)
    return PublishPlan(
        mode: .inPlace, replaced: plan.replaced, keepsReplaced: plan.keepsReplaced, setsModificationTime: plan.setsModificationTime)
}
