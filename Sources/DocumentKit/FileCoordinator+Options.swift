extension FileCoordinator {
    /// How an item is to be read. Names and meanings are those of `NSFileCoordinator.ReadingOptions`.
    public struct ReadingOptions: OptionSet, Hashable, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Presenters are not asked to save their changes first.
        public static let withoutChanges = ReadingOptions(rawValue: 1 << 0)
        /// If the item is a symbolic link, what it leads to is read; the accessor is given that URL.
        public static let resolvesSymbolicLink = ReadingOptions(rawValue: 1 << 1)
        /// Only name, dates and attributes are read: nobody is asked or waited for.
        public static let immediatelyAvailableMetadataOnly = ReadingOptions(rawValue: 1 << 2)
        /// The accessor is given a copy of its own, in a temporary folder, which is removed when the accessor ends. Costs the
        /// time and room of the copy, unless the file system shares the blocks of copies.
        public static let forUploading = ReadingOptions(rawValue: 1 << 3)
    }

    /// How an item is to be written. Names and meanings are those of `NSFileCoordinator.WritingOptions`. `forDeleting`,
    /// `forMoving` and `forReplacing` claim a folder with all that is in it.
    public struct WritingOptions: OptionSet, Hashable, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// The item will be deleted: presenters are asked to accommodate that.
        public static let forDeleting = WritingOptions(rawValue: 1 << 0)
        /// The item will be moved.
        public static let forMoving = WritingOptions(rawValue: 1 << 1)
        /// What is there is changed: presenters are asked to save their changes first.
        public static let forMerging = WritingOptions(rawValue: 1 << 2)
        /// What is there is replaced by something else: presenters are asked to accommodate its deletion.
        public static let forReplacing = WritingOptions(rawValue: 1 << 3)
        /// Only tags, dates and other attributes are written: nobody is asked, and others may go on writing the content.
        public static let contentIndependentMetadataOnly = WritingOptions(rawValue: 1 << 4)
    }
}
