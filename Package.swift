// swift-tools-version: 6.0
import PackageDescription

// The architecture is the folder list: each target may use only what stands above it.
let package = Package(
    name: "quire",
    products: [
        .executable(name: "quire", targets: ["quire"]),
        .executable(name: "quire-worker", targets: ["RenderingWorker"]),
        .library(name: "DocumentKit", targets: ["DocumentKit"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // Linux calls that Glibc's module map leaves out, behind plain declarations.
        .target(
            name: "CLinux", path: "Sources/CLinux", cSettings: [.define("_GNU_SOURCE")]),
        .target(
            name: "StorePrimitives",
            dependencies: ["CLinux", .product(name: "SystemPackage", package: "swift-system")]),
        .target(name: "Coordination", dependencies: ["StorePrimitives", .product(name: "SystemPackage", package: "swift-system")]),
        .target(
            name: "DocumentStore",
            dependencies: [
                "StorePrimitives", "CLinux", .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        // The language of searches.
        .target(
            name: "QueryLanguage", dependencies: ["CLinux", .product(name: "SystemPackage", package: "swift-system")]),
        .systemLibrary(name: "CZlib", path: "Sources/DocumentIndex/CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "DocumentIndex",
            dependencies: [
                "StorePrimitives", "QueryLanguage", "CLinux", "CZlib",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["CZlib"]),
        // What the daemon's clients ask and are answered (varlink).
        .target(
            name: "MountProtocol",
            dependencies: ["StorePrimitives", "CLinux", .product(name: "SystemPackage", package: "swift-system")]),
        .target(
            name: "MountClient",
            dependencies: ["MountProtocol", "StorePrimitives", .product(name: "SystemPackage", package: "swift-system")]),
        .target(
            name: "MountServer",
            dependencies: [
                "MountProtocol", "StorePrimitives", "CLinux",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        // What a worker is asked and answers.
        .target(name: "WorkerProtocol"),
        .systemLibrary(
            name: "CVips", path: "Sources/RenderingWorker/CVips", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),
        .systemLibrary(
            name: "CPoppler", path: "Sources/RenderingWorker/CPoppler", pkgConfig: "poppler-glib",
            providers: [.apt(["libpoppler-glib-dev"])]),
        .systemLibrary(
            name: "CMail", path: "Sources/RenderingWorker/CMail", pkgConfig: "gmime-3.0", providers: [.apt(["libgmime-3.0-dev"])]),
        .systemLibrary(name: "CArchive", path: "Sources/RenderingWorker/CArchive", providers: [.apt(["libarchive-dev"])]),
        .systemLibrary(name: "CSeccomp", path: "Sources/RenderingWorker/CSeccomp", providers: [.apt(["libseccomp-dev"])]),
        .target(name: "CScaler", path: "Sources/RenderingWorker/CScaler", linkerSettings: [.linkedLibrary("swscale")]),
        .target(
            name: "CMedia", dependencies: ["CScaler"], path: "Sources/RenderingWorker/CMedia",
            linkerSettings: ["avformat", "avcodec", "avutil"].map { .linkedLibrary($0) }),
        .target(
            name: "CJpeg", dependencies: ["CScaler"], path: "Sources/RenderingWorker/CJpeg", linkerSettings: [.linkedLibrary("jpeg")]),
        .executableTarget(
            name: "RenderingWorker", dependencies: ["WorkerProtocol", "CLinux", "CVips", "CPoppler", "CMail", "CArchive", "CSeccomp", "CMedia", "CJpeg"],
            exclude: ["CVips", "CPoppler", "CMail", "CArchive", "CSeccomp", "CScaler", "CMedia", "CJpeg"]),
        .systemLibrary(
            name: "CGio", path: "Sources/DocumentRendering/CGio", pkgConfig: "gio-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .target(name: "CPng", path: "Sources/DocumentRendering/CPng", linkerSettings: [.linkedLibrary("png"), .linkedLibrary("z")]),
        .target(
            name: "DocumentRendering",
            dependencies: [
                "StorePrimitives", "WorkerProtocol", "CLinux", "CGio", "CPng", .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["CGio", "CPng"]),
        .systemLibrary(name: "CCairo", path: "Sources/DocumentKit/CCairo", pkgConfig: "cairo-pdf", providers: [.apt(["libcairo2-dev"])]),
        .target(
            name: "DocumentKit",
            dependencies: [
                "MountClient", "MountProtocol", "DocumentRendering", "WorkerProtocol", "StorePrimitives", "CLinux", "CCairo",
                .product(name: "Logging", package: "swift-log"), .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["CCairo"]),
        .systemLibrary(
            name: "CFuse", path: "Mount/CFuse", pkgConfig: "fuse3",
            providers: [.apt(["libfuse3-dev"])]),
        .target(
            name: "FuseServer",
            dependencies: ["CFuse", "CLinux", "StorePrimitives", .product(name: "SystemPackage", package: "swift-system")],
            path: "Mount/FuseServer", exclude: ["README.md"]),
        .target(
            name: "ProcessInspection", dependencies: ["Coordination", "StorePrimitives", "CLinux", .product(name: "SystemPackage", package: "swift-system")],
            path: "Mount/ProcessInspection"),
        .target(
            name: "DocumentMount",
            dependencies: [
                "FuseServer", "ProcessInspection", "Coordination", "DocumentStore", "QueryLanguage", "DocumentIndex", "DocumentRendering",
                "MountProtocol", "WorkerProtocol", "StorePrimitives", "CLinux", "CGio", .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Mount/DocumentMount",
            exclude: [
                "Events", "Inodes", "Operations", "Previews", "Replay", "Saves", "Snapshots", "Thumbnails", "Transactions", "Virtual",
            ].map { $0 + "/README.md" }),
        // The texts of `quire help`.
        .target(name: "HelpTopics", path: "Sources/quire/Help", sources: ["topics.c"]),
        .systemLibrary(name: "CSixel", path: "Sources/quire/CSixel", pkgConfig: "libsixel", providers: [.apt(["libsixel-dev"])]),
        .executableTarget(
            name: "quire",
            dependencies: [
                "DocumentMount", "FuseServer", "Coordination", "DocumentStore", "QueryLanguage", "DocumentIndex", "DocumentRendering",
                "WorkerProtocol", "MountServer", "MountClient", "MountProtocol", "StorePrimitives", "CLinux", "CGio", "CSixel", "HelpTopics",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["CSixel", "Help", "Guard/README.md"]),
        .executableTarget(name: "QuireEdit", dependencies: ["DocumentKit"], path: "Sources/Examples/QuireEdit"),
        .executableTarget(name: "QuireLook", dependencies: ["DocumentKit"], path: "Sources/Examples/QuireLook"),
        .executableTarget(name: "QuireSync", dependencies: ["DocumentKit"], path: "Sources/Examples/QuireSync"),
        .executableTarget(name: "SketchPictures", dependencies: ["DocumentKit"], path: "Sources/Examples/SketchPictures"),
        .testTarget(name: "CoordinationTests", dependencies: ["Coordination", "StorePrimitives", "TestSupport"]),
        .testTarget(name: "QueryLanguageTests", dependencies: ["QueryLanguage", "TestSupport"]),
        .testTarget(name: "DocumentIndexTests", dependencies: ["DocumentIndex", "QueryLanguage", "StorePrimitives", "TestSupport"]),
        .testTarget(
            name: "DocumentStoreTests",
            dependencies: [
                "TestSupport", "CSystemCalls", "DocumentStore", "StorePrimitives", "CLinux",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(
            name: "MountServerTests",
            dependencies: [
                "MountServer", "MountClient", "MountProtocol", "StorePrimitives", "CLinux", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(
            name: "ProcessInspectionTests",
            dependencies: ["ProcessInspection", "Coordination", "StorePrimitives", "CLinux", "TestSupport"]),
        .testTarget(name: "DocumentMountTests", dependencies: ["DocumentMount", "FuseServer", "Coordination", "DocumentStore", "StorePrimitives"]),
        .testTarget(
            name: "QuireTests",
            dependencies: [
                "quire", "MountProtocol", "StorePrimitives", "TestSupport", .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(
            name: "DocumentRenderingTests",
            dependencies: [
                "DocumentRendering", "RenderingWorker", "WorkerProtocol", "StorePrimitives", "CLinux", "TestSupport",
                .product(name: "Logging", package: "swift-log"), .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .testTarget(name: "DocumentKitTests", dependencies: ["DocumentKit", "TestSupport"]),
        .target(
            name: "TestSupport",
            dependencies: [.product(name: "SystemPackage", package: "swift-system")],
            path: "Tests/TestSupport"),
        .testTarget(
            name: "MountTests",
            dependencies: [
                "TestSupport", "quire", "RenderingWorker", "PosixChecks", "FileExerciser", "CoordinatedProgram", "QuireEdit", "QuireLook",
                "QuireSync", "SketchPictures", .product(name: "SystemPackage", package: "swift-system"),
            ]),
        .target(name: "CSystemCalls", path: "Tests/PosixChecks/CSystemCalls"),
        .target(
            name: "SystemCalls",
            dependencies: ["CSystemCalls", .product(name: "SystemPackage", package: "swift-system")],
            path: "Tests/PosixChecks/SystemCalls"),
        .executableTarget(
            name: "PosixChecks", dependencies: ["SystemCalls"], path: "Tests/PosixChecks",
            exclude: ["CSystemCalls", "SystemCalls"]),
        .executableTarget(
            name: "FileExerciser",
            dependencies: ["SystemCalls", "CSystemCalls", .product(name: "SystemPackage", package: "swift-system")],
            path: "Tests/FileExerciser"),
        .executableTarget(name: "CoordinatedProgram", dependencies: ["DocumentKit"], path: "Tests/CoordinatedProgram"),
        .executableTarget(
            name: "SaveExerciser", path: "Tests/SaveExerciser", cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("uring")]),
        .executableTarget(
            name: "DiskRecorder", dependencies: ["CFuse"], path: "Tests/DiskRecorder", cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("fuse3")]),
        .executableTarget(
            name: "HostileDisk", dependencies: ["CFuse"], path: "Tests/HostileDisk", cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("fuse3")]),
        .executableTarget(
            name: "AskedDisk", dependencies: ["CFuse"], path: "Tests/AskedDisk", cSettings: [.define("_GNU_SOURCE")],
            linkerSettings: [.linkedLibrary("fuse3")]),
    ],
    swiftLanguageModes: [.v6]
)
