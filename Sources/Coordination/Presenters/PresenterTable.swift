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
/// A look costs the length of the path and the presenters found; opens look only at those that have something to save.
public struct PresenterTable: Sendable {
    var presenters: [PresenterID: Presenter] = [:]
    private var all = PresenterIndex()
    /// Those that opens ask: they have unsaved changes, and answer.
    private var asked = PresenterIndex()
    var inquiries: [InquiryID: Inquiry] = [:]
    private var questions: [PresenterQuestion.ID: OpenQuestion] = [:]
    private var questionsTo: [PresenterID: Set<PresenterQuestion.ID>] = [:]
    private var last: UInt64 = 0

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
        all.remove(id, at: presenter.path)
        asked.remove(id, at: presenter.path)
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
            asked.remove(id, at: presenter.path)
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
        all.remove(id, at: presenter.path)
        asked.remove(id, at: presenter.path)
        presenters[id]?.path = path
        file(id)
    }

    /// Something was moved: who presents it, or something in it, presents it where it is now.
    public mutating func moved(from old: StorePath, to new: StorePath) {
        guard !isEmpty else { return }
        for id in all.at(old).union(all.inside(old)) {
            if let path = presenters[id]?.path.moved(from: old, to: new) { setPath(path, of: id) }
        }
    }

    /// Those who present an item, alone or with the folder it is in; with `contents` those of what is in it too. In the order
    /// they came, without those whose own doing it is.
    public func presenters(of item: StorePath, contents: Bool, besides doer: Claimant?) -> [PresenterID] {
        guard !isEmpty else { return [] }
        let found = all.showing(item)
        return without(doer, contents ? found.union(all.inside(item)) : found)
    }

    private func without(_ doer: Claimant?, _ ids: Set<PresenterID>) -> [PresenterID] {
        guard let doer else { return ids.sorted() }
        return ids.filter { presenters[$0]?.isOwn(doer) == false }.sorted()
    }

    /// Whether opens of an item have anybody to ask. O(length of the path).
    public func isPresented(_ path: StorePath) -> Bool { !asked.isEmpty && !asked.showing(path).isEmpty }

    // MARK: - Asking

    /// A presenter that is to be asked, and what its user must be able to write to be: the item of which it learns.
    public struct Audience: Hashable, Sendable {
        public let presenter: PresenterID
        public let item: StorePath
    }

    /// Whom a claim for an intent asks.
    private func audience(for intent: ClaimIntent, by asker: Claimant) -> [Audience] {
        guard !isEmpty, intent.matter != nil else { return [] }
        return presenters(of: intent.path, contents: intent.coversContents, besides: asker).compactMap { id in
            guard let presenter = presenters[id], presenter.isAsked else { return nil }
            return Audience(presenter: id, item: presenter.path.isInside(intent.path) ? presenter.path : intent.path)
        }
    }

    /// Whom a claim would ask.
    public func audience(for intents: [ClaimIntent], by asker: Claimant) -> [Audience] {
        isEmpty ? [] : intents.flatMap { audience(for: $0, by: asker) }
    }

    /// Whom an open of a document for reading would ask.
    public func audience(forOpening path: StorePath, by asker: Claimant) -> [PresenterID] {
        asked.isEmpty ? [] : without(asker, asked.showing(path))
    }

    /// Asks the presenters of what is claimed. Nil if there is nobody to ask.
    /// - Parameters:
    ///   - deadline: in nanoseconds of a clock that never goes back; see `expire`.
    ///   - mayBeAsked: whether a presenter may learn of it.
    public mutating func inquire(
        for intents: [ClaimIntent], by asker: Claimant, deadline: UInt64, where mayBeAsked: (Audience) -> Bool = { _ in true }
    ) -> (id: InquiryID, questions: [PresenterQuestion])? {
        var asked: [PresenterQuestion] = []
        for intent in intents {
            guard let matter = intent.matter else { continue }
            for one in audience(for: intent, by: asker) where mayBeAsked(one) { asked.append(question(to: one.presenter, matter)) }
        }
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
            let same = questionsTo[presenter]?.first { id in
                questions[id].map { $0.question.matter == matter && !$0.isForClaim } ?? false
            }
            if let open = same {
                questions[open]?.inquiries.append(inquiry)
                awaited.insert(open)
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

    /// Ends the inquiries whose time is over, and returns them. Linear in the inquiries.
    public mutating func expire(now: UInt64) -> [InquiryID] {
        let late = inquiries.filter { !$0.value.waitingFor.isEmpty && $0.value.deadline <= now }.keys.sorted()
        for inquiry in late {
            for id in inquiries[inquiry]?.waitingFor.sorted() ?? [] {
                guard let presenter = questions[id]?.question.presenter else { continue }
                setSilent(true, presenter)
                inquiries[inquiry]?.silent.append(presenter)
                leave(id, inquiry)
            }
            inquiries[inquiry]?.waitingFor = []
        }
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
        questions[question]?.inquiries.removeAll { $0 == inquiry }
        if questions[question]?.inquiries.isEmpty == true { _ = forget(question) }
    }

    private mutating func put(_ open: OpenQuestion) {
        questions[open.question.id] = open
        questionsTo[open.question.presenter, default: []].insert(open.question.id)
    }

    private mutating func forget(_ id: PresenterQuestion.ID) -> OpenQuestion? {
        guard let open = questions.removeValue(forKey: id) else { return nil }
        let presenter = open.question.presenter
        questionsTo[presenter]?.remove(id)
        if questionsTo[presenter]?.isEmpty == true { questionsTo[presenter] = nil }
        return open
    }

    /// Returns the inquiries that are over by this.
    private mutating func close(_ id: PresenterQuestion.ID) -> [InquiryID] {
        guard let open = forget(id) else { return [] }
        return open.inquiries.filter { inquiry in
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
    var inquiries: [InquiryID]
    var isForClaim = true
}
