import StorePrimitives
import Testing

struct InHalvesTests {
    @Test(arguments: [0, 1, 1_999, 2_000, 2_001, 20_001])
    func resultsKeepTheirOrder(count: Int) {
        let numbers = Array(0..<count)
        #expect(numbers.inHalves(on: "test-half") { part in part.map { $0 * 2 } } == numbers.map { $0 * 2 })
        // As many results as each part has, or fewer.
        #expect(numbers.inHalves(on: "test-half") { part in part.filter { $0 % 7 == 0 } } == numbers.filter { $0 % 7 == 0 })
    }
}
