import Glibc

/// The work of the rows about thumbnails. Each prints its figures as the others do.
enum RenderingWork {
    /// `ls -l` of a folder of thumbnails that are drawn: the best of some rounds, each with nothing left of the last one's in the
    /// kernel.
    static func listing(of folder: String, rounds: Int) {
        var best = Double.infinity
        for _ in 0..<rounds {
            usleep(1_200_000)
            let start = monotonicSeconds()
            require(system("ls -l '\(folder)' >/dev/null") == 0 ? 0 : -1, "ls -l \(folder)")
            best = min(best, monotonicSeconds() - start)
        }
        print("quire\tthumbs-ls\t\(best * 1_000)")
    }

    /// Opening and reading thumbnails, and files of the same sizes in the same mount; the best rounds are compared.
    static func opening(thumbnails: String, copies: String, rounds: Int) {
        var names: [String] = []
        forEachEntry(of: thumbnails) { _, name in
            if name[0] != CChar(UInt8(ascii: ".")) { names.append(String(cString: name)) }
        }
        require(system("cp -r '\(thumbnails)/.' '\(copies)'") == 0 ? 0 : -1, "cp \(thumbnails)")
        var best = [Double.infinity, Double.infinity]
        for _ in 0..<rounds {
            for (index, folder) in [thumbnails, copies].enumerated() {
                let start = monotonicSeconds()
                for name in names { read("\(folder)/\(name)") }
                best[index] = min(best[index], monotonicSeconds() - start)
            }
        }
        print("quire\tthumbs-open\t\(max(0, (best[0] / best[1] - 1) * 100))")
    }

    private static func read(_ path: String) {
        let file = require(open(path, O_RDONLY), path)
        defer { close(file) }
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { buffer in
            while require(Int32(Glibc.read(file, buffer.baseAddress, buffer.count)), path) > 0 {}
        }
    }

    /// How much slower the operations of a store are while photographs in it are drawn, in percent: of the operation that suffers
    /// most, the median of rounds of its median times with and without drawing.
    /// - Parameter quire: the program that has them drawn.
    static func slowing(in folder: String, photographs: String, quire: String, rounds: Int) {
        var ratios = Operation.allCases.map { _ in [Double]() }
        for round in 0..<rounds {
            let alone = times(in: folder) { monotonicSeconds() - $0 < 3 }
            let warming = popen("exec '\(quire)' thumbnail --warm --size normal '\(photographs)'", "r")!
            // The workers start within this.
            usleep(300_000)
            let busy = times(in: folder) { start in
                var poll = pollfd(fd: fileno(warming), events: Int16(POLLIN), revents: 0)
                return Glibc.poll(&poll, 1, 0) == 0 && monotonicSeconds() - start < 60
            }
            require(pclose(warming) == 0 ? 0 : -1, "quire thumbnail --warm")
            if round < rounds - 1 { require(system("'\(quire)' thumbnail --clear '\(photographs)' >/dev/null") == 0 ? 0 : -1, "--clear") }
            for index in ratios.indices { ratios[index].append(busy[index] / alone[index]) }
        }
        let medians = ratios.map { $0.sorted()[$0.count / 2] }
        for (operation, ratio) in zip(Operation.allCases, medians) {
            let line = Array("  \(operation): \(Int(((ratio - 1) * 100).rounded())) %\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
        }
        print("quire\tthumbs-slowed\t\(max(0, (medians.max()! - 1) * 100))")
    }

    private enum Operation: CaseIterable { case create, stat, read, save, rename, remove }

    /// The median time of each operation, in microseconds.
    private static func times(in folder: String, while goesOn: (Double) -> Bool) -> [Double] {
        let (name, other) = (folder + "/timed", folder + "/timed2")
        var times = Operation.allCases.map { _ in [Double]() }
        let start = monotonicSeconds()
        var content = [UInt8](repeating: 7, count: 4_096)
        func write(_ flags: Int32) {
            let file = require(open(name, O_WRONLY | flags, 0o644), name)
            require(Int32(Glibc.write(file, content, content.count)), name)
            close(file)
        }
        while goesOn(start) {
            for (index, operation) in Operation.allCases.enumerated() {
                let began = monotonicSeconds()
                switch operation {
                case .create: write(O_CREAT | O_EXCL)
                case .stat:
                    var status = Glibc.stat()
                    require(lstat(name, &status), name)
                case .read:
                    let file = require(open(name, O_RDONLY), name)
                    require(Int32(Glibc.read(file, &content, content.count)), name)
                    close(file)
                case .save: write(O_TRUNC)
                case .rename: require(Glibc.rename(name, other), name)
                case .remove: require(unlink(other), other)
                }
                times[index].append((monotonicSeconds() - began) * 1e6)
            }
            // A store that somebody works in, and not one that is measured for its own sake.
            usleep(1_000)
        }
        return times.map { $0.sorted()[$0.count / 2] }
    }
}
