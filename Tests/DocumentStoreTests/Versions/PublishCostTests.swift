import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage
import Testing

/// What a save of a 4 KiB document costs apart from its write. Prints.
@Suite(.serialized) struct PublishCostTests {
    private static let rounds = 2_000

    @Test(arguments: TestFolder.bases) func makingAndPublishingIsCheap(_ base: String) throws {
        let store = try VersionFixture(on: base)
        let bytes = [UInt8](repeating: 1, count: 4_096)
        let name = EntryName("doc")
        try store.write(String(repeating: "o", count: 4_096), to: "doc")
        for decoration in ["plain", "with a tag"] {
            if decoration != "plain" { try store.shell("setfattr -n user.xdg.tags -v work doc") }
            var making: [Int64] = [], publishing: [Int64] = [], dropping: [Int64] = []
            for _ in 0..<Self.rounds {
                let document = try Descriptor(opening: store.path + "/doc", flags: O_WRONLY)
                let start = cl_monotonic_ns()
                var copy: WorkingCopy? = try store.versions.workingCopy(of: document, in: store.root, by: .daemon)
                let made = cl_monotonic_ns()
                _ = try check(cl_pwrite(copy!.file.number, bytes, bytes.count, 0))
                let written = cl_monotonic_ns()
                try copy!.publishFully(as: name, in: store.root)
                let published = cl_monotonic_ns()
                copy = nil
                dropping.append(cl_monotonic_ns() - published)
                making.append(made - start)
                publishing.append(published - written)
            }
            // Of a machine that others use too, the best tenth says more than the median.
            let told = { (times: [Int64]) in
                let sorted = times.sorted().map { Double($0) / 1_000 }
                return "\(sorted[sorted.count / 2]) (best tenth \(sorted[sorted.count / 10])) us"
            }
            print("\(base), \(decoration): make \(told(making)), publish \(told(publishing)), close \(told(dropping))")
        }
    }
}
