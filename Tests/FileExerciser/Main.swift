import SystemCalls

/// Random operations on a file or a tree, repeatable by a seed. Exits 0 if all went well, 1 on a difference or a damaged
/// tree, 2 on wrong use.
@main
struct FileExerciser {
    static let usage = """
        usage: FileExerciser model FILE [--operations N] [--seed S] [--size BYTES]
                 random operations on one file, each compared with what memory says the file holds
               FileExerciser stress FOLDER [--processes P] [--operations N] [--seed S]
                 P processes with N operations each in one tree made in FOLDER, which is then walked and removed
        """

    static func main() {
        var arguments = CommandLine.arguments.dropFirst()
        guard let command = arguments.popFirst(), let path = arguments.popFirst(), let options = Options(arguments) else {
            say(usage)
            exitNow(2)
        }
        do {
            switch command {
            case "model":
                var exercise = try ModelExercise(path: path, options: options)
                try exercise.run()
            case "stress":
                try StressExercise(folder: path, options: options).run()
            case "worker":
                var worker = try StressWorker(tree: path, options: options)
                try worker.run()
            default:
                say(usage)
                exitNow(2)
            }
            exitNow(0)
        } catch let failure as Failure {
            say(failure.text)
        } catch let error as Errno {
            say("\(path): \(error.symbol) from \(lastFailure)")
        } catch {
            say("\(error)")
        }
        exitNow(1)
    }
}

struct Options {
    var operations = 10000
    var seed: UInt64 = 1
    /// The largest size the file may have, in bytes.
    var size = 256 << 10
    var processes = 4

    init?(_ arguments: some Sequence<String>) {
        var rest = Array(arguments)[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ Int($0) }), value >= 0 else { return nil }
            switch name {
            case "--operations": operations = value
            case "--seed": seed = UInt64(value)
            case "--size" where value >= 16: size = value
            case "--processes" where value >= 1: processes = value
            default: return nil
            }
        }
    }
}

/// What went wrong, for a person.
struct Failure: Error { let text: String }

func say(_ text: String) { _ = try? write(2, text + "\n") }

/// SplitMix64: small, and the same on every machine.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
    /// A number from 0 to `bound`, `bound` included.
    mutating func upTo(_ bound: Int) -> Int { Int.random(in: 0...max(0, bound), using: &self) }
    mutating func chance(_ one: Int, in all: Int) -> Bool { upTo(all - 1) < one }
}
