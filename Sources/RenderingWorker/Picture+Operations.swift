import CVips

/// What is done with pictures. An operation keeps what it is made of for as long as it needs that.
extension Picture {
    /// One grey all over.
    static func sheet(_ width: Int, _ height: Int, grey: Int) throws(WorkRefusal) -> Picture {
        try Picture(taking: cv_sheet(Int32(width), Int32(height), Int32(grey)))
    }

    /// How much each pixel is covered by text, as Pango lays it out in a column of `width` pixels.
    static func text(_ markup: String, font: String, width: Int) throws(WorkRefusal) -> Picture {
        try Picture(taking: cv_text(markup, font, Int32(width), 72))
    }

    /// In 8 bits of sRGB.
    func inSRGB() throws(WorkRefusal) -> Picture { try Picture(taking: with { cv_srgb($0) }) }

    /// The left upper part, at most so large.
    func cropped(_ width: Int, _ height: Int) throws(WorkRefusal) -> Picture {
        try Picture(taking: with { cv_cropped($0, Int32(width), Int32(height)) })
    }

    /// With ink where `coverage`, moved to a place, covers it.
    func inked(_ ink: Picture, where coverage: Picture, x: Int, y: Int) throws(WorkRefusal) -> Picture {
        try Picture(taking: with { sheet in
            coverage.with { coverage in ink.with { cv_inked(sheet, coverage, $0, Int32(x), Int32(y)) } }
        })
    }

    /// With another picture at a place.
    func inserting(_ picture: Picture, x: Int, y: Int) throws(WorkRefusal) -> Picture {
        try Picture(taking: with { sheet in picture.with { cv_inserted(sheet, $0, Int32(x), Int32(y)) } })
    }

    /// Without transparency, on a grey.
    func flattened(grey: Int) throws(WorkRefusal) -> Picture {
        guard with({ vips_image_hasalpha($0) }) != 0 else { return self }
        return try Picture(taking: with { cv_flat($0, Double(grey)) })
    }
}
