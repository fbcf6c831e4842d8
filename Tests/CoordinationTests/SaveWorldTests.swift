import Coordination
import Testing

/// Random worlds of processes that open, write, close, fork, exec, map, die, rename and link, against what is true of
/// them.
struct SaveWorldTests {
    @Test(arguments: 0..<4 as Range<UInt64>)
    func noSaveIsTornLostOrLeft(block: UInt64) throws {
        var seen: [String: Int] = [:]
        for seed in block * 200..<(block + 1) * 200 {
            let world = SaveWorld(seed: seed)
            do {
                try world.run(steps: 400)
            } catch let broken as SaveWorld.Broken {
                Issue.record("seed \(seed): \(broken.promise)\n\(world.history.joined(separator: "\n"))")
                return
            }
            seen.merge(world.seen, uniquingKeysWith: +)
        }
        // The run met everything there is.
        for event in Self.events { #expect(seen[event, default: 0] > 0, "\(event)") }
    }

    private static let events = [
        "keep", "elsewhere: discard",
        "publish: closed replace", "publish: closed inPlace", "publish: synced replace", "publish: synced inPlace",
        "publish: renamed replace", "publish: stream inPlace", "publish: outOfRoom inPlace",
        "fail: closed",
        "discard: killed", "discard: writeFailed", "discard: publishFailed", "discard: removed", "discard: neverOpened",
        "live: appending", "live: notTruncating", "live: unknownCaller", "live: empty", "live: hardLinked",
        "live: writtenByAnother", "live: writtenBySaver",
    ]
}

extension SaveWorld {
    private static let signals: [Int32?] = [9, 9, 11, 15, 2, 1, 13, nil]

    func run(steps: Int) throws {
        for _ in 0..<3 { _ = spawn(by: nil) }
        for _ in 0..<steps {
            now += UInt64.random(in: 0..<20_000_000, using: &numbers)
            try act()
            try check()
        }
        try end()
    }

    private func act() throws {
        switch Int.random(in: 0..<100, using: &numbers) {
        case 0..<15 where !publications.isEmpty: try publish(Int.random(in: publications.indices, using: &numbers))
        case 15..<28 where !releases.isEmpty:
            try release(releases.remove(at: Int.random(in: releases.indices, using: &numbers)))
        case 28: try passTime(UInt64.random(in: 0..<8_000_000_000, using: &numbers))
        case 29:
            let parent = processes.filter { $0.death == nil }.randomElement(using: &numbers)
            _ = spawn(by: happens(70) ? parent : nil)
        case 30: if happens(3), links == 1 { (links, _) = (2, note("link")) }
        case 31: if happens(2), publications.allSatisfy({ $0.plan == nil }) { (links, _) = (0, note("remove")) }
        default:
            guard let thread = processes.flatMap(\.threads).randomElement(using: &numbers) else { return }
            try run(thread)
        }
    }

    private func passTime(_ time: UInt64) throws {
        now += time
        let steps =
            machine?.tick(now: now) { [self] process, version in
                processes.contains { $0.identity == process && $0.execs > truths[version]!.execs }
            } ?? []
        lost.removeAll { now >= $0 + 5_000_000_000 }
        for step in steps {
            note("tick \(step)")
            if case .publish(let version, .stream) = step {
                // Who is killed now has become a stream before.
                truths[version]!.isKilled = false
            }
            try carryOut(step) { _ in }
        }
        dropIdleMachine()
    }

    private func run(_ thread: Thread) throws {
        let process = thread.process
        if process.death != nil { return try die(thread) }
        guard case .idle = thread.activity else { return try step(thread) }
        let file = process.descriptors.randomElement(using: &numbers)
        switch Int.random(in: 0..<100, using: &numbers) {
        case 0..<17: open(thread, [.writes, .truncates])
        case 17..<20: open(thread, [.writes, .appends])
        case 20: open(thread, happens(50) ? [.writes] : [.writes, .truncates, .appends])
        case 21: open(thread, happens(50) ? [.writes, .truncates, .creates] : [.writes, .creates])
        case 22..<40: if let file { try write(file, by: process, failing: happens(8) && openSaves.contains(file.file)) }
        case 40..<75: if let file { close(file, by: thread, .none) }
        case 75..<85: try read(thread)
        case 85..<87: if let file { duplicate(file, into: process) }
        case 87:
            if let file {
                file.mappings += 1
                truths[file.file]?.wasMapped = true
                process.mappings.append(file)
                note("map \(file.handle.rawValue)")
            }
        case 88..<90:
            let mapped = process.mappings.randomElement(using: &numbers)
            if let mapped { try write(mapped, by: nil, failing: false) }
        case 90: process.execs += 1
        case 91: if let file { try sync(file, thread) }
        case 92: try rename(thread)
        case 93..<97:
            let version = happens(30) ? file?.node : readers.last?.file
            if let version { reopen(version, thread) }
        case 97, 98:
            process.death = .killed(Self.signals.randomElement(using: &numbers)!)
            note("kill \(process.identity.id) \(process.death!)")
        default:
            process.death = Death.none
            note("exit \(process.identity.id)")
        }
    }

    private func open(_ thread: Thread, _ flags: OpenFlags) {
        guard links > 0 else { return }
        thread.activity = .walking(Opening(flags: flags, reopened: nil))
    }

    private func reopen(_ version: VersionID, _ thread: Thread) {
        thread.activity = .walking(Opening(flags: happens(50) ? [.writes, .truncates] : [.writes], reopened: version))
    }

    private func close(_ file: OpenFile, by thread: Thread, _ death: Death) {
        let process = thread.process
        process.descriptors.remove(at: process.descriptors.firstIndex { $0 === file }!)
        file.descriptors -= 1
        file.flushes += 1
        thread.activity = .flushing(file, death)
    }

    private func sync(_ file: OpenFile, _ thread: Thread) throws {
        note("sync \(file.handle.rawValue)")
        file.isFlushed = false
        thread.activity = .waiting
        try carryOut(machine?.sync(file.handle) ?? .none) { _ in thread.activity = .idle }
    }

    private func rename(_ thread: Thread) throws {
        note("rename by \(thread.id.rawValue)")
        for step in machine?.renaming(by: caller(thread)) ?? [] { try carryOut(step) { _ in } }
    }

    /// One step of a thread of a process that is ending: what it has asked the mount for is answered first.
    private func die(_ thread: Thread) throws {
        let process = thread.process
        switch thread.activity {
        case .walking(let opening):
            if opening.estales > 0 { lost.append(now) }
            thread.activity = .idle
        case .idle where thread !== process.threads[0]: thread.activity = .dead
        case .idle:
            let others = process.threads.dropFirst().allSatisfy { if case .dead = $0.activity { true } else { false } }
            guard others else { return }
            if let file = process.mappings.popLast() {
                file.mappings -= 1
                gone(file)
            } else if let file = process.descriptors.last {
                close(file, by: thread, process.death!)
            } else {
                thread.activity = .dead
                process.isGone = true
            }
        case .dead: break
        default: try step(thread)
        }
    }

    /// Everybody exits, everything is carried out: nothing is left.
    private func end() throws {
        note("end")
        for process in processes where process.death == nil { process.death = Death.none }
        var rounds = 0
        while processes.contains(where: { !$0.isGone }) || !publications.isEmpty || !releases.isEmpty {
            rounds += 1
            try require(rounds < 10_000, "it goes on for ever")
            for thread in processes.flatMap(\.threads) { try die(thread) }
            if !publications.isEmpty { try publish(publications.firstIndex { $0.plan != nil } ?? 0) }
            if let file = releases.popLast() { try release(file) }
            try check()
        }
        try passTime(6_000_000_000)
        while !publications.isEmpty { try publish(0) }
        try passTime(0)
        try require(machine == nil, "left: \(String(describing: machine?.openSaves))")
        try require(files.isEmpty, "handles are left")
        try check()
    }
}
