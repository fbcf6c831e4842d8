import CVips

/// A folder's picture: up to four of what is in it, side by side on a sheet.
enum Collage {
    static func draw(_ inputs: [Int32], maximum: Int) throws(Refusal) -> Picture {
        let (width, height) = (maximum, maximum * 3 / 4)
        let columns = inputs.count > 1 ? 2 : 1
        let rows = (inputs.count + columns - 1) / columns
        let gap = max(2, maximum / 40)
        let cell = (width: (width - (columns + 1) * gap) / columns, height: (height - (rows + 1) * gap) / rows)
        var sheet = try Picture(taking: cv_sheet(Int32(width), Int32(height), 225))
        for (index, input) in inputs.enumerated() {
            let drawn = try Picture(of: input, maximum: min(cell.width, cell.height))
            let colours = try Picture(taking: cv_srgb(drawn.pointer))
            let picture = vips_image_hasalpha(colours.pointer) != 0 ? try Picture(taking: cv_flat(colours.pointer, 225)) : colours
            let left = gap + index % columns * (cell.width + gap) + (cell.width - picture.width) / 2
            let top = gap + index / columns * (cell.height + gap) + (cell.height - picture.height) / 2
            sheet = try Picture(taking: cv_inserted(sheet.pointer, picture.pointer, Int32(left), Int32(top)))
        }
        return sheet
    }
}
