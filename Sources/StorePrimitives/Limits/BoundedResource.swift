/// What users have a daemon keep: one row for each thing, with what one user may have of it, and all users together.
///
/// This is the only table of such bounds. To bound something else add a case with its row, take a share where the thing is
/// made and give it back where it goes (`UserShares`), and add the row to the table in Sources/quire/Help/users.md:
/// `quire status` then shows it.
/// What lies on disk is counted from there (`UserShares.set` and `note`), and is bounded by removing the oldest, not by refusing more.
public enum BoundedResource: Int, CaseIterable, Sendable {
    case connections
    case claims
    case waitingClaims
    case claimedItems
    case claimedBytes
    case stagedNames
    case presenters
    case waitingMessages
    case waitingOpens
    case waitingCopies
    case waitingLocks
    case heldLocks
    case waitingLookups
    case waitingPreviews
    case waitingPictures
    case previewBytes
    case openFiles
    case openFolders
    case snapshotFiles
    case snapshotBytes
    case removedFiles
    case listingBytes
    case keptNames
    case indexBytes
    case textBytes
    case tags
    case keptTags
    case savedSearches
    case favorites
    case liveResults
    case grants
    case heldRequests
    case heldRequestBytes
    case thumbnailBytes
    case keptBytes

    public struct Bound: Hashable, Sendable {
        /// What one user may have.
        public var forUser: Int
        /// What all users may have together. Root is held to its own share alone, to see and end what the others do.
        public var forAll: Int

        public init(forUser: Int, forAll: Int) {
            self.forUser = forUser
            self.forAll = forAll
        }

        /// Whether a user who has `own` of the `all` that users have may have more. Where several share, nobody has more than is left
        /// then, so each further user who takes what there is gets half of the rest. (Choudhury and Hahne, Dynamic Queue Length
        /// Thresholds, 1998.)
        public func hasRoom(for amount: Int, beside own: Int, of all: Int, user: UInt32) -> Bool {
            guard amount <= forUser - own else { return false }
            if user == 0 { return true }
            let left = forAll - all
            return amount <= (forUser < forAll ? left.adding(clamping: -own).adding(clamping: -amount) : left)
        }
    }

    /// As `quire status` names it.
    public var name: String { row.name }

    public var bound: Bound { Bound(forUser: row.forUser, forAll: row.forAll) }

    /// What whoever asks for more is answered: an errno, an error of the service, or what becomes of the rest.
    public var answer: String { row.answer }

    /// Why it is bounded so.
    public var reason: String { row.reason }

    private typealias Row = (name: String, forUser: Int, forAll: Int, answer: String, reason: String)

    private var row: Row {
        switch self {
        case .connections:
            ("connections", 1_024, 4_096, "TooManyConnections", "a descriptor and some 2 KiB each while idle")
        case .claims:
            ("claims", 1_000, 4_000, "Failed", "each is compared with those that want the same items")
        case .waitingClaims:
            ("waitingClaims", 500, 2_000, "Failed", "each keeps a list of those that it waits for")
        case .claimedItems:
            ("claimedItems", 20_000, 80_000, "Failed", "some 400 bytes each, and a place in an index that opens look into")
        case .claimedBytes:
            ("claimedBytes", 32 << 20, 128 << 20, "Failed", "the paths of claims, in memory")
        case .stagedNames:
            ("stagedNames", 30_000, 60_000, "EDQUOT from what changes one more", "some 600 bytes each, and while the claim ends a lock and a descriptor")
        case .presenters:
            ("presenters", 20_000, 80_000, "Failed", "some 500 bytes each; each event is compared with those above it")
        case .waitingMessages:
            ("waitingMessages", 50_000, 200_000, "overflow, for who does not take them", "some 200 bytes each")
        case .waitingOpens:
            ("waitingOpens", 500, 2_000, "EBUSY", "each is a request of the kernel's that waits, and is looked at whenever a claim ends")
        case .waitingCopies:
            ("waitingCopies", 64, 256, "the close(2) that asks for it makes the copy; a stream goes into the document later", "each holds a descriptor or two, and a version's room on disk")
        case .waitingLocks:
            ("waitingLocks", 1_000, 4_000, "ENOLCK", "each is a request of the kernel's that waits, and is looked at whenever a lock is given up")
        case .heldLocks:
            ("heldLocks", 10_000, 40_000, "ENOLCK", "each is compared with those that others ask for on its document")
        case .waitingLookups:
            ("waitingLooks", 500, 2_000, "the picture is not there yet; EBUSY below .previews", "each is a request of the kernel's that waits for a picture or preview")
        case .waitingPreviews:
            ("waitingPreviews", 64, 512, "EAGAIN: the preview is not there", "each may take a worker's whole time")
        case .waitingPictures:
            ("waitingPictures", 5_500, 22_000, "the picture is rendered at a later lookup", "each may take a worker seconds")
        case .previewBytes:
            ("previewBytes", 256 << 20, 1 << 30, "ENOMEM from open(2)", "files below .previews, which are in memory for as long as they are open")
        case .openFiles:
            ("openFiles", 65_536, 196_608, "EMFILE, or ENFILE where all have too much", "a descriptor of the daemon's each; less if its limit is low")
        case .openFolders:
            ("openFolders", 16_384, 49_152, "EMFILE, or ENFILE where all have too much", "a descriptor of the daemon's each; less if its limit is low")
        case .snapshotFiles:
            ("snapshotFiles", 100_000, 200_000, "NoSnapshot", "what claims for reading show: a descriptor of the daemon's each; less if its limit is low")
        case .snapshotBytes:
            ("snapshotBytes", 1 << 30, 4 << 30, "NoSnapshot; a file that is written in place later is lost to the snapshot", "copies, on the store's disk, of what is written in place")
        case .removedFiles:
            ("removedFiles", 16_384, 32_768, "ESTALE, for what had no other descriptor", "removed or replaced files that apps still know: a descriptor of the daemon's each; less if its limit is low")
        case .listingBytes:
            ("listingBytes", 64 << 20, 256 << 20, "ENOMEM from opendir(3) of a virtual folder", "listings that were begun and not read to the end")
        case .keptNames:
            ("keptNames", 150_000, 600_000, "lists of virtual folders are made anew at each lookup", "some 430 bytes each; all of them for the one user of a user's mount")
        case .indexBytes:
            ("indexBytes", 1 << 30, 4 << 30, "the document is not in recents, tags and searches", "rows of documents, by their owners; of all, half the free disk at most")
        case .textBytes:
            ("textBytes", 2 << 30, 8 << 30, "the text of the document is not searched", "words of documents' texts, by their owners; the file of all has at most half the free disk")
        case .tags:
            ("tags", 10_000, 100_000, "the tag has no folder", "different tags of documents; each listing of .tags goes through all")
        case .keptTags:
            ("keptTags", 10_000, 100_000, "EDQUOT from mkdir(2)", "tags that show without documents; each listing of .tags goes through all")
        case .savedSearches:
            ("savedSearches", 1_000, 10_000, "EDQUOT from mkdir(2)", "queries that .search lists; some 100 bytes each")
        case .favorites:
            ("favorites", 10_000, 100_000, "EDQUOT from symlink(2)", "documents and folders that .favorites lists; some 100 bytes each")
        case .liveResults:
            ("liveResults", 200_000, 800_000, "Failed", "documents that watched searches may show; some 200 bytes each")
        case .grants:
            ("grants", 1_000, 10_000, "Failed", "folders in .scopes, each of which keeps the folders above its document known")
        case .heldRequests:
            ("heldRequests", 10_000, 20_000, "EBUSY", "requests that were put aside, since others of the user hold a share of the threads")
        case .heldRequestBytes:
            ("heldRequestBytes", 128 << 20, 512 << 20, "EBUSY", "the bytes of these: a write(2) has up to 1 MiB")
        case .thumbnailBytes:
            ("thumbnailBytes", 1 << 30, 4 << 30, "the pictures not looked at for longest go", "root's cache on disk; less where a tenth of its file system is less")
        case .keptBytes:
            ("keptBytes", 512 << 20, 1 << 30, "the oldest versions go", "what `quire recover` has on disk, by who saved it; the mount option keep-size says how much")
        }
    }
}
