import CLinux
import Glibc
import StorePrimitives
import SystemPackage
import WorkerProtocol

extension DrawingBench {
    /// Of a document with more, the rest is not shown.
    private static let mostPages = 10_000
    /// Converters are large programs.
    private static let secondsOfConverter = 60

    func preview(of subject: DrawingSubject, _ thumbnailer: Thumbnailer) throws(Refusal) -> Preview {
        let content: Descriptor, version: ThumbnailVersion
        do throws(Errno) {
            (content, version) = try open(subject)
        } catch {
            throw Refusal("it cannot be read: \(error)", lasts: .no)
        }
        let type = DocumentType(of: subject.name) { Self.beginning(of: content) }
        guard version.size > 0 else { return Preview(of: subject, type, version, .nothing, trouble: "it is empty", owner: 0) }
        var trouble: String?
        for converter in thumbnailer.providers.converters(for: type) {
            do throws(Refusal) {
                let result = try converted(content, subject.name, by: converter, thumbnailer)
                return preview(of: subject, type, version, Self.form(of: result), result, converted: result, trouble: nil, thumbnailer)
            } catch {
                guard error.isLasting else { throw error }
                trouble = error.reason
            }
        }
        let form: Preview.Form = switch thumbnailer.providers.providers(for: type).first {
        case .builtIn(let drawing): .builtIn(drawing)
        case .program(let file): .program(file)
        case .folder, nil: .nothing
        }
        return preview(of: subject, type, version, form, content, converted: nil, trouble: trouble, thumbnailer)
    }

    /// - Parameter content: the document, or what a converter made of it.
    private func preview(
        of subject: DrawingSubject, _ type: DocumentType, _ version: ThumbnailVersion, _ form: Preview.Form, _ content: Descriptor,
        converted: Descriptor?, trouble: String?, _ thumbnailer: Thumbnailer
    ) -> Preview {
        let owner = nextOwner ?? 0
        var facts: [Fact] = []
        var contents: ArchiveListing?
        var hasText = false
        if case .builtIn(let drawing) = form {
            if case .facts(let found)? = (try? ask(.facts(drawing), [content], thumbnailer))?.reply { facts = found }
            switch drawing {
            case .archive: contents = (try? bytes(.list, content, thumbnailer)).flatMap { ArchiveListing(bytes: $0) }
            case .text, .code: hasText = true
            // PDF, and not a drawing.
            case .pages: hasText = facts.contains { $0.name == Fact.Name.pages }
            case .image, .embedded, .media: break
            }
        }
        let told = facts.first { $0.name == Fact.Name.pages }.flatMap { Int($0.value) } ?? 1
        var firstPage: Descriptor?
        var trouble = trouble
        if form == .nothing {
            trouble = trouble ?? "nothing here draws documents of type \(type)"
        } else {
            do throws(Refusal) {
                firstPage = try Self.file(try page(1, form, subject.name, content, pixels: Thumbnailer.pagePixels, thumbnailer))
                trouble = nil
            } catch {
                trouble = trouble ?? error.reason
            }
        }
        return Preview(
            of: subject, type, version, form, facts: facts, pageCount: firstPage == nil ? 0 : min(max(1, told), Self.mostPages),
            trouble: trouble, hasText: hasText, contents: contents, converted: converted, firstPage: firstPage, owner: owner)
    }

    func part(_ part: PreviewPart, of preview: Preview, pixels: Int, _ thumbnailer: Thumbnailer) throws(Refusal) -> Descriptor {
        let content = try content(of: preview)
        let bytes: [UInt8]
        switch (part, preview.form) {
        case (.page(let number), _):
            guard (1...max(1, preview.pageCount)).contains(number) else {
                throw Refusal("it has \(preview.pageCount) page\(preview.pageCount == 1 ? "" : "s")", lasts: .always)
            }
            bytes = try page(number, preview.form, preview.name, content, pixels: pixels, thumbnailer)
        case (.text(let page), .builtIn(let drawing)):
            bytes = try self.bytes(.text(drawing, page: page.map { $0 - 1 }), content, thumbnailer)
        case (.links(let page), .builtIn(let drawing)):
            bytes = try self.bytes(.links(drawing, page: max(0, page - 1)), content, thumbnailer)
        case (.entry(let index), .builtIn): bytes = try self.bytes(.extract(entry: index), content, thumbnailer)
        case (.text, _), (.links, _), (.entry, _): throw Refusal("there is no such thing in it", lasts: .always)
        }
        return try Self.file(bytes)
    }

    /// What a preview's parts are made of.
    private func content(of preview: Preview) throws(Refusal) -> Descriptor {
        guard !preview.isLetGo else { throw Refusal("it was let go of meanwhile", lasts: .no) }
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
            throw Refusal(isOther ? "it was changed meanwhile" : "it cannot be read: \(error)", lasts: .no)
        }
    }

    private func page(
        _ number: Int, _ form: Preview.Form, _ name: EntryName, _ content: Descriptor, pixels: Int, _ thumbnailer: Thumbnailer
    ) throws(Refusal) -> [UInt8] {
        switch form {
        case .builtIn(let drawing): try picture(.draw(drawing, maximum: pixels, page: number - 1), [content], thumbnailer)
        case .program(let file): try run(file, name, content, pixels: ThumbnailSize.doubleExtraLarge.pixels, thumbnailer)
        case .nothing: throw Refusal("nothing here draws it", lasts: .always)
        }
    }

    /// What a worker has written, its own or of a document's.
    private func bytes(_ request: WorkRequest, _ content: Descriptor, _ thumbnailer: Thumbnailer) throws(Refusal) -> [UInt8] {
        try written(try ask(request, [content], thumbnailer))
    }

    private func converted(
        _ content: Descriptor, _ name: EntryName, by converter: Converter, _ thumbnailer: Thumbnailer
    ) throws(Refusal) -> Descriptor {
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
