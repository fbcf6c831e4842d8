// swift-tools-version: 6.0
import PackageDescription

// A package of its own: what measures Quire is no part of it.
let package = Package(
    name: "benchmarks",
    targets: [.executableTarget(name: "Benchmarks")],
    swiftLanguageModes: [.v6]
)
