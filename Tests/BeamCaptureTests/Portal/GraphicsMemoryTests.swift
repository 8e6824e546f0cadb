import BeamMedia
import Foundation
import Glibc
import Testing

@testable import BeamCapture

/// Pictures that a desktop has in the graphics device's memory, from a source of the test's own: without a graphics device
/// the memory is the processor's, and only called DMA-BUF.
@Suite(.enabled(if: PipeWireServer.obstacle == nil, Comment(rawValue: PipeWireServer.obstacle ?? "")))
struct GraphicsMemoryTests {
    private static let size = PixelSize(width: 64, height: 48)

    /// What comes of a source of this kind: a picture, whether it lay in the device's memory, and why the stream has ended.
    private func pictures(
        of kind: String, count: Int
    ) throws -> (colours: [UInt32], wereOnDevice: Bool, end: StreamLife.End?) {
        let server = try PipeWireServer()
        let node = try server.startSource(kind)
        let remote = try PipeWireRemote(descriptor: server.connect())
        remote.enter()
        defer { remote.leave() }
        let part = try PortalPart(remote, PortalStream(node: node), maxFrameRate: 60)
        let frame = try #require(FrameStore(size: Self.size).takeFree { HeapMemory(byteCount: $0) })
        let control = try #require(CaptureControl())
        var colours: [UInt32] = []
        let deadline = MediaTime.now + .seconds(20)
        while colours.count < count, MediaTime.now < deadline, remote.turn() {
            if let end = part.hear(now: .now) { return (colours, part.isInGraphicsMemory, end) }
            if !part.take(now: .now).damage.isEmpty {
                #expect(part.size == Self.size)
                let whole = PixelRect(Self.size)
                part.copy(DamageRegion(whole), to: whole, in: frame)
                let canvas = X11Canvas(Picture(buffer: frame.lend(control), time: .zero))
                let corners = [(0, 0), (63, 0), (0, 47), (63, 47), (32, 24)].map { canvas[$0.0, $0.1] }
                // Of one colour: nothing of another row, or picture.
                #expect(Set(corners).count == 1)
                colours.append(corners[0])
            }
            var entry = remote.pollEntry
            poll(&entry, 1, 20)
        }
        return (colours, part.isInGraphicsMemory, nil)
    }

    @Test func rowsOfTheGraphicsDeviceAreRead() throws {
        let (colours, wereOnDevice, end) = try pictures(of: "linear", count: 8)
        #expect(end == nil)
        #expect(colours.count == 8 && Set(colours).count == 8, "\(colours)")
        #expect(colours.allSatisfy { $0 & 0xff == $0 >> 16 & 0xff })
        #expect(wereOnDevice)
    }

    @Test func theProcessorsMemoryIsPreferred() throws {
        let (colours, wereOnDevice, _) = try pictures(of: "both", count: 2)
        #expect(colours.count == 2)
        #expect(!wereOnDevice)
    }

    @Test func whatCannotBeReadIsSaid() throws {
        let locked = try pictures(of: "locked", count: 1)
        guard case .failed(let reason)? = locked.end else {
            Issue.record("\(locked)")
            return
        }
        #expect(
            reason.contains("in the graphics device's memory (DMA-BUF), which can't be read here: Permission denied"))
        #expect(PortalCapture.words(reason) == reason)
    }
}

/// A PipeWire with its session manager, without anybody's desktop. Ended in `deinit`.
private final class PipeWireServer {
    /// What is missing to run these tests; nil: nothing.
    static let obstacle: String? = {
        let missing = ["dbus-daemon", "pipewire", "wireplumber", "gcc"].filter {
            !FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
        }
        return missing.isEmpty ? nil : "not installed: \(missing.joined(separator: ", "))"
    }()

    /// Not in a longer path: a socket's has at most 107 bytes.
    private let folder = "/tmp/beam-wire-\(UUID().uuidString.prefix(8))"
    private var processes: [Process] = []
    private var socket: String { folder + "/pipewire-0" }

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let bus = folder + "/bus"
        try start("dbus-daemon", ["--session", "--address=unix:path=\(bus)", "--nofork", "--nopidfile"])
        try awaitFile(bus)
        try start("pipewire", [])
        try awaitFile(socket)
        try start("wireplumber", [])
    }

    deinit {
        for process in processes {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    @discardableResult
    private func start(_ name: String, _ arguments: [String], output: Any? = FileHandle.nullDevice) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: name.hasPrefix("/") ? name : "/usr/bin/\(name)")
        process.arguments = arguments
        process.environment = [
            "XDG_RUNTIME_DIR": folder, "HOME": folder, "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder)/bus",
            "PATH": "/usr/bin:/bin",
        ]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        processes.append(process)
        return process
    }

    private func awaitFile(_ file: String) throws {
        for _ in 0..<400 where !FileManager.default.fileExists(atPath: file) { usleep(50_000) }
        try #require(FileManager.default.fileExists(atPath: file), "\(file) doesn't appear")
    }

    /// Starts `dmabuf-source.c`. Returns its node.
    func startSource(_ kind: String) throws -> UInt32 {
        let code = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Support/dmabuf-source.c").path
        let program = folder + "/dmabuf-source"
        let compiler = try start(
            "gcc",
            [
                "-isystem", "/usr/include/pipewire-0.3", "-isystem", "/usr/include/spa-0.2", "-o", program, code,
                "-lpipewire-0.3",
            ])
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
        let output = Pipe()
        try start(program, [socket, kind], output: output)
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        return try #require(UInt32(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    func connect() throws -> CInt {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socket.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
        return descriptor
    }
}
