import CJpeg
import CVips
import Glibc
import WorkerProtocol

/// The libraries that render.
enum Libraries {
    static func start() {
        guard vips_init("quire-worker") == 0 else { exit(125) }
        // One document at a time and one worker for each processor: threads within one would only take from the other.
        vips_concurrency_set(1)
        vips_cache_set_max(0)
    }
}

/// Pixels, or how they are had: nothing is decoded before they are written.
struct Picture {
    private final class Image {
        let pointer: UnsafeMutablePointer<VipsImage>
        init(_ pointer: UnsafeMutablePointer<VipsImage>) { self.pointer = pointer }
        deinit { g_object_unref(pointer) }
    }
    private let image: Image

    var width: Int { Int(image.pointer.pointee.Xsize) }
    var height: Int { Int(image.pointer.pointee.Ysize) }
    private var bands: Int { Int(image.pointer.pointee.Bands) }

    /// Calls with the image, which stays for the call.
    func with<Result, Failure>(_ body: (UnsafeMutablePointer<VipsImage>) throws(Failure) -> Result) throws(Failure) -> Result {
        defer { withExtendedLifetime(image) {} }
        return try body(image.pointer)
    }

    /// Takes over what an operation of libvips returned. Throws its message if that is nil.
    init(taking pointer: UnsafeMutablePointer<VipsImage>?) throws(WorkRefusal) {
        guard let pointer else { throw Self.failure }
        image = Image(pointer)
    }

    /// More pixels than any camera has; a picture of so many takes some seconds.
    private static let mostPixels = 600_000_000

    /// A picture of the image file at a descriptor, upright, in sRGB, at most `maximum` pixels a side. What is larger is decoded
    /// at a smaller size where the format can.
    init(of input: Int32, maximum: Int, page: Int = 0, grows: Bool = false) throws(WorkRefusal) {
        guard let source = vips_source_new_from_descriptor(input) else { throw Self.failure }
        defer { g_object_unref(source) }
        guard vips_foreign_find_load_source(source) != nil else {
            vips_error_clear()
            self = try Self.inMemory(of: input, maximum: maximum)
            return
        }
        let header = try Picture(taking: cv_header(source))
        guard header.width * header.height <= Self.mostPixels else {
            throw WorkRefusal("\(header.width) x \(header.height) pixels are too many")
        }
        if !grows, page == 0, let picture = try Picture(ofJPEG: input, header, maximum: maximum) {
            self = picture
            return
        }
        try self.init(taking: cv_thumbnail(source, Int32(maximum), Int32(maximum), grows ? 1 : 0, Int32(page)))
    }

    /// Most images are JPEG files, and small ones: what libvips does around the decoding takes longer than that. Nil if it is another
    /// format, or not quite as it should be: libvips then says whether it can be rendered all the same.
    private init?(ofJPEG input: Int32, _ header: Picture, maximum: Int) throws(WorkRefusal) {
        guard header.with({ cv_is_jpeg($0) != 0 }), header.bands != 4 else { return nil }
        let scale = min(1, Double(maximum) / Double(max(header.width, header.height)))
        let width = max(1, Int((Double(header.width) * scale).rounded())), height = max(1, Int((Double(header.height) * scale).rounded()))
        guard let pixels = cj_decode(input, Int32(width), Int32(height)) else { return nil }
        defer { free(pixels) }
        self = try Picture(taking: header.with { cv_upright(pixels, Int32(width), Int32(height), $0) })
    }

    /// For formats that libvips knows only by way of ImageMagick, such as BMP.
    private static func inMemory(of input: Int32, maximum: Int) throws(WorkRefusal) -> Picture {
        var status = stat()
        guard fstat(input, &status) == 0, status.st_size > 0, status.st_size <= WorkLimits.copied,
            let bytes = mmap(nil, Int(status.st_size), PROT_READ, MAP_PRIVATE, input, 0), bytes != MAP_FAILED
        else { throw WorkRefusal("it cannot be read as an image") }
        return try Picture(of: PictureBytes(mapped: bytes, Int(status.st_size)), maximum: maximum)
    }

    /// A picture of an image file in memory.
    init(of bytes: PictureBytes, maximum: Int) throws(WorkRefusal) {
        try self.init(taking: cv_thumbnail_memory(bytes.content.baseAddress, bytes.content.count, Int32(maximum), Int32(maximum)))
        // For as long as pixels may be decoded from it.
        with { image in
            cv_attach(image, "quire-bytes", Unmanaged.passRetained(bytes).toOpaque()) {
                Unmanaged<PictureBytes>.fromOpaque($0!).release()
            }
        }
    }

    /// Writes the pixels to a file, and says how many there are.
    func write(to output: Int32) throws(WorkRefusal) -> WorkReply {
        let colours = try inSRGB()
        let bands = colours.bands
        guard bands == 3 || bands == 4, max(width, height) <= WorkLimits.side
        else { throw WorkRefusal("its colours are not known") }
        try colours.with { image throws(WorkRefusal) in
            guard let pixels = cv_pixels(image) else { throw Self.failure }
            let length = width * height * bands
            var written = 0
            while written < length {
                let count = pwrite(output, pixels + written, length - written, off_t(written))
                guard count > 0 else { throw WorkRefusal("there is no memory for the picture", isPassing: true) }
                written += count
            }
        }
        return .picture(width: width, height: height, bands: bands)
    }

    /// What libvips said last.
    static var failure: WorkRefusal {
        defer { vips_error_clear() }
        let lines = String(cString: vips_error_buffer()).split(separator: "\n")
        return WorkRefusal(lines.first.map(String.init) ?? "it cannot be decoded")
    }
}

/// An image file in memory, for as long as a picture is decoded from it.
final class PictureBytes {
    let content: UnsafeRawBufferPointer
    private let isMapped: Bool

    init(copying bytes: some Collection<UInt8>) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyBytes(from: bytes)
        content = UnsafeRawBufferPointer(copy)
        isMapped = false
    }

    /// Takes over what mmap(2) returned.
    init(mapped start: UnsafeMutableRawPointer, _ count: Int) {
        content = UnsafeRawBufferPointer(start: start, count: count)
        isMapped = true
    }

    deinit {
        if isMapped { munmap(UnsafeMutableRawPointer(mutating: content.baseAddress!), content.count) } else { content.deallocate() }
    }
}
