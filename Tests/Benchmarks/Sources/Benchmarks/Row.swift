/// One row of the table: a piece of work, measured in how much of it is done in a second.
enum Row: String, CaseIterable {
    /// Make a file, write 4 KiB, close it.
    case create = "create4k"
    /// The first stat of each file after that.
    case firstStat = "stat-first"
    case hotStat = "stat-hot"
    case openRead = "open-read4k"
    /// Open with O_TRUNC, write 4 KiB, close. In Quire a transaction: compared with what makes a save whole in bindfs, one by rename.
    case overwrite = "overwrite4k"
    /// Write 4 KiB to a new file and rename it over the old one.
    case saveByRename = "save-rename4k"
    case readFolder = "readdir"
    /// readdir, and a stat of each entry, after one such pass that is not counted.
    case longListing = "ls-l"
    case rename
    case unlink
    case sequentialWrite = "seqwrite"
    case sequentialRead = "seqread"
    /// The same over a file of half that size that is there.
    case largeOverwrite = "overwrite256m"
    case randomRead = "randread4k"
    case randomWrite = "randwrite4k"
    /// One byte of each page of a shared mapping, from the first to the last.
    case mappedRead = "mmapread"

    /// The row of bindfs that this one is compared with.
    var comparedWithBindfs: Row { self == .overwrite ? .saveByRename : self }

    var unit: String {
        switch self {
        case .readFolder, .longListing: "entries/s"
        case .sequentialWrite, .sequentialRead, .largeOverwrite, .mappedRead: "MiB/s"
        default: "ops/s"
        }
    }
}

/// What is better the less it is.
enum LimitedRow: String, CaseIterable {
    /// The share of reads that see parts of two versions, or of none: two programs save a document of up to 256 KiB over and
    /// over while two others read it.
    case tornReads = "torn-reads"
    /// The daemon's resident memory, once the mount answers and the first scan of a small store is done.
    case memoryAtStart = "memory-start"
    /// After every one of 100,000 files was looked at.
    case memoryAfterWalk = "memory-walked"

    /// From the call of close(2) in one process until a presenter in another one is told.
    case toldMedian = "told-median"
    case told99th = "told-99th"
    /// From the end of close(2) until a watch on the document is told.
    case watchedMedian = "watched-median"
    /// From a write beneath the mount until the mount shows it.
    case outside99th = "outside-99th"
    /// What it takes to unmount a mount that nobody uses, and its daemon to end: the most of five.
    case ending
    /// From the kill -9 of a daemon until its mount answers again: the most of five.
    case mountedAgain = "mounted-again"
    /// By how much a thousand listeners slow a busy store down.
    case slowedByListeners = "slowed-1000"
    /// How much longer a save of 1 MiB takes that begins with ftruncate(2) than one that begins with O_TRUNC.
    case lateSave = "late-save"

    /// `ls -l` of a thousand drawn thumbnails.
    case thumbnailListing = "thumbs-ls"
    /// By how much opening and reading a thumbnail is slower than a file of that size in the mount.
    case thumbnailOpen = "thumbs-open"
    /// By how much operations on the mount are slower while a thousand thumbnails are drawn.
    case slowedByRendering = "thumbs-slowed"

    var unit: String {
        switch self {
        case .tornReads, .slowedByListeners, .lateSave, .thumbnailOpen, .slowedByRendering: "%"
        case .memoryAtStart, .memoryAfterWalk: "MiB"
        case .toldMedian, .told99th, .watchedMedian, .outside99th, .ending, .mountedAgain, .thumbnailListing: "ms"
        }
    }
}

/// Thumbnails drawn in a second, of a folder of different photographs that nobody has drawn; beside others who draw them.
enum RenderingRow: String, CaseIterable {
    case oneMegapixel = "thumbs-1mp"
    case twelveMegapixels = "thumbs-12mp"
}

/// What is done in a second, of which there is to be a certain number; beside PostgreSQL's advisory locks.
enum RateRow: String, CaseIterable {
    /// Claims and releases by one client, and by eight at the same time.
    case claimsOfOne = "claims-1"
    case claimsOfEight = "claims-8"
}

/// Whom a figure belongs to.
enum Contender: String, CaseIterable {
    case plain
    case bindfs
    case quire
    /// In the rows of claims, in the column of the plain folder.
    case postgres
    /// In the rows of thumbnails: gdk-pixbuf-thumbnailer, one process after the other, and tumbler.
    case gdkPixbuf = "gdk-pixbuf"
    case tumbler
}
