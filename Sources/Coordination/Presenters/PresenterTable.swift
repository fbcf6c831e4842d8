public import StorePrimitives

/// The presenters of a store, what they are being asked, and who waits for the answers.
///
/// A state machine without I/O, threads or clock, guarded by a lock of the caller's.
///
/// **Inquiries.** Who claims or opens an item makes an *inquiry*: one question to each presenter of the item that is not the
/// asker's own. It is over when each has answered, has gone, or has let the time pass. Who did not answer is *silent*: it
/// holds nobody up again until it answers, however late. Opens that find the same question already put share its answer; a
/// claim has questions of its own, since each presenter is told when the claim is over.
///
/// Opens look only at presenters that have something to save. What one user presents bounds what a lookup costs, so an open asks
/// the nearest `mostForOpen` presenters of each user, and a claim `mostForClaim`: what more there are is told of changes alone.
public struct PresenterTable: Sendable {
    var presenters: [PresenterID: Presenter] = [:]
    private var all = PresenterIndex()
    /// Those that opens ask: they have unsaved changes, and answer. Copies of the table share it.
    public let asked = PresentedItems()
    var inquiries: [InquiryID: Inquiry] = [:]
    private var questions: [PresenterQuestion.ID: OpenQuestion] = [:]
    private var questionsTo: [PresenterID: Set<PresenterQuestion.ID>] = [:]
    /// Those that opens share.
    private var questionsForOpens: [OpenedItem: PresenterQuestion.ID] = [:]
    private var last: UInt64 = 0

    /// How many presenters of one user are asked for an open, and for a claim.
    public static let (mostForOpen, mostForClaim) = (32, 256)

    public init() {}

    /// Whether nobody presents anything. O(1).
    public var isEmpty: Bool { presenters.isEmpty }

    /// Whether any presenter is to be asked by opens: false at most times, and then these have nothing to ask here. O(1).
    public var hasUnsavedChanges: Bool { !asked.isEmpty }

    public subscript(id: PresenterID) -> Presenter? { presenters[id] }

    private mutating func next() -> UInt64 {
        last += 1
        return last
    }

    // MARK: - Who presents what

    public mutating func register(_ presenter: Presenter) -> PresenterID {
        let id = PresenterID(next())
        presenters[id] = presenter
        file(id)
        return id
    }

    /// Returns the inquiries that are over by this.
    public mutating func remove(_ id: PresenterID) -> [InquiryID] {
        guard let presenter = presenters.removeValue(forKey: id) else { return [] }
        all.remove(id, presenter)
        asked.remove(id, presenter)
        return (questionsTo[id] ?? []).sorted().flatMap { close($0) }.sorted()
    }

    public mutating func setUnsavedChanges(_ hasChanges: Bool, of id: PresenterID) {
        guard let presenter = presenters[id], presenter.hasUnsavedChanges != hasChanges else { return }
        presenters[id]?.hasUnsavedChanges = hasChanges
        file(id)
    }

    /// Has it found where it stands now.
    private mutating func file(_ id: PresenterID) {
        guard let presenter = presenters[id] else { return }
        all.insert(id, presenter)
        if presenter.hasUnsavedChanges, presenter.isAsked {
            asked.insert(id, presenter)
        } else {
            asked.remove(id, presenter)
        }
    }

    private mutating func setSilent(_ isSilent: Bool, _ id: PresenterID) {
        guard let presenter = presenters[id], presenter.isSilent != isSilent else { return }
        presenters[id]?.isSilent = isSilent
        file(id)
    }

    /// It presents another item now: the one it presents was moved in a way that nobody here could see.
    public mutating func setPath(_ path: StorePath, of id: PresenterID) {
        guard let presenter = presenters[id] else { return }
        all.remove(id, presenter)
        asked.remove(id, presenter)
        presenters[id]?.path = path
        file(id)
    }

    /// Something was moved: of the presenters named those that present it, or something in it, present it where it is now.
    public mutating func moved(from old: StorePath, to new: StorePath, _ ids: some Sequence<PresenterID>) {
        for id in ids {
            if let path = presenters[id]?.path.moved(from: old, to: new) { setPath(path, of: id) }
        }
    }

    /// Whether a user presents anything. O(1).
    public func hasAny(of user: UInt32) -> Bool { all.hasAny(of: user) }

    /// A user's presenters of an item, or of something in it. Linear in these.
    public func presenters(within item: StorePath, of user: UInt32) -> [PresenterID] { all.within(item, of: user) }

    /// A user's presenters of an item, alone or with the folder it is in; with `contents` those of something in it, too. Some may come
    /// twice. Linear in these.
    public func presenters(of item: StorePath, contents: Bool, of user: UInt32) -> [PresenterID] {
        contents ? all.showing(item, of: user) + all.within(item, of: user) : all.showing(item, of: user)
    }

    private func without(_ actor: Claimant, _ ids: [PresenterID]) -> [PresenterID] {
        ids.filter { presenters[$0]?.isOwn(actor) == false }.sorted()
    }

    // MARK: - Asking

    /// A presenter that is to be asked, and what its user must be able to write to be: the item of which it learns.
    public struct Audience: Hashable, Sendable {
        public let presenter: PresenterID
        public let item: StorePath
    }

    /// Whom a claim would ask, for each of its intents.
    public func audience(for intents: [ClaimIntent], by asker: Claimant) -> [Audience] {
        isEmpty ? [] : matters(of: intents, by: asker).map(\.one)
    }

    private func matters(
        of intents: [ClaimIntent], by asker: Claimant
    ) -> [(one: Audience, matter: PresenterQuestion.Matter)] {
        var found: [(Audience, PresenterQuestion.Matter)] = []
        var counted: [UInt32: Int] = [:]
        for intent in intents {
            guard let matter = intent.matter else { continue }
            let near = all.nearest(intent.path, contents: intent.coversContents, mostOfUser: Self.mostForClaim)
            for id in near.sorted() {
                guard let presenter = presenters[id] else { continue }
                counted[presenter.account, default: 0] += 1
                guard counted[presenter.account, default: 0] <= Self.mostForClaim else { continue }
                guard presenter.isAsked, !presenter.isOwn(asker) else { continue }
                let item = presenter.path.isInside(intent.path) ? presenter.path : intent.path
                found.append((Audience(presenter: id, item: item), matter))
            }
        }
        return found
    }

    /// Whom an open of a document for reading would ask.
    public func audience(forOpening path: StorePath, by asker: Claimant) -> [PresenterID] {
        asked.isEmpty ? [] : without(asker, asked.nearest(path, mostOfUser: Self.mostForOpen))
    }

    /// Asks the presenters of what is claimed. Nil if there is nobody to ask.
    /// - Parameters:
    ///   - deadline: in nanoseconds of a clock that never goes back; see `expire`.
    ///   - mayBeAsked: whether a presenter may learn of it.
    public mutating func inquire(
        for intents: [ClaimIntent], by asker: Claimant, deadline: UInt64, where mayBeAsked: (Audience) -> Bool = { _ in true }
    ) -> (id: InquiryID, questions: [PresenterQuestion])? {
        guard !isEmpty else { return nil }
        let asked = matters(of: intents, by: asker).filter { mayBeAsked($0.one) }.map { question(to: $0.one.presenter, $0.matter) }
        guard !asked.isEmpty else { return nil }
        let inquiry = InquiryID(next())
        inquiries[inquiry] = Inquiry(deadline: deadline, isClaim: true, put: asked, waitingFor: Set(asked.map(\.id)))
        for question in asked { put(OpenQuestion(question: question, inquiries: [inquiry])) }
        return (inquiry, asked)
    }

    /// Asks those who have unsaved changes in a document that is being opened for reading. Nil if there are none. Questions
    /// that are already put are not put again.
    public mutating func inquire(
        forOpening path: StorePath, by asker: Claimant, deadline: UInt64, where mayBeAsked: (PresenterID) -> Bool = { _ in true }
    ) -> (id: InquiryID, questions: [PresenterQuestion])? {
        let audience = audience(forOpening: path, by: asker).filter(mayBeAsked)
        guard !audience.isEmpty else { return nil }
        let matter = PresenterQuestion.Matter(item: path, access: .reading, savesChanges: true, isDeletion: false)
        let inquiry = InquiryID(next())
        var (put, awaited): ([PresenterQuestion], Set<PresenterQuestion.ID>) = ([], [])
        for presenter in audience {
            if let same = questionsForOpens[OpenedItem(presenter: presenter, path: path)] {
                questions[same]?.inquiries.insert(inquiry)
                awaited.insert(same)
                continue
            }
            let question = question(to: presenter, matter)
            self.put(OpenQuestion(question: question, inquiries: [inquiry], isForClaim: false))
            awaited.insert(question.id)
            put.append(question)
        }
        inquiries[inquiry] = Inquiry(deadline: deadline, isClaim: false, put: put, waitingFor: awaited)
        return (inquiry, put)
    }

    private mutating func question(to presenter: PresenterID, _ matter: PresenterQuestion.Matter) -> PresenterQuestion {
        let question = PresenterQuestion(id: PresenterQuestion.ID(next()), presenter: presenter, matter: matter)
        presenters[presenter]?.lastQuestion = question.id
        return question
    }

    /// A presenter has answered, perhaps too late: from now on it is asked again. Returns the inquiries that are over by this.
    /// - Parameter failure: why it could not do what it was asked.
    public mutating func answer(
        _ id: PresenterQuestion.ID, from presenter: PresenterID, failure: String? = nil
    ) -> [InquiryID] {
        // Whatever else it says does not show that it hears.
        if presenters[presenter]?.lastQuestion == id { setSilent(false, presenter) }
        guard let open = questions[id], open.question.presenter == presenter else { return [] }
        for inquiry in open.inquiries {
            if let failure { inquiries[inquiry]?.failures.append(PresenterFailure(presenter: presenter, message: failure)) }
        }
        return close(id)
    }

    /// Ends the first of the inquiries whose time is over. Linear in the inquiries.
    public mutating func expireNext(now: UInt64) -> InquiryID? {
        let late = inquiries.lazy.filter { !$0.value.waitingFor.isEmpty && $0.value.deadline <= now }.map(\.key).min()
        guard let late else { return nil }
        for id in inquiries[late]?.waitingFor.sorted() ?? [] {
            guard let presenter = questions[id]?.question.presenter else { continue }
            setSilent(true, presenter)
            inquiries[late]?.silent.append(presenter)
            leave(id, late)
        }
        inquiries[late]?.waitingFor = []
        return late
    }

    /// When the next inquiry expires. Linear in the inquiries.
    public var nextDeadline: UInt64? { inquiries.values.lazy.filter { !$0.waitingFor.isEmpty }.map(\.deadline).min() }

    /// What came of an inquiry that is over. One for an open is forgotten by this; one for a claim by `end`.
    public mutating func outcome(of id: InquiryID) -> InquiryOutcome? {
        guard let inquiry = inquiries[id], inquiry.waitingFor.isEmpty else { return nil }
        if !inquiry.isClaim { inquiries[id] = nil }
        return InquiryOutcome(silent: inquiry.silent, failures: inquiry.failures)
    }

    /// The claim or open that an inquiry was for is over, or given up. Returns what was asked for a claim: these presenters may go on
    /// with the item, also those that have not answered yet.
    public mutating func end(_ id: InquiryID) -> [PresenterQuestion] {
        guard let inquiry = inquiries.removeValue(forKey: id) else { return [] }
        for question in inquiry.waitingFor { leave(question, id) }
        return inquiry.isClaim ? inquiry.put.filter { presenters[$0.presenter] != nil } : []
    }

    /// An inquiry no longer waits for a question, which is forgotten when none does: an answer then only shows that the
    /// presenter is there.
    private mutating func leave(_ question: PresenterQuestion.ID, _ inquiry: InquiryID) {
        questions[question]?.inquiries.remove(inquiry)
        if questions[question]?.inquiries.isEmpty == true { _ = forget(question) }
    }

    private mutating func put(_ open: OpenQuestion) {
        questions[open.question.id] = open
        questionsTo[open.question.presenter, default: []].insert(open.question.id)
        if !open.isForClaim { questionsForOpens[OpenedItem(open.question)] = open.question.id }
    }

    private mutating func forget(_ id: PresenterQuestion.ID) -> OpenQuestion? {
        guard let open = questions.removeValue(forKey: id) else { return nil }
        let presenter = open.question.presenter
        questionsTo[presenter]?.remove(id)
        if questionsTo[presenter]?.isEmpty == true { questionsTo[presenter] = nil }
        if !open.isForClaim { questionsForOpens[OpenedItem(open.question)] = nil }
        return open
    }

    /// Returns the inquiries that are over by this.
    private mutating func close(_ id: PresenterQuestion.ID) -> [InquiryID] {
        guard let open = forget(id) else { return [] }
        return open.inquiries.sorted().filter { inquiry in
            inquiries[inquiry]?.waitingFor.remove(id)
            return inquiries[inquiry]?.waitingFor.isEmpty ?? false
        }
    }
}

/// What presenters were asked by one claim or open.
public struct InquiryID: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// A presenter could not do what it was asked.
public struct PresenterFailure: Hashable, Sendable {
    public let presenter: PresenterID
    public let message: String
}

public struct InquiryOutcome: Hashable, Sendable {
    /// Those that did not answer in time.
    public let silent: [PresenterID]
    public let failures: [PresenterFailure]
}

struct Inquiry: Sendable {
    let deadline: UInt64
    let isClaim: Bool
    let put: [PresenterQuestion]
    var waitingFor: Set<PresenterQuestion.ID>
    var silent: [PresenterID] = []
    var failures: [PresenterFailure] = []
}

private struct OpenQuestion: Sendable {
    let question: PresenterQuestion
    var inquiries: Set<InquiryID>
    var isForClaim = true
}

/// A document that a presenter is asked to save, as somebody opens it.
private struct OpenedItem: Hashable, Sendable {
    let presenter: PresenterID
    let path: StorePath

    init(presenter: PresenterID, path: StorePath) { (self.presenter, self.path) = (presenter, path) }

    init(_ question: PresenterQuestion) { self.init(presenter: question.presenter, path: question.matter.item) }
}
