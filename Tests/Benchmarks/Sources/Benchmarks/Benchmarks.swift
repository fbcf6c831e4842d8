import Glibc

/// The parts of a benchmark that `run` puts together.
@main
enum Benchmarks {
    private static let usage = """
        usage: Benchmarks measure CONTENDER FOLDER FILES
               Benchmarks fill FOLDER FILES
               Benchmarks walk FOLDER FILES
               Benchmarks claims FOLDER CLIENTS PAIRS
               Benchmarks latency FOLDER SAVES
               Benchmarks subscribers FOLDER COUNT ROUNDS
               Benchmarks outside STORE FOLDER CHANGES
               Benchmarks watching FOLDER SAVES
               Benchmarks late FOLDER SAVES
               Benchmarks thumbs-ls FOLDER ROUNDS
               Benchmarks thumbs-open THUMBNAILS COPIES ROUNDS
               Benchmarks thumbs-slowed FOLDER PHOTOGRAPHS QUIRE ROUNDS
               Benchmarks report RESULTS BUDGETS root|user
        """

    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        switch (words.first, words.count) {
        case ("measure", 4): Workload(contender: words[1], count: number(words[3])).run(in: words[2])
        case ("fill", 3): Tree.fill(words[1], count: number(words[2]))
        case ("walk", 3): Tree.walk(words[1], count: number(words[2]))
        case ("claims", 4): CoordinationWork.claims(in: words[1], clients: number(words[2]), pairs: number(words[3]))
        case ("latency", 3): CoordinationWork.latency(in: words[1], count: number(words[2]))
        case ("present", 3): CoordinationWork.present(words[1], changes: number(words[2]))
        case ("subscribers", 4):
            CoordinationWork.subscribers(in: words[1], count: number(words[2]), rounds: number(words[3]))
        case ("listen", 3): CoordinationWork.listen(in: words[1], count: number(words[2]))
        case ("outside", 4): OutsideWork.showing(store: words[1], folder: words[2], count: number(words[3]))
        case ("watching", 3): OutsideWork.watching(folder: words[1], count: number(words[2]))
        case ("late", 3): LateSaving.comparing(in: words[1], count: number(words[2]))
        case ("thumbs-ls", 3): RenderingWork.listing(of: words[1], rounds: number(words[2]))
        case ("thumbs-open", 4): RenderingWork.opening(thumbnails: words[1], copies: words[2], rounds: number(words[3]))
        case ("thumbs-slowed", 5):
            RenderingWork.slowing(in: words[1], photographs: words[2], quire: words[3], rounds: number(words[4]))
        case ("report", 4):
            let report = try BenchmarkReport(results: words[1], budgets: Budgets(file: words[2], profile: words[3]))
            let missed = report.show()
            if missed > 0 {
                print("\(missed) budgets missed")
                exit(1)
            }
            print("all budgets kept")
        default: refuse()
        }
    }

    private static func number(_ word: String) -> Int {
        guard let number = Int(word), number > 0 else { refuse() }
        return number
    }

    private static func refuse() -> Never { exit(saying: usage, code: 64) }
}
