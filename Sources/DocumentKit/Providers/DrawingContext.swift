import CCairo
public import Foundation
import Glibc

/// What a thumbnail or a page of a preview is drawn on: from the left upper corner, in points.
///
/// The methods here draw what simple pictures need; ``withCairo(_:)`` gives the whole of [Cairo](https://www.cairographics.org) to
/// who imports it. To be used within the drawing closure, on its thread.
public final class DrawingContext {
    /// Red, green, blue and opacity, from 0 to 1.
    public struct Color: Hashable, Sendable {
        public var red, green, blue, alpha: Double

        /// A colour of sRGB.
        public init(red: Double, green: Double, blue: Double, alpha: Double = 1) {
            (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
        }

        public static let black = Color(red: 0, green: 0, blue: 0)
        public static let white = Color(red: 1, green: 1, blue: 1)
    }

    /// In points.
    public let size: CGSize
    /// Pixels for each point; 1 where there are none, in PDF.
    public let scale: Double
    private let context: OpaquePointer

    init(_ context: OpaquePointer, size: CGSize, scale: Double) {
        self.context = context
        self.size = size
        self.scale = scale
    }

    /// Fills a rectangle.
    public func fill(_ rect: CGRect, with color: Color) {
        use(color)
        cairo_rectangle(context, rect.origin.x, rect.origin.y, rect.width, rect.height)
        cairo_fill(context)
    }

    /// Draws lines from point to point.
    public func stroke(_ points: [CGPoint], with color: Color, width: Double = 1) {
        guard let first = points.first else { return }
        use(color)
        cairo_set_line_width(context, width)
        cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND)
        cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND)
        cairo_move_to(context, first.x, first.y)
        for point in points.dropFirst() { cairo_line_to(context, point.x, point.y) }
        cairo_stroke(context)
    }

    /// Draws a line of text whose baseline begins at a point.
    public func draw(_ text: String, at point: CGPoint, size: Double = 12, with color: Color = .black) {
        use(color)
        cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL)
        cairo_set_font_size(context, size)
        cairo_move_to(context, point.x, point.y)
        cairo_show_text(context, text)
    }

    /// Calls with the context as Cairo has it (`cairo_t *`), valid for the call.
    public func withCairo<Result>(_ body: (OpaquePointer) throws -> Result) rethrows -> Result { try body(context) }

    private func use(_ color: Color) { cairo_set_source_rgba(context, color.red, color.green, color.blue, color.alpha) }
}

/// Where drawings go.
enum DrawingSurface {
    /// Writes a PNG file. False if the drawing says that it failed, or the file cannot be written.
    static func writePicture(to path: String, size: CGSize, scale: Double, _ drawing: (DrawingContext) -> Bool) -> Bool {
        let (width, height) = (Int32((size.width * scale).rounded(.up)), Int32((size.height * scale).rounded(.up)))
        guard width > 0, height > 0, let surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height) else { return false }
        defer { cairo_surface_destroy(surface) }
        guard let context = cairo_create(surface) else { return false }
        defer { cairo_destroy(context) }
        cairo_scale(context, scale, scale)
        guard drawing(DrawingContext(context, size: size, scale: scale)), cairo_status(context) == CAIRO_STATUS_SUCCESS else { return false }
        return cairo_surface_write_to_png(surface, path) == CAIRO_STATUS_SUCCESS
    }

    /// Writes a PDF file.
    static func writePages(to path: String, size: CGSize, count: Int, _ drawing: (DrawingContext, Int) -> Bool) -> Bool {
        guard let surface = cairo_pdf_surface_create(path, size.width, size.height) else { return false }
        defer { cairo_surface_destroy(surface) }
        guard let context = cairo_create(surface) else { return false }
        defer { cairo_destroy(context) }
        for page in 0..<count {
            guard drawing(DrawingContext(context, size: size, scale: 1), page), cairo_status(context) == CAIRO_STATUS_SUCCESS else {
                return false
            }
            cairo_show_page(context)
        }
        cairo_surface_finish(surface)
        return cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS
    }
}
