import DocumentKit
import Foundation

// Draws sketches: thumbnails for mounts and file managers, and previews. `SketchPictures --install` tells the desktop of it.
//
// A sketch is text: each line is a stroke, `x,y x,y x,y`, on a sheet of 100 by 100 points.
@main
enum SketchPictures {
    static func main() { ProviderProgram(thumbnails: SketchThumbnails(), previews: SketchPreviews()).run() }
}

struct Sketch {
    static let type = DocumentContentType("application/x-quire-sketch", patterns: ["*.sketch"], explanation: "Sketch")
    static let side = 100.0
    let strokes: [[CGPoint]]

    init(contentsOf url: URL) throws {
        let text = try String(contentsOf: url, encoding: .utf8)
        strokes = text.split(separator: "\n").map { line in
            line.split(separator: " ").compactMap { point in
                let numbers = point.split(separator: ",").compactMap { Double($0) }
                return numbers.count == 2 ? CGPoint(x: numbers[0], y: numbers[1]) : nil
            }
        }.filter { !$0.isEmpty }
        guard !strokes.isEmpty else { throw CocoaError(.fileReadCorruptFile) }
    }

    func draw(on context: DrawingContext) -> Bool {
        let scale = min(context.size.width, context.size.height) / Self.side
        context.fill(CGRect(origin: .zero, size: context.size), with: .white)
        for stroke in strokes {
            let points = stroke.map { CGPoint(x: $0.x * scale, y: $0.y * scale) }
            context.stroke(points, with: .init(red: 0.8, green: 0.1, blue: 0.1), width: 4 * scale)
        }
        return true
    }
}

struct SketchThumbnails: ThumbnailProvider {
    static let contentTypes = [Sketch.type]

    func thumbnail(for request: FileThumbnailRequest) throws -> ThumbnailReply {
        let sketch = try Sketch(contentsOf: request.fileURL)
        return ThumbnailReply(contextSize: request.maximumSize) { sketch.draw(on: $0) }
    }
}

struct SketchPreviews: PreviewProvider {
    static let contentTypes = [Sketch.type]

    /// A page for the sketch, and one that says how many strokes it has.
    func preview(for request: FilePreviewRequest) throws -> PreviewReply {
        let sketch = try Sketch(contentsOf: request.fileURL)
        return PreviewReply(pageSize: CGSize(width: 300, height: 300), pageCount: 2) { context, page in
            guard page > 0 else { return sketch.draw(on: context) }
            context.draw("\(sketch.strokes.count) strokes", at: CGPoint(x: 20, y: 40), size: 24)
            return true
        }
    }
}
