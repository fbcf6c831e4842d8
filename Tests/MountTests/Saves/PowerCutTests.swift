import TestSupport
import Testing

extension MountTests {
    /// Whatever moment the power goes at, each document is one whole version afterwards (promise 3).
    ///
    /// The store is on an ext4 that stands on `DiskRecorder`. What it wrote and flushed is put together again as a power cut may
    /// leave it: all that was written before the last flush, and any part of what came after. That is mounted, by the file system
    /// and by Quire.
    struct PowerCutTests {
        private static let points = isLongRun ? 200 : 12

        /// Saves that are only closed; each one synced before; a mount with `sync-saves`, whose close(2) promises the same.
        enum Kind: String, CaseIterable { case closed, synced, durable }

        @Test(arguments: Kind.allCases)
        func documentsAreWholeAfterAPowerCut(kind: Kind) throws {
            let mount = try Mount(.root, in: "/dev/shm")
            defer { mount.end() }
            let names = "kind, points = \"\(kind.rawValue)\", \(Self.points)\n"
            #expect(try mount.python(names + Self.program, in: "/", limit: .seconds(900)) == "")
        }

        private static let program = Products.text(of: "power-cut.py")
    }
}
