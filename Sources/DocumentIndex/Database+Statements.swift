internal import Foundation
internal import GRDB
internal import StorePrimitives

/// A value for a statement.
typealias Value = (any DatabaseValueConvertible)?

extension Database {
    /// Runs a statement, kept compiled for the next time.
    func run(_ sql: String, _ values: [Value] = []) throws {
        try cachedStatement(sql: sql).execute(arguments: StatementArguments(values))
    }

    func firstRow(_ sql: String, _ values: [Value] = []) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: StatementArguments(values))
    }

    /// All rows; for results that are small or wanted whole.
    func rows(_ sql: String, _ values: [Value] = []) throws -> [Row] {
        try Row.fetchAll(cachedStatement(sql: sql), arguments: StatementArguments(values))
    }

    func integers(_ sql: String, _ values: [Value] = []) throws -> [Int64] {
        try Int64.fetchAll(cachedStatement(sql: sql), arguments: StatementArguments(values))
    }

    func integer(_ sql: String, _ values: [Value] = []) throws -> Int64? {
        try Int64.fetchOne(cachedStatement(sql: sql), arguments: StatementArguments(values))
    }
}

extension Row {
    /// The value of a column. Throws for what is no such value, NULL too: the file may be damaged. (GRDB's subscript ends the
    /// process.)
    func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(_ index: Int) throws -> Value {
        try decode(Value.self, atIndex: index)
    }

    /// As above, nil for NULL.
    func optional<Value: DatabaseValueConvertible & StatementColumnConvertible>(_ index: Int) throws -> Value? {
        try decode(Value?.self, atIndex: index)
    }

    /// The bytes of a BLOB column; nil for NULL.
    func bytes(_ index: Int) throws -> [UInt8]? {
        try withUnsafeData(atIndex: index) { $0.map { [UInt8]($0) } }
    }
}

extension Tag {
    var blob: Data { Data(bytes) }

    /// The first name that a tag nested in this one can have, and the first that is behind them all: `lower <= name < upper`.
    var nestedRange: (lower: Data, upper: Data) {
        let slash = UInt8(ascii: "/")
        return (Data(bytes + [slash]), Data(bytes + [slash + 1]))
    }
}
