import Glibc

/// Saves that begin on an open handle, beside those that begin with the open.
enum LateSaving {
    private static let rounds = 7

    /// Saves a document of 1 MiB in both ways, in turn, and compares the best rounds.
    static func comparing(in folder: String, count: Int) {
        let path = folder + "/late"
        let content = [UInt8](repeating: 7, count: 1 << 20)
        save(content, as: path, O_CREAT)
        var best = [Double.infinity, .infinity]
        for _ in 0..<rounds {
            for (index, flag) in [O_TRUNC, 0].enumerated() {
                let start = monotonicSeconds()
                for _ in 0..<count { save(content, as: path, flag) }
                best[index] = min(best[index], monotonicSeconds() - start)
            }
        }
        require(unlink(path), "unlink")
        print("quire\tlate-save\t\(100 * (best[1] / best[0] - 1))")
    }

    private static func save(_ content: [UInt8], as path: String, _ flag: Int32) {
        let file = require(open(path, O_WRONLY | flag, 0o644), path)
        if flag == 0 { require(ftruncate(file, 0), "ftruncate") }
        if write(file, content, content.count) != content.count { stop("write") }
        close(file)
    }
}
