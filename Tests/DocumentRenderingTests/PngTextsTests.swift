import DocumentRendering
import Glibc
import TestSupport
import Testing

struct PngTextsTests {
    @Test func textsStandBeforeThePixelsAndReplaceThoseThatWereThere() throws {
        let first = PngTexts.replacing([("Thumb::URI", "one"), ("Other", "two")], in: CacheFixture.picture)
        #expect(PngTexts.read(first)?.texts == ["Thumb::URI": "one", "Other": "two"])
        let second = PngTexts.replacing([("Thumb::URI", "three")], in: first)
        #expect(PngTexts.read(second)?.texts == ["Thumb::URI": "three"])
        // What comes before the pixels is all that is needed.
        let pixels = try #require(second.indices.first { second[$0...].starts(with: "IDAT".utf8) })
        #expect(PngTexts.read(Array(second[..<pixels]))?.texts == ["Thumb::URI": "three"])
    }

    /// Other programs check the sums.
    @Test func theFileIsOneThatOthersRead() throws {
        let folder = try TemporaryFolder()
        let file = folder.makeFile("picture.png")
        let bytes = PngTexts.replacing([("Thumb::URI", "file:///x")], in: CacheFixture.picture)
        try #require(bytes.withUnsafeBytes { writeFile(file, $0) })
        let result = try runProgram("python3", ["-c", """
            import struct, sys, zlib
            data = open(sys.argv[1], "rb").read(); at = 8; kinds = []
            while at < len(data):
                length, kind = struct.unpack(">I4s", data[at:at + 8])
                sum, = struct.unpack(">I", data[at + 8 + length:at + 12 + length])
                assert sum == zlib.crc32(data[at + 4:at + 8 + length]); kinds.append(kind.decode()); at += 12 + length
            print(" ".join(kinds))
            """, file])
        #expect(result.output == "IHDR tEXt IDAT IEND\n", "\(result.errors)")
    }

    @Test func whatIsNoPictureHasNoTexts() {
        #expect(PngTexts.read([])?.texts == nil)
        #expect(PngTexts.read(Array("GIF89a".utf8))?.texts == nil)
        // A chunk that says it is longer than the file.
        #expect(PngTexts.read(Array(CacheFixture.picture.prefix(8)) + [0xff, 0xff, 0xff, 0xff] + Array("tEXta\0b".utf8))?.texts == [:])
    }

    private func writeFile(_ path: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let file = fopen(path, "w") else { return false }
        defer { fclose(file) }
        return fwrite(bytes.baseAddress, 1, bytes.count, file) == bytes.count
    }
}
