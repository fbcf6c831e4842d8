/// A folder's picture: up to four of what is in it, side by side on a sheet.
enum Collage {
    static func render(_ inputs: [Int32], maximum: Int) throws(WorkRefusal) -> Picture {
        let (width, height) = (maximum, maximum * 3 / 4)
        let columns = inputs.count > 1 ? 2 : 1
        let rows = (inputs.count + columns - 1) / columns
        let gap = max(2, maximum / 40)
        let cell = (width: (width - (columns + 1) * gap) / columns, height: (height - (rows + 1) * gap) / rows)
        var sheet = try Picture.sheet(width, height, grey: 225)
        for (index, input) in inputs.enumerated() {
            let picture = try Picture(of: input, maximum: min(cell.width, cell.height)).inSRGB().flattened(grey: 225)
            let left = gap + index % columns * (cell.width + gap) + (cell.width - picture.width) / 2
            let top = gap + index / columns * (cell.height + gap) + (cell.height - picture.height) / 2
            sheet = try sheet.inserting(picture, x: left, y: top)
        }
        return sheet
    }
}
