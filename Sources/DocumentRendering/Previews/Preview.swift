public import CLinux
import Glibc
public import StorePrimitives
import Synchronization
import SystemPackage
public import WorkerProtocol

/// What there is to see of a document without the program that made it: pages as pictures, text, an archive's contents, facts.
///
/// It is of one version of the document. Its parts are made when they are asked for, by `Thumbnailer.part`.
public final class Preview: Sendable {
    public let name: EntryName
    public let type: DocumentType
    public let version: ThumbnailVersion
    /// What the document says of itself.
    public let facts: [Fact]
    /// 0 if nothing can be rendered of it, and then why, for a person.
    public let pageCount: Int
    public let trouble: String?
    public let hasText: Bool
    /// Who renders its pages.
    let form: Form
    /// What its text, links and entries are read as; nil if there is nobody who can.
    let reading: WorkRequest.Subject?
    /// What it lacks for want of time or memory, or of a worker, it may have another time.
    public let isPassing: Bool
    /// The document's when it was read.
    public let status: cl_status
    let document: RenderSubject
    /// Whose the document is.
    let owner: uid_t

    private struct Held {
        var contents: ArchiveListing?
        var firstPage: Descriptor?
        var converted: Descriptor?
        var isLetGo = false
    }
    /// Leaf.
    private let held: Mutex<Held>

    /// What is in it, of an archive.
    public var contents: ArchiveListing? { held.withLock { $0.contents } }
    /// The first page, as PNG: it is rendered to see whether it can be.
    public var firstPage: Descriptor? { held.withLock { $0.firstPage } }
    /// What a converter has made of the document, which is rendered in its stead.
    var converted: Descriptor? { held.withLock { $0.converted } }
    var isLetGo: Bool { held.withLock { $0.isLetGo } }

    /// Bytes in memory of what a converter has made.
    public var convertedLength: Int {
        guard let converted else { return 0 }
        var status = cl_status()
        return cl_statx_fd(converted.number, &status) == 0 ? Int(status.st.st_size) : 0
    }

    /// Lets go of the list of what is in it, when it is kept in another form.
    public func letGoOfContents() { held.withLock { $0.contents = nil } }

    /// Lets go of what takes memory and descriptors: nothing more can be made of it.
    public func letGo() { held.withLock { $0 = Held(isLetGo: true) } }

    enum Form: Equatable {
        case builtIn(WorkRequest.Subject)
        case program(ThumbnailerFile)
        case nothing
    }

    init(
        of document: RenderSubject, _ type: DocumentType, _ status: cl_status, _ form: Form, reading: WorkRequest.Subject? = nil,
        facts: [Fact] = [], pageCount: Int = 0, trouble: String? = nil, isPassing: Bool = false, hasText: Bool = false,
        contents: ArchiveListing? = nil, converted: Descriptor? = nil, firstPage: Descriptor? = nil
    ) {
        name = document.name
        self.document = document
        self.type = type
        self.status = status
        version = ThumbnailVersion(status)
        self.form = form
        self.reading = reading
        self.isPassing = isPassing
        self.facts = facts
        self.pageCount = pageCount
        self.trouble = trouble
        self.hasText = hasText
        owner = status.st.st_uid
        held = Mutex(Held(contents: contents, firstPage: firstPage, converted: converted))
    }

    /// What is told of every document, and what this one says of itself: a name and a value each.
    public var allFacts: [Fact] {
        var all = [
            Fact("name", name), Fact("type", type.name), Fact("kind", type.explanation), Fact("size", version.size),
            Fact("modified", version.date),
        ]
        all += facts.filter { $0.name != Fact.Name.pages }
        if pageCount > 0 { all.append(Fact(Fact.Name.pages, pageCount)) }
        if let contents { all.append(Fact("entries", contents.entries.count)) }
        if let trouble { all.append(Fact("trouble", trouble)) }
        return all
    }
}

/// Something in a preview that is made when it is asked for.
public enum PreviewPart: Hashable, Sendable {
    /// A picture, as PNG, of a page that counts from 1.
    case page(Int)
    /// UTF-8, 1 MiB at most; of one page or of all.
    case text(page: Int?)
    /// The links on a page that counts from 1: a `LinkListing`.
    case links(page: Int)
    /// The content of an archive's entry, by its index.
    case entry(Int)
}

/// Why there is no preview, or not this part of one, for a person.
public struct PreviewFailure: Error, Sendable {
    public let reason: String
    /// Whether it is so for as long as the document is what it is.
    public let isLasting: Bool
}
