import CPng
import Glibc

package enum PngImage {
    /// A PNG file of the pixels, which have 8 bits each of red, green, blue and, with four bands, opacity, row by row without gaps.
    /// Nil if there is no memory.
    package static func encoded(_ pixels: [UInt8], width: Int, height: Int, bands: Int) -> [UInt8]? {
        precondition(pixels.count >= width * height * bands, "fewer pixels than the picture has")
        var length = 0
        guard let file = cp_encode(pixels, Int32(clamping: width), Int32(clamping: height), Int32(clamping: bands), &length) else { return nil }
        defer { free(file) }
        return Array(UnsafeBufferPointer(start: file, count: length))
    }
}
