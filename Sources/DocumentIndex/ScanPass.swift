public import StorePrimitives

/// One walk through the store, or a folder of it, after which what was not met is known to be gone.
public struct ScanPass: Sendable, Hashable {
    public let folder: StorePath
    let number: UInt64
}

/// A point in the order of the changes told as they happened; see `DocumentIndex.moment()`.
public struct ScanMoment: Sendable, Hashable {
    let number: UInt64
}

/// What a scan pass found out at its end.
public struct ScanResult: Sendable, Equatable {
    /// Documents met at a new path.
    public let moved: Int
    /// Documents that are gone.
    public let departed: Int

    public init(moved: Int, departed: Int) {
        self.moved = moved
        self.departed = departed
    }
}

/// The pass under way, and what was told as it happened meanwhile.
struct ScanState {
    var pass: ScanPass?
    /// Rows with this id or above were made since the pass began.
    var firstNewID: Int64 = 0
    /// Rows known to be there.
    var seen = IDSet()
    /// The number of the last change told as it happened.
    private(set) var moment: UInt64 = 0
    private var lastPass: UInt64 = 0
    /// When a path, with what is inside it, was last changed, while a pass is under way.
    private var changed: [StorePath: UInt64] = [:]

    mutating func begin(in folder: StorePath, firstNewID: Int64) -> ScanPass {
        lastPass += 1
        let pass = ScanPass(folder: folder, number: lastPass)
        self.pass = pass
        self.firstNewID = firstNewID
        seen = IDSet()
        changed = [:]
        return pass
    }

    mutating func end() {
        pass = nil
        seen = IDSet()
        changed = [:]
    }

    /// Notes that what is at and inside the path was changed.
    mutating func noteChange(_ path: StorePath) {
        moment += 1
        if pass != nil { changed[path] = moment }
    }

    /// Whether the path, or a folder around it, was changed after `moment`: what was seen there before is out of date.
    func isChanged(_ path: StorePath, since moment: ScanMoment) -> Bool {
        guard self.moment > moment.number, !changed.isEmpty else { return false }
        var folder = path
        while true {
            if let change = changed[folder], change > moment.number { return true }
            if folder.isRoot { return false }
            folder = folder.parent
        }
    }
}

/// A set of ids, in blocks of 4096 bits: 100,000 neighbouring ids take 13 KB.
struct IDSet {
    private var blocks: [Int64: [UInt64]] = [:]

    mutating func insert(_ id: Int64) {
        blocks[id >> 12, default: Array(repeating: 0, count: 64)][Int(id & 4095) >> 6] |= 1 << UInt64(clamping: id & 63)
    }

    func contains(_ id: Int64) -> Bool {
        guard let block = blocks[id >> 12] else { return false }
        return block[Int(id & 4095) >> 6] & (1 << UInt64(clamping: id & 63)) != 0
    }
}
