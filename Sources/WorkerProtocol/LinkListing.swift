/// The links on a page, as a worker writes them: fields of text, each ended by a NUL.
public struct LinkListing: Sendable, Equatable {
    public struct Link: Sendable, Equatable {
        /// A URI.
        public let target: String
        /// In parts of the page's width and height, from its left upper corner.
        public let x, y, width, height: Double

        public init(target: String, x: Double, y: Double, width: Double, height: Double) {
            (self.target, self.x, self.y, self.width, self.height) = (target, x, y, width, height)
        }
    }

    public let links: [Link]
    private static let most = 1_000

    public init(links: [Link]) { self.links = Array(links.prefix(Self.most)) }

    public var bytes: [UInt8] {
        var fields = FieldWriter()
        for link in links {
            fields.add(link.target)
            for number in [link.x, link.y, link.width, link.height] { fields.add(Int(max(0, min(1, number)) * 1e6)) }
        }
        return fields.bytes
    }

    /// Nil if it is none.
    public init?(bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        var links: [Link] = []
        while !fields.isAtEnd {
            guard links.count < Self.most, let target = fields.text() else { return nil }
            var numbers: [Double] = []
            for _ in 0..<4 {
                guard let number = fields.number(in: 0...1_000_000) else { return nil }
                numbers.append(Double(number) / 1e6)
            }
            links.append(Link(target: target, x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3]))
        }
        self.links = links
    }
}
