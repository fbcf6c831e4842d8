import CLinux
import Glibc
import StorePrimitives
import SystemPackage
import WorkerProtocol

extension Renderer {
    /// Of a document with more, the rest is not shown.
    private static let mostPages = 10_000
    /// Converters are large programs.
    private static let secondsOfConverter = 60
    private static let secondsForFacts = 10

    func preview(of subject: RenderSubject, _ thumbnailer: Thumbnailer) throws(RenderRefusal) -> Preview {
        let content: Descriptor, status: cl_status
        do throws(Errno) {
            content = try open(subject).0
            status = try Self.status(of: content)
        } catch {
            throw RenderRefusal("it cannot be read: \(error)", lasts: .no)
        }
        let type = DocumentType(of: subject.name) { Self.beginning(of: content) }
        guard status.st.st_size > 0 else { return Preview(of: subject, type, status, .nothing, trouble: "it is empty") }
        var failure: RenderRefusal?
        for converter in thumbnailer.providers.converters(for: type) {
            do throws(RenderRefusal) {
                let result = try converted(content, subject.name, by: converter, thumbnailer)
                return preview(of: subject, type, status, [Self.form(of: result)], result, converted: result, nil, thumbnailer)
            } catch {
                failure = error
            }
        }
        let forms = thumbnailer.providers.providers(for: type).compactMap { provider -> Preview.Form? in
            switch provider {
            case .builtIn(let rendering): .builtIn(rendering)
            case .program(let file): .program(file)
            case .folder: nil
            }
        }
        return preview(of: subject, type, status, forms, content, converted: nil, failure, thumbnailer)
    }

    /// - Parameters:
    ///   - forms: how its pages may be rendered, the best first.
    ///   - content: the document, or what a converter made of it.
    ///   - failure: why no converter made anything of it.
    private func preview(
        of subject: RenderSubject, _ type: DocumentType, _ status: cl_status, _ forms: [Preview.Form], _ content: Descriptor,
        converted: Descriptor?, _ failure: RenderRefusal?, _ thumbnailer: Thumbnailer
    ) -> Preview {
        let reading = forms.lazy.compactMap { form -> WorkRequest.Subject? in
            if case .builtIn(let rendering) = form { rendering } else { nil }
        }.first
        var facts: [Fact] = []
        var contents: ArchiveListing?
        if let reading {
            let answer = try? ask(.facts(reading), [content], seconds: Self.secondsForFacts, thumbnailer)
            if case .facts(let found)? = answer?.reply { facts = found }
            if reading == .archive { contents = (try? bytes(.list, content, thumbnailer)).flatMap { ArchiveListing(bytes: $0) } }
        }
        let told = facts.first { $0.name == Fact.Name.pages }.flatMap { Int($0.value) } ?? 1
        var form = Preview.Form.nothing
        var firstPage: Descriptor?
        var failure = failure
        var isOutOfTime = false
        // Programs of others render one page only. What takes one provider all its time would take that of the others.
        for candidate in told > 1 ? forms.filter({ $0 == reading.map { .builtIn($0) } }) : forms
        where firstPage == nil && !isOutOfTime {
            do throws(RenderRefusal) {
                firstPage = try Self.file(try page(1, candidate, subject.name, content, pixels: Thumbnailer.pagePixels, thumbnailer))
                form = candidate
            } catch {
                failure = failure ?? error
                isOutOfTime = error.lasts == .awhile
            }
        }
        let hasText = switch reading {
        // What is called text may be none.
        case .text, .code: firstPage != nil
        // PDF, and not a picture.
        case .pages: facts.contains { $0.name == Fact.Name.pages }
        case .image, .embedded, .media, .archive, nil: false
        }
        if firstPage == nil, failure == nil {
            failure = RenderRefusal("nothing here draws documents of type \(type)", lasts: .always)
        }
        return Preview(
            of: subject, type, status, form, reading: reading, facts: facts,
            pageCount: firstPage == nil ? 0 : min(max(1, told), Self.mostPages), trouble: firstPage == nil ? failure?.reason : nil,
            isPassing: failure?.isLasting == false, hasText: hasText, contents: contents, converted: converted,
            firstPage: firstPage)
    }

    func part(
        _ part: PreviewPart, of preview: Preview, pixels: Int, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> Descriptor {
        let content = try content(of: preview)
        let bytes: [UInt8]
        switch (part, preview.reading) {
        case (.page(let number), _):
            guard (1...max(1, preview.pageCount)).contains(number) else {
                throw RenderRefusal("it has \(preview.pageCount) page\(preview.pageCount == 1 ? "" : "s")", lasts: .always)
            }
            bytes = try page(number, preview.form, preview.name, content, pixels: pixels, thumbnailer)
        case (.text(let page), let rendering?):
            bytes = try self.bytes(.text(rendering, page: page.map { $0 - 1 }), content, thumbnailer)
        case (.links(let page), let rendering?):
            bytes = try self.bytes(.links(rendering, page: max(0, page - 1)), content, thumbnailer)
        case (.entry(let index), _?): bytes = try self.bytes(.extract(entry: index), content, thumbnailer)
        case (.text, nil), (.links, nil), (.entry, nil): throw RenderRefusal("there is no such thing in it", lasts: .always)
        }
        return try Self.file(bytes)
    }

    /// What a preview's parts are made of.
    private func content(of preview: Preview) throws(RenderRefusal) -> Descriptor {
        guard !preview.isLetGo else { throw RenderRefusal("it was let go of meanwhile", lasts: .no) }
        if let converted = preview.converted {
            nextOwner = preview.owner
            return converted
        }
        do throws(Errno) {
            let (content, version) = try open(preview.document)
            guard version == preview.version else { throw .staleNFSFileHandle }
            return content
        } catch {
            let isOther = error == .staleNFSFileHandle
            throw RenderRefusal(isOther ? "it was changed meanwhile" : "it cannot be read: \(error)", lasts: .no)
        }
    }

    private func page(
        _ number: Int, _ form: Preview.Form, _ name: EntryName, _ content: Descriptor, pixels: Int, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> [UInt8] {
        switch form {
        case .builtIn(let rendering): try picture(.render(rendering, maximum: pixels, page: number - 1), [content], thumbnailer)
        case .program(let file): try run(file, name, content, pixels: ThumbnailSize.doubleExtraLarge.pixels, thumbnailer)
        case .nothing: throw RenderRefusal("nothing here draws it", lasts: .always)
        }
    }

    /// What a worker has written, its own or of a document's.
    private func bytes(_ request: WorkRequest, _ content: Descriptor, _ thumbnailer: Thumbnailer) throws(RenderRefusal) -> [UInt8] {
        try written(try ask(request, [content], thumbnailer))
    }

    private func converted(
        _ content: Descriptor, _ name: EntryName, by converter: Converter, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> Descriptor {
        let request = WorkRequest.convert(
            command: converter.command(suffix: name.suffix), suffix: name.suffix, result: converter.result)
        let answer = try askAlone(
            request, program: converter.program, [content], seconds: Self.secondsOfConverter, thumbnailer)
        // A copy: a worker that is taken over could go on writing to its own.
        return try Self.file(try written(answer))
    }

    /// By how the result of a converter begins: it may be PDF, an image or text.
    private static func form(of result: Descriptor) -> Preview.Form {
        let type = DocumentType(of: EntryName("result")) { beginning(of: result) }
        guard let subject = BuiltInProviders.matches(type, type.ancestors).first?.subject else { return .nothing }
        return .builtIn(subject)
    }
}
