// swift-tools-version: 6.2
import PackageDescription

/// Every target of the program: Swift 6 language mode, warnings are errors.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]

func system(_ name: String, pkgConfig: String?, apt: String...) -> Target {
    .systemLibrary(name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: [.apt(apt)])
}

/// C that stands between Swift and the system.
func shim(_ name: String, _ dependencies: Target.Dependency..., flags: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Sources/System/\(name)",
        cSettings: [.unsafeFlags(["-O2", "-Wall", "-Wextra", "-Werror"] + flags)])
}

/// Where libpipewire-0.3-dev and libspa-0.2-dev have their headers. Their pkg-config file would link the library.
let pipewire = [
    "-isystem", "/usr/include/pipewire-0.3", "-isystem", "/usr/include/spa-0.2",
]

func library(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// A library that computes much in tests: optimised in debug builds, too, unless somebody wants to step through it.
func core(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    let isOptimised = Context.environment["BEAMROOM_UNOPTIMISED"] == nil
    return .target(
        name: name, dependencies: dependencies,
        swiftSettings: strict + (isOptimised ? [.unsafeFlags(["-O"], .when(configuration: .debug))] : []))
}

func test(_ name: String, _ dependencies: Target.Dependency..., exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

func nio(_ product: String) -> Target.Dependency { .product(name: product, package: "swift-nio") }

/// Of the page for browsers, in the order in which `Page` joins them.
let pageParts = [
    "icon.svg", "page.html", "page.css", "words.js", "screen.js", "packets.js", "gateway.js",
    "atgateway.js", "units.js", "sound.js", "statistics.js", "page.js",
]

let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")

let package = Package(
    name: "beamroom",
    products: [.executable(name: "beamroom", targets: ["beamroom"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        // For the benchmarks only.
        .package(url: "https://github.com/google/swift-benchmark", from: "0.1.2"),
    ],
    targets: [
        // The program.
        .executableTarget(
            name: "beamroom",
            dependencies: [
                "BeamHost", "BeamWeb", "BeamViewer", "BeamCamera", "BeamCapture", "BeamCodec", "BeamDisplay",
                "BeamDiscovery", "BeamNetwork", "BeamMetrics", "BeamDesktop",
                "BeamTrust", "BeamIdentity", "BeamSound", "BeamPlayout", "BeamSession", "BeamLog", "BeamWire",
                "BeamMedia",
                "BeamClock", "BeamDoctor", "BeamMeasure", "BeamMeeting", "BeamRelay", "BeamSettings", "BeamTerminal",
                "BeamVersion",
                "CErrorStream",
                "CHeap", logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
        // A room of equals as an application.
        library(
            "BeamMeeting", "BeamTerminal", "BeamHost", "BeamWeb", "BeamViewer", "BeamDisplay", "BeamDiscovery",
            "BeamNetwork",
            "BeamTrust", "BeamIdentity", "BeamSession", "BeamLog", "BeamWire", "BeamMedia"),
        // A relay as an application: a viewer whose pictures are served on.
        library(
            "BeamRelay", "BeamHost", "BeamViewer", "BeamNetwork", "BeamSession", "BeamLog", "BeamWire", "BeamMedia"),
        // What a person reads and types at a terminal, and what a program reads with --json.
        library(
            "BeamTerminal", "BeamHost", "BeamViewer", "BeamCodec", "BeamDisplay", "BeamDesktop", "BeamBus", "BeamSound",
            "BeamDiscovery", "BeamNetwork", "BeamMetrics", "BeamTrust", "BeamSession", "BeamLog", "BeamWire",
            "BeamMedia",
            "BeamClock", "CBeamShell", "CQREncode", "CLateLibraries", logging),
        library(
            "BeamHost", "BeamWeb", "BeamWords", "BeamSound", "BeamDesktop", "BeamCapture", "BeamCodec", "BeamDiscovery",
            "BeamNetwork", "BeamTrust", "BeamIdentity", "BeamPixels", "BeamSession", "BeamLog", "BeamWire", "BeamMedia",
            "BeamClock"),
        library(
            "BeamViewer", "BeamWords", "BeamSound", "BeamDesktop", "BeamCamera", "BeamCodec", "BeamDisplay",
            "BeamDiscovery", "BeamNetwork", "BeamSockets", "BeamTrust", "BeamIdentity", "BeamPixels", "BeamPlayout",
            "BeamSession", "BeamLog", "BeamWire",
            "BeamMedia",
            "BeamClock"),

        // Looks whether this machine can share and watch, by the adapters, and how well it reaches another one.
        library(
            "BeamDoctor", "BeamViewer", "BeamWeb", "BeamCapture", "BeamCodec", "BeamSound", "BeamDiscovery",
            "BeamNetwork", "BeamSockets", "BeamTrust", "BeamBus", "BeamWire", "BeamMedia", "BeamClock", "CBeamMachine",
            "CBeamSockets"),

        // Runs host and viewer as processes, and tells how well they did.
        library("BeamMeasure", "BeamCapture", "BeamPixels", "BeamMedia"),

        // The version, and the commit that the program is built from.
        .target(name: "BeamVersion", swiftSettings: strict, plugins: ["CommitPlugin"]),
        .plugin(name: "CommitPlugin", capability: .buildTool()),

        // Adapters: each meets one part of the world, and none imports another.
        core(
            "BeamCapture", "BeamLibAV", "BeamBus", "BeamPixels", "BeamMedia", "BeamClock", "CXCB", "CAVCodec",
            "CSystemd",
            "CBeamPortal", "CBeamWayland", "CLateLibraries", "CErrorStream"),
        library(
            "BeamCodec", "BeamLibAV", "BeamMedia", "BeamClock", "BeamPixels", "CAVCodec", "CX264", "CLateLibraries"),
        library(
            "BeamDisplay", "BeamMedia", "BeamClock", "BeamPixels", "Shaders", "CSDL2", "CPango", "CAVCodec",
            "CBeamWayland", "CLateLibraries", "CErrorStream"),
        library("BeamCamera", "BeamPixels", "BeamMedia", "BeamClock", "CBeamCamera", "CLateLibraries"),
        library("BeamDiscovery", "CAvahi"),
        library("BeamDesktop", "BeamBus", "BeamMedia", "BeamClock", "CBeamShell", "CSystemd", "CLateLibraries"),
        library("BeamSound", "BeamMedia", "BeamClock", "CBeamSound", "CPulse", "COpus", "CSDL2", "CLateLibraries"),
        library(
            "BeamNetwork", "BeamSockets", "BeamIdentity", "BeamSession", "BeamLog", "BeamWire", "BeamMedia",
            "BeamClock",
            "CBeamSockets",
            nio("NIOCore"), nio("NIOPosix"), nio("NIOTLS"), nioSSL),
        .target(
            name: "BeamWeb",
            dependencies: [
                "BeamSockets", "BeamIdentity", "BeamSession", "BeamWire", "BeamMedia", "BeamClock", "CBeamDTLS",
                "CLateLibraries",
                nio("NIOCore"), nio("NIOPosix"), nio("NIOWebSocket"), nioSSL, crypto,
            ],
            resources: pageParts.map { .embedInCode("Page/\($0)") },
            swiftSettings: strict),
        library(
            "BeamMetrics", "BeamSockets", "BeamWire", "BeamMedia", "BeamClock", metrics, nio("NIOCore"),
            nio("NIOPosix"),
            nio("NIOHTTP1")),
        library("BeamTrust", "BeamIdentity", "BeamLog", "BeamWire", "BeamMedia"),
        library("BeamWords", "BeamMedia", "BeamClock"),
        library("BeamSettings", "CBeamTOML"),

        // The core: no sockets, no threads but the slot's and the queue's, no clock; no C library but for cryptography and
        // erasure codes.
        core("BeamIdentity", "BeamWire", crypto, x509, asn1),
        core("BeamSession", "BeamLog", "BeamWire", "BeamMedia"),
        core("BeamLog", "BeamWire", "BeamMedia", crypto),
        core("BeamWire", "BeamMedia", "CSodium", "CCrypto", "CISAL", crypto),
        core("BeamPlayout", "BeamMedia"),
        core("BeamMedia"),
        library("BeamClock", "BeamMedia"),

        // Event loops, listening sockets, bursts of datagrams: for the two adapters to the network.
        library(
            "BeamSockets", "BeamSession", "BeamWire", "BeamMedia", "BeamClock", "CBeamSockets", nio("NIOCore"),
            nio("NIOPosix")),
        // Owners of libav's handles, for the codec and for recorded files.
        library("BeamLibAV", "BeamMedia", "CAVCodec", "CLateLibraries"),
        // Messages of D-Bus, for the desktop's services and its portal.
        library("BeamBus", "CSystemd", "CLateLibraries"),
        // Kernels that every pixel goes through, in C for its vector instructions.
        core("BeamPixels", "BeamMedia", "CBeamPixels", "CYUV", "CZstd", "CLateLibraries"),
        .target(name: "CBeamPixels", cSettings: [.unsafeFlags(["-O3", "-Wall", "-Wextra", "-Werror"])]),
        // The same for every sample of sound.
        .target(name: "CBeamSound", cSettings: [.unsafeFlags(["-O3", "-Wall", "-Wextra", "-Werror"])]),
        // Stands before the system libraries that are loaded when they are first needed, and not at the start.
        shim(
            "CLateLibraries", "CAVCodec", "CX264", "CYUV", "CSystemd", "CPulse", "COpus", "CCrypto", "CSRTP",
            "CQREncode",
            flags: pipewire),
        // Streams of PipeWire, for the portal.
        shim("CBeamPortal", "CLateLibraries", flags: pipewire),
        // Cameras made of pictures: video devices, and sources in PipeWire.
        shim("CBeamCamera", "CLateLibraries", flags: pipewire),
        // Keeps what libraries write to standard error away from people.
        shim("CErrorStream"),
        // How the C library's heap gives memory back.
        shim("CHeap"),
        // Files of settings, by toml++, whose headers are C++.
        .target(
            name: "CBeamTOML", path: "Sources/System/CBeamTOML",
            cxxSettings: [
                .unsafeFlags(["-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror"])
            ]),
        // Commands of the person's.
        shim("CBeamShell"),
        // Whether the machine's clock is in step.
        shim("CBeamMachine"),
        // A client of a Wayland compositor that captures its outputs.
        shim("CBeamWayland", "CLateLibraries"),
        // DTLS and SRTP, whose libraries have macros and callbacks.
        shim("CBeamDTLS", "CLateLibraries", "CCrypto", "CSRTP"),
        // What Swift can't see of the system's sockets.
        shim("CBeamSockets"),
        .target(
            name: "Shaders", path: "Shaders",
            resources: [
                .embedInCode("video.vert"), .embedInCode("video.frag"), .embedInCode("slopes.frag"),
                .embedInCode("scale.frag"), .embedInCode("layer.frag"),
            ],
            swiftSettings: strict),

        // System libraries.
        system(
            "CXCB", pkgConfig: "xcb", apt: "libxcb1-dev", "libxcb-shm0-dev", "libxcb-damage0-dev", "libxcb-xfixes0-dev",
            "libxcb-randr0-dev", "libxcb-composite0-dev", "libxcb-xinput-dev"),
        system(
            "CAVCodec", pkgConfig: nil, apt: "libavcodec-dev", "libavformat-dev", "libswscale-dev", "libswresample-dev"),
        // Their pkg-config files ask for flags that the package manager refuses; what they need stands in the module maps.
        system("CX264", pkgConfig: nil, apt: "libx264-dev"),
        system("CYUV", pkgConfig: nil, apt: "libyuv-dev"),
        system("CSDL2", pkgConfig: nil, apt: "libsdl2-dev"),
        // Loaded late, like libav; their pkg-config files would link them.
        system("CSystemd", pkgConfig: nil, apt: "libsystemd-dev"),
        system("CPulse", pkgConfig: nil, apt: "libpulse-dev"),
        system("COpus", pkgConfig: nil, apt: "libopus-dev"),
        system("CSRTP", pkgConfig: nil, apt: "libsrtp2-dev"),
        system("CQREncode", pkgConfig: nil, apt: "libqrencode-dev"),
        system("CAvahi", pkgConfig: "avahi-client", apt: "libavahi-client-dev"),
        system("CSodium", pkgConfig: "libsodium", apt: "libsodium-dev"),
        system("CCrypto", pkgConfig: "libcrypto", apt: "libssl-dev"),
        system("CISAL", pkgConfig: "libisal", apt: "libisal-dev"),
        system("CZstd", pkgConfig: "libzstd", apt: "libzstd-dev"),
        system("CPango", pkgConfig: "pangocairo", apt: "libpango1.0-dev"),

        // Times of the hot paths, and what they allocate: Scripts/bench micro.
        .executableTarget(
            name: "beamroom-benchmarks",
            dependencies: [
                "BeamNetwork", "BeamIdentity", "BeamCapture", "BeamCodec", "BeamPixels", "BeamSession", "BeamWire",
                "BeamMedia", "BeamClock", "CAllocations", .product(name: "Benchmark", package: "swift-benchmark"),
            ],
            path: "Lab/Micro", swiftSettings: strict),
        // Many viewers that don't decode, in one process: Scripts/bench crowd.
        .executableTarget(
            name: "beamroom-crowd",
            dependencies: [
                "BeamNetwork", "BeamSockets", "BeamTrust", "BeamIdentity", "BeamSession", "BeamWire", "BeamMedia",
                "BeamClock",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Lab/Crowd", swiftSettings: strict),
        // Stands in front of the C library's allocator; for no other program.
        .target(
            name: "CAllocations", path: "Lab/CAllocations",
            cSettings: [.unsafeFlags(["-O2", "-Wall", "-Wextra", "-Werror"])]),

        // Tests: one folder for each target, and the real program on a real X server.
        test("BeamMediaTests", "BeamMedia", "BeamClock"),
        test(
            "BeamProtocolTests", "BeamSession", "BeamLog", "BeamWire", "BeamPlayout", "BeamMedia", crypto,
            exclude: ["Fuzz/Corpus"]),
        test("BeamPixelsTests", "BeamPixels", "BeamMedia"),
        test(
            "BeamCaptureTests", "BeamCapture", "BeamBus", "BeamMedia", "BeamClock", "CBeamPortal", "CXCB",
            exclude: ["Support/portal.py", "Support/compositor.py", "Support/dmabuf-source.c"]),
        test("BeamCameraTests", "BeamCamera", "BeamPixels", "BeamMedia", "BeamClock", "CBeamPortal", "CLateLibraries"),
        test(
            "BeamCodecTests", "BeamCodec", "BeamLibAV", "BeamPixels", "BeamWire", "BeamMedia", "BeamClock", "CAVCodec"),
        test("BeamDisplayTests", "BeamDisplay", "BeamMedia", "BeamClock", "BeamPixels", "CSDL2", "CPango"),
        test("BeamDiscoveryTests", "BeamDiscovery"),
        test("BeamWordsTests", "BeamWords", "BeamMedia", "BeamClock"),
        test("BeamSettingsTests", "BeamSettings"),
        test("BeamDesktopTests", "BeamDesktop", "BeamBus", "BeamMedia", exclude: ["Support/desk.py"]),
        test("BeamSoundTests", "BeamSound", "BeamMedia", "BeamClock"),
        test("BeamIdentityTests", "BeamIdentity", "BeamWire", crypto, cryptoExtras, x509, asn1),
        test("BeamTrustTests", "BeamTrust", "BeamIdentity", "BeamLog", "BeamWire"),
        test(
            "BeamNetworkTests", "BeamNetwork", "BeamSockets", "BeamIdentity", "BeamSession", "BeamLog", "BeamWire",
            "BeamMedia",
            "BeamClock", "CBeamSockets", nio("NIOCore"), nio("NIOPosix"), nio("NIOTLS"), nioSSL, crypto, cryptoExtras,
            x509,
            asn1),
        test(
            "BeamWebTests", "BeamWeb", "BeamSockets", "BeamIdentity", "BeamCodec", "BeamSound", "BeamCapture",
            "BeamSession", "BeamWire", "BeamMedia", "BeamClock", "CBeamDTLS", nio("NIOCore"), nio("NIOPosix"), crypto),
        test(
            "BeamMetricsTests", "BeamMetrics", metrics, nio("NIOCore")),
        test(
            "BeamHostTests", "BeamHost", "BeamSound", "BeamCodec", "BeamPixels", "BeamSession", "BeamMedia", "BeamClock"
        ),
        test(
            "BeamViewerTests", "BeamViewer", "BeamDisplay", "BeamNetwork", "BeamTrust", "BeamIdentity", "BeamSound",
            "BeamSession", "BeamLog", "BeamWire", "BeamPixels", "BeamMedia", "BeamClock"),
        test("BeamDoctorTests", "BeamDoctor", "BeamNetwork", "BeamWire", "BeamMedia"),
        test("BeamMeasureTests", "BeamMeasure", "BeamCapture", "BeamPixels", "BeamMedia"),
        test(
            "BeamTerminalTests", "BeamTerminal", "BeamHost", "BeamViewer", "BeamSound", "BeamDiscovery", "BeamNetwork",
            "BeamMetrics", "BeamWeb", "BeamTrust", "BeamIdentity", "BeamSession", "BeamLog", "BeamWire", "BeamMedia"),
        test(
            "BeamMeetingTests", "BeamMeeting", "BeamTerminal", "BeamViewer", "BeamNetwork", "BeamTrust", "BeamLog",
            "BeamWire", "BeamMedia"),
        test(
            "BeamroomTests", "beamroom", "BeamSettings", "BeamTerminal", "BeamViewer", "BeamVersion", "BeamCapture",
            "BeamNetwork",
            "BeamMedia", "CErrorStream"),
        test("EndToEndTests", "BeamMedia", "CXCB", exclude: ["Support/loopback.c"]),
    ]
)

// For Scripts/fuzz alone: programs that run bodies of the tests, without the tests. In one of them libFuzzer feeds them,
// the other one plays rooms with adversaries.
@MainActor func fuzzer(_ name: String, _ folder: String, sources: [String] = [], _ others: Target.Dependency...) {
    package.targets.removeAll { $0.isTest }
    let mesh = "BeamProtocolTests/Mesh/"
    package.targets.append(
        .executableTarget(
            name: name, dependencies: ["BeamSession", "BeamLog", "BeamWire", "BeamMedia", crypto] + others,
            path: "Tests",
            sources: [
                folder, "BeamProtocolTests/Support", "BeamProtocolTests/Sealed/SealedSupport.swift",
                "BeamProtocolTests/Fuzz/FuzzInput.swift", "BeamProtocolTests/Fuzz/FuzzBodies.swift",
                "BeamProtocolTests/Fuzz/HostSessionFuzz.swift", "BeamProtocolTests/Fuzz/ViewerSessionFuzz.swift",
                "BeamProtocolTests/Fuzz/Fuzzing.swift", "BeamProtocolTests/Fuzz/LogFuzz.swift",
                "BeamProtocolTests/Fuzz/BesideFuzz.swift",
                mesh + "MeshSimulation.swift", mesh + "Adversary",
            ] + sources,
            swiftSettings: strict))
}
if Context.environment["BEAMROOM_FUZZ_SESSION"] != nil {
    fuzzer(
        "session-fuzzer", "SessionFuzzer",
        sources: [
            "BeamProtocolTests/Fuzz/BrowserFuzzBodies.swift", "BeamProtocolTests/Browsers/FakeBrowser.swift",
            "BeamProtocolTests/Gateways/FakeGateway.swift", "BeamWebTests/Support/PageFuzzBodies.swift",
            "BeamPixelsTests/Support/PatchFuzzBodies.swift", "BeamProtocolTests/Fuzz/PointerFuzzBodies.swift",
            "BeamProtocolTests/Fuzz/HashFuzzBodies.swift",
        ], "BeamWeb", "BeamPixels")
} else if Context.environment["BEAMROOM_ROOM_PLAYER"] != nil {
    fuzzer("room-player", "RoomPlayer")
}

// For whoever changes one part: builds only the named test targets and what they need, for example with
// BEAMROOM_TESTS=BeamCodecTests,BeamHostTests swift build --product beamroomPackageTests
if let names = Context.environment["BEAMROOM_TESTS"]?.split(separator: ",") {
    package.targets.removeAll { target in target.isTest && !names.contains { $0 == target.name } }
}
