import CMedia
import CVips
import Glibc
import WorkerProtocol

/// What documents say of themselves.
enum PreviewFacts {
    static func read(_ subject: WorkRequest.Subject, _ input: Int32) throws(WorkRefusal) -> [Fact] {
        switch subject {
        case .pages: try pages(input)
        case .image: try image(input)
        case .media: try media(input)
        case .text, .code, .archive, .embedded: []
        }
    }

    /// PDF; pictures that have one page, such as SVG, are images here.
    private static func pages(_ input: Int32) throws(WorkRefusal) -> [Fact] {
        PdfDocument.isPdf(input) ? try PdfDocument(input).facts : try image(input)
    }

    private static func image(_ input: Int32) throws(WorkRefusal) -> [Fact] {
        guard let source = vips_source_new_from_descriptor(input) else { throw Picture.failure }
        defer { g_object_unref(source) }
        let header = try Picture(taking: cv_header(source))
        return header.with { image in
            let isTurned = vips_image_get_orientation(image) >= 5
            // Of one page: libvips makes one tall image of several.
            let (width, height) = (Int(image.pointee.Xsize), Int(vips_image_get_page_height(image)))
            var facts = [
                Fact(Fact.Name.width, isTurned ? height : width), Fact(Fact.Name.height, isTurned ? width : height),
            ]
            let pages = Int(vips_image_get_n_pages(image))
            // A film of pictures is one.
            let isAnimated = vips_image_get_typeof(image, "delay") != 0
            if pages > 1, !isAnimated { facts.append(Fact(Fact.Name.pages, pages)) }
            for (name, field) in [(Fact.Name.camera, "exif-ifd0-Model"), (Fact.Name.made, "exif-ifd2-DateTimeOriginal")] {
                guard let text = text(field, of: image) else { continue }
                facts.append(Fact(name, text))
            }
            return facts
        }
    }

    /// A text of Exif's: libvips adds its type and length in parentheses.
    private static func text(_ field: String, of image: UnsafeMutablePointer<VipsImage>) -> String? {
        guard vips_image_get_typeof(image, field) != 0 else { return nil }
        var value: UnsafePointer<CChar>?
        guard vips_image_get_string(image, field, &value) == 0, let value else { return nil }
        let text = String(cString: value).prefix { $0 != "(" }
        return text.trimmingSpaces.isEmpty ? nil : text.trimmingSpaces
    }

    private static func media(_ input: Int32) throws(WorkRefusal) -> [Fact] {
        guard let media = cm_open(input) else { throw WorkRefusal("it is neither sound nor film that can be read") }
        defer { cm_close(media) }
        var facts: [Fact] = []
        let duration = cm_duration(media)
        if duration > 0 { facts.append(Fact(Fact.Name.duration, (duration * 10).rounded() / 10)) }
        var (width, height) = (Int32(0), Int32(0))
        if let codec = cm_codec(media, 1, &width, &height) {
            facts += [
                Fact(Fact.Name.video, String(cString: codec)), Fact(Fact.Name.width, width), Fact(Fact.Name.height, height),
            ]
        }
        if let codec = cm_codec(media, 0, &width, &height) { facts.append(Fact(Fact.Name.audio, String(cString: codec))) }
        for name in [Fact.Name.title, Fact.Name.artist, Fact.Name.album] {
            guard let text = cm_tag(media, name) else { continue }
            facts.append(Fact(name, String(cString: text)))
        }
        return facts
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        let start = drop { $0.isWhitespace }
        return String(start.reversed().drop { $0.isWhitespace }.reversed())
    }
}
