import CLinux
public import StorePrimitives
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
    /// 0 if nothing can be drawn of it, and then why, for a person.
    public let pageCount: Int
    public let trouble: String?
    public let hasText: Bool
    /// What is in it, of an archive.
    public let contents: ArchiveListing?
    /// Who draws it, and of what.
    let form: Form
    let document: DrawingSubject
    /// What a converter has made of the document, which is drawn in its stead.
    let converted: Descriptor?
    /// Bytes in memory of that.
    public var convertedLength: Int {
        guard let converted else { return 0 }
        var status = cl_status()
        return cl_statx_fd(converted.number, &status) == 0 ? Int(status.st.st_size) : 0
    }
    /// The first page, as PNG: it is drawn to see whether it can be.
    public let firstPage: Descriptor?

    enum Form: Equatable {
        case builtIn(WorkRequest.Subject)
        case program(ThumbnailerFile)
        case nothing
    }

    init(
        of document: DrawingSubject, _ type: DocumentType, _ version: ThumbnailVersion, _ form: Form, facts: [Fact] = [],
        pageCount: Int = 0, trouble: String? = nil, hasText: Bool = false, contents: ArchiveListing? = nil, converted: Descriptor? = nil,
        firstPage: Descriptor? = nil
    ) {
        name = document.name
        self.document = document
        self.type = type
        self.version = version
        self.form = form
        self.facts = facts
        self.pageCount = pageCount
        self.trouble = trouble
        self.hasText = hasText
        self.contents = contents
        self.converted = converted
        self.firstPage = firstPage
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
