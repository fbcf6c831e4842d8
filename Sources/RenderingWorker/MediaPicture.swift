import CMedia
import CVips
import Glibc

/// The cover of a sound file, or a frame of a film.
enum MediaPicture {
    static func render(_ input: Int32, maximum: Int) throws(WorkRefusal) -> Picture {
        guard let media = cm_open(input) else { throw WorkRefusal("it is neither sound nor film that can be read") }
        defer { cm_close(media) }
        var length = 0
        if let cover = cm_cover(media, &length) {
            return try Picture(of: PictureBytes(copying: UnsafeRawBufferPointer(start: cover, count: length)), maximum: maximum)
        }
        var (width, height) = (Int32(0), Int32(0))
        guard let pixels = cm_frame(media, Int32(maximum), &width, &height)
        else { throw WorkRefusal("it has no cover and no picture") }
        defer { free(pixels) }
        let size = Int(width) * Int(height) * 3
        return try Picture(taking: vips_image_new_from_memory_copy(pixels, size, width, height, 3, VIPS_FORMAT_UCHAR))
    }
}
