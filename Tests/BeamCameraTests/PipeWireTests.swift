import BeamMedia
import CBeamPortal
import CLateLibraries
import Foundation
import Testing

@testable import BeamCamera

/// The camera in a real PipeWire, read back by a program that takes any size.
@Suite(.enabled(if: Desktop.obstacle == nil, Comment(rawValue: Desktop.obstacle ?? "")))
struct PipeWireTests {
    /// One colour: Y 180, Cb 90, Cr 150 in BT.709 are about red 230, green 187, blue 111.
    private func picture(_ width: Int, _ height: Int) -> Picture {
        let buffer = PixelBuffer(format: .i420, size: PixelSize(width: width, height: height))
        for (index, value) in [UInt8(180), 90, 150].enumerated() {
            let (_, rows) = PixelFormat.i420.plane(index, of: buffer.size)
            let plane = buffer.planes[index]
            plane.base.initializeMemory(as: UInt8.self, repeating: value, count: plane.stride * rows)
        }
        return Picture(buffer: buffer, time: .zero)
    }

    @Test func aCameraIsReadFollowsTheSizeAndGoesBlack() throws {
        let desktop = try Desktop()
        var losses = 0
        let source = try PipeWireSource(
            name: "Test camera", remote: desktop.socket, size: CameraSize(fixed: nil), onLost: { losses += 1 })
        source.enter()
        defer { source.leave() }
        var (reader, opened) = (try Reader(desktop, camera: "Test camera"), Date())

        /// Shows `picture` again and again, until the reader has got `pixel` in that size.
        func isRead(_ picture: Picture, isHidden: Bool = false, as pixel: [UInt8]) -> Bool {
            let deadline = Date(timeIntervalSinceNow: 20)
            while Date() < deadline {
                _ = source.turn()
                source.show(picture, isHidden: isHidden)
                usleep(20_000)
                guard let (size, corners) = reader.turn() else {
                    // A session manager that has only begun may leave alone what came before it.
                    if !reader.hasRead, Date().timeIntervalSince(opened) > 4,
                        let another = try? Reader(desktop, camera: "Test camera")
                    {
                        (reader, opened) = (another, Date())
                    }
                    continue
                }
                let isRight = corners.allSatisfy { zip($0, pixel).allSatisfy { abs(Int($0) - Int($1)) <= 2 } }
                if size == picture.size, isRight { return true }
            }
            return false
        }
        #expect(isRead(picture(64, 48), as: [111, 187, 230]))
        #expect(isRead(picture(64, 48), isHidden: true, as: [0, 0, 0]))
        #expect(isRead(picture(48, 80), as: [111, 187, 230]))

        desktop.killPipeWire()
        let isLost = Date(timeIntervalSinceNow: 20)
        while losses == 0, Date() < isLost {
            _ = source.turn()
            usleep(10_000)
        }
        #expect(losses == 1)
        // It waits for PipeWire, and takes pictures meanwhile.
        source.show(picture(64, 48), isHidden: false)
        #expect(source.descriptor == nil)
    }
}

/// A PipeWire with its session manager, without anybody's desktop. Ended in `deinit`.
private final class Desktop {
    /// What is missing to run these tests; nil if nothing.
    static let obstacle: String? = {
        let missing = ["dbus-daemon", "pipewire", "wireplumber"].filter {
            !FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)")
        }
        return missing.isEmpty ? nil : "not installed: \(missing.joined(separator: ", "))"
    }()

    /// Not in a longer path: a socket's has at most 107 bytes.
    private let folder = "/tmp/beam-camera-\(UUID().uuidString.prefix(8))"
    private var processes: [Process] = []
    var socket: String { folder + "/pipewire-0" }

    init() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let bus = folder + "/bus"
        try start("dbus-daemon", ["--session", "--address=unix:path=\(bus)", "--nofork", "--nopidfile"], until: bus)
        try start("pipewire", [], until: socket)
        try start("wireplumber", [], until: nil)
    }

    deinit {
        for process in processes {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    func killPipeWire() { kill(processes[1].processIdentifier, SIGKILL) }

    private func start(_ name: String, _ arguments: [String], until file: String?) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/\(name)")
        process.arguments = arguments
        process.environment = [
            "XDG_RUNTIME_DIR": folder, "HOME": folder, "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder)/bus",
            "PATH": "/usr/bin:/bin",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        processes.append(process)
        guard let file else { return }
        for _ in 0..<400 where !FileManager.default.fileExists(atPath: file) { usleep(50_000) }
        try #require(FileManager.default.fileExists(atPath: file), "\(name) doesn't start")
    }
}

/// Reads a camera as other programs do. Used by one thread.
private final class Reader {
    private let connection: OpaquePointer
    private let stream: OpaquePointer
    private(set) var hasRead = false

    init(_ desktop: Desktop, camera: String) throws {
        try #require(beam_load_libpipewire() == nil)
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: desktop.socket.utf8) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
        var error: CInt = 0
        connection = try #require(beam_pipewire_open(descriptor, &error))
        beam_pipewire_enter(connection)
        // By its name. The session manager links it as soon as the camera is there.
        stream = try #require(beam_stream_open(connection, UInt32.max, camera, 60_000, &error))
    }

    deinit {
        beam_stream_close(stream)
        beam_pipewire_leave(connection)
        beam_pipewire_close(connection)
    }

    /// The newest picture's size, and its first and last pixel; nil: none has come.
    func turn() -> (PixelSize, [[UInt8]])? {
        guard beam_pipewire_turn(connection) != 0 else { return nil }
        let state = beam_stream_get_state(stream)
        var buffer = beam_buffer()
        var newest: (PixelSize, [[UInt8]])?
        while beam_stream_take(stream, &buffer) != 0 {
            if let pixels = buffer.pixels, buffer.chunk_size > 0, buffer.is_corrupted == 0, buffer.stride > 0 {
                let last = Int(buffer.stride) * Int(state.height) - 4
                if last + 4 <= buffer.length {
                    hasRead = true
                    newest = (
                        PixelSize(width: Int(state.width), height: Int(state.height)),
                        [0, last].map { [pixels[$0], pixels[$0 + 1], pixels[$0 + 2]] }
                    )
                }
            }
            if let handle = buffer.handle { beam_stream_give_back(stream, handle) }
        }
        return newest
    }
}
