import Glibc
import MountClient
import MountProtocol
import StorePrimitives

/// One mount as `quire status` shows it.
struct MountReport: Encodable {
    enum State: String, Encodable {
        case serving
        /// The daemon died; the mount point answers "Transport endpoint is not connected".
        case dead
        /// There is a daemon, but not one that this user can ask.
        case unreachable
    }

    let state: State
    let mountPoint: DocumentPath
    let store: DocumentPath
    /// What the daemon says; nil unless it serves.
    let status: MountStatus?
    /// Why there is no status.
    let reason: String?

    /// How long a daemon has for its answer where there are others to ask.
    private static let timeout = Duration.seconds(5)
    /// How long all together have, with what a check of a mount takes besides.
    private static let timeoutForAll = Duration.seconds(20)

    /// Of many mounts, asked beside each other: one that does not answer keeps nobody from seeing the others.
    static func reports(of entries: [MountTable.Entry]) -> [MountReport] {
        let answers = TimedAnswers.collect(timeoutForAll, for: entries) { MountReport(of: $0, timeout: timeout) }
        return zip(entries, answers).map { entry, answer in answer ?? MountReport(ofSilent: entry) }
    }

    private init(ofSilent entry: MountTable.Entry) {
        mountPoint = DocumentPath(entry.mountPoint)
        store = DocumentPath(entry.source)
        (state, status, reason) = (.unreachable, nil, "its daemon does not answer")
    }

    init(of entry: MountTable.Entry, timeout: Duration = .seconds(60)) {
        mountPoint = DocumentPath(entry.mountPoint)
        store = DocumentPath(entry.source)
        do throws(ServiceCallError) {
            status = try MountLocator.connect(to: entry).call(MountInterface.status, timeout: timeout).status
            state = .serving
            reason = nil
        } catch {
            status = nil
            state = MountLiveness.of(entry.mountPoint) == .dead ? .dead : .unreachable
            reason = CommandFailure(error, mountPoint: entry.mountPoint).message
        }
    }

    private enum Key: CodingKey { case state, mountpoint, store, reason }

    func encode(to encoder: any Encoder) throws {
        try status?.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(state, forKey: .state)
        try container.encode(mountPoint, forKey: .mountpoint)
        try container.encode(store, forKey: .store)
        try container.encodeIfPresent(reason, forKey: .reason)
    }

    var text: String {
        let heading = shown(mountPoint)
        switch state {
        case .dead:
            return heading + "\n  dead: its daemon has ended; 'quire unmount \(shown(mountPoint))' or 'quire mount' repairs it"
        case .unreachable:
            return heading + "\n  store        \(shown(store))\n  unreachable  \(reason ?? "")"
        case .serving:
            return ([heading] + (status.map(lines) ?? [])).joined(separator: "\n")
        }
    }

    private func lines(_ status: MountStatus) -> [String] {
        let place = status.mode == .inPlace ? "in place" : "beside the store"
        let extent = status.system ? "system" : "user"
        let passthrough = status.passthrough ? "yes" : "no" + (status.passthroughReason.map { " (\($0))" } ?? "")
        let gather = "\(status.gather.state), \(status.gather.documents) documents in \(status.gather.folders) folders"
        var lines = [
            "  store        \(shown(status.store))",
            "  mode         \(place), \(extent)\(status.readOnly ? ", read-only" : "")",
            "  daemon       process \(status.pid), version \(status.version)",
            "  passthrough  \(passthrough)",
            "  gather       \(gather)",
            "  saves        \(status.openSaves.isEmpty ? "none" : "\(status.openSaves.count)")",
        ]
        lines += status.openSaves.map { save in
            "    \(shown(save.path))  process \(save.pid) (\(shown(save.process))), \(save.state) for \(seconds(save.age)), "
                + "\(save.bytes) bytes, last write \(seconds(save.idle)) ago"
        }
        lines.append("  writers      \(status.openWriters.isEmpty ? "none" : "\(status.openWriters.count)")")
        lines += status.openWriters.map { "    \(shown($0.path))  process \($0.pid) (\(shown($0.process))): \($0.explanation)" }
        lines += coordination(status.coordination)
        let used = status.shares.filter { ($0.usedByAll ?? $0.used) > 0 }.map { share in
            "\(share.resource) \(share.used) of \(share.limit)"
                + (share.usedByAll.map { $0 > share.used ? " (all users \($0) of \(share.limitOfAll))" : "" } ?? "")
        }
        lines.append("  shares       \(used.isEmpty ? "none used" : used.joined(separator: ", "))")
        lines.append("  relays       \(status.relays.isEmpty ? "none" : status.relays.map { shown($0) }.joined(separator: ", "))")
        if let count = status.counters["documentsLeftOut"], count > 0 {
            lines.append("  index        has no room for \(count) documents, or all their tags: their owners have their share (indexBytes, tags)")
        }
        if let trouble = status.thumbnailTrouble { lines.append("  thumbnails   none can be drawn: \(shown(trouble))") }
        if let last = status.deaths.last {
            lines.append("  deaths       \(status.deaths.count) of its daemons, the last \(Figures.age(Double(time(nil)) - last.time)) ago: \(shown(last.reason))")
        }
        if !status.counters.isEmpty {
            let counters = status.counters.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            lines.append("  counters     \(counters.joined(separator: ", "))")
        }
        return lines
    }

    private func coordination(_ status: CoordinationStatus) -> [String] {
        var lines = ["  claims       \(status.claims.isEmpty ? "none" : "\(status.claims.count)")"]
        lines += status.claims.map { claim in
            let paths = claim.paths.map { shown($0) }.joined(separator: ", ")
            let purpose = claim.purpose.map { " for \(shown($0))" } ?? ""
            let behind = claim.behind.isEmpty ? "" : ", behind \(claim.behind.map { "\($0)" }.joined(separator: ", "))"
            let saved = claim.unpublished == 0 ? "" : ", \(claim.unpublished) saved and not published yet"
            return "    \(claim.id)  \(claim.writing ? "writing" : "reading") \(paths)  process \(claim.pid) (\(shown(claim.process)))\(purpose), "
                + "\(claim.state) for \(seconds(claim.age))\(behind)\(saved)"
        }
        if status.waitingOpens > 0 { lines.append("  waiting      \(status.waitingOpens) to open what is claimed or presented") }
        lines.append("  presenters   \(status.presenterCount == 0 ? "none" : "\(status.presenterCount)")")
        lines += status.presenters.map { presenter in
            let notes = [
                presenter.contents ? "with what is in it" : nil, presenter.unsaved ? "unsaved changes" : nil,
                presenter.silent ? "does not answer" : nil,
            ].compactMap { $0 }
            return "    \(shown(presenter.path))  process \(presenter.pid) (\(shown(presenter.process)))"
                + (notes.isEmpty ? "" : ": \(notes.joined(separator: ", "))")
        }
        lines.append("  locks        \(status.locks.isEmpty ? "none" : "\(status.locks.count)")")
        lines += status.locks.map { lock in
            let range = lock.start == 0 && lock.end == nil ? "" : ", bytes \(lock.start) to \(lock.end.map { "\($0)" } ?? "the end")"
            return "    \(shown(lock.path))  process \(lock.pid): \(lock.kind), \(lock.exclusive ? "exclusive" : "shared")\(range)"
                + (lock.waits ? ", waits" : "")
        }
        return lines
    }

    private func seconds(_ time: Double) -> String { "\(Double(Int(clamping: time * 10)) / 10) s" }
}
