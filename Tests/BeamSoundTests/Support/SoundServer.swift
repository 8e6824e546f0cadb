import BeamMedia
import Foundation
import Testing

/// A PulseAudio of its own, with the null sinks `a` (the default) and `b`. Ended in `deinit`.
final class SoundServer {
    /// What is missing to run these tests; nil if nothing.
    static let obstacle: String? = {
        for program in ["pulseaudio", "pactl", "pacat"]
        where !FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)") {
            return "\(program) isn't installed"
        }
        return nil
    }()

    let folder: URL
    private var daemon: ChildProcess?
    private var helpers: [ChildProcess] = []

    var address: String { "unix:\(folder.path)/pulse.sock" }

    /// - Parameter isRunning: otherwise only the address exists, until `start`.
    init(isRunning: Bool = true, at folder: URL? = nil) throws {
        self.folder =
            folder
            ?? FileManager.default.temporaryDirectory.appending(path: "beam-sound-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        if isRunning { try start() }
    }

    deinit {
        kill()
        for helper in helpers { helper.kill() }
        try? FileManager.default.removeItem(at: folder)
    }

    /// - Parameter sinks: names of null sinks, of which the first is the default.
    func start(sinks: [String] = ["a", "b"]) throws {
        try? FileManager.default.removeItem(at: folder.appending(path: "pulse.sock"))
        var arguments = [
            "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--disable-shm=no", "-L",
            "module-native-protocol-unix socket=\(folder.path)/pulse.sock auth-anonymous=1",
        ]
        for sink in sinks {
            let properties = "sink_properties=device.description=Sink-\(sink)"
            arguments += ["-L", "module-null-sink sink_name=\(sink) rate=48000 channels=2 \(properties)"]
        }
        daemon = try child("pulseaudio", arguments)
        // Much longer than it takes even on a slow machine.
        let deadline = Date(timeIntervalSinceNow: 60)
        while control("info") == nil {
            try #require(Date() < deadline, "pulseaudio hasn't started")
            usleep(10_000)
        }
        if let first = sinks.first { control("set-default-sink", first) }
    }

    /// Ends the server as a crash does.
    func kill() {
        daemon?.kill()
        daemon = nil
    }

    /// Stops the server's work, or lets it go on.
    func suspend(_ isSuspended: Bool) {
        daemon?.signal(isSuspended ? SIGSTOP : SIGCONT)
    }

    /// What `pactl` prints; nil if it fails.
    @discardableResult func control(_ arguments: String...) -> String? {
        guard let program = try? child("pactl", arguments, keepsOutput: true), let output = program.output else {
            return nil
        }
        let data = output.readDataToEndOfFile()
        return program.wait() ? String(decoding: data, as: UTF8.self) : nil
    }

    /// Plays samples to a sink; ends by itself, or with the server.
    func play(_ samples: [Float], on sink: String) throws {
        let file = folder.appending(path: "played-\(UUID().uuidString)")
        try samples.withUnsafeBytes { Data($0) }.write(to: file)
        helpers.append(
            try child("pacat", ["--playback", "-d", sink, "--raw", "--latency-msec=200"] + Self.format + [file.path]))
    }

    /// Records from a source into memory until it is asked to stop.
    func record(from source: String) throws -> Recorder {
        let arguments = ["--record", "-d", source, "--raw", "--latency-msec=10"] + Self.format
        return Recorder(try child("pacat", arguments, keepsOutput: true))
    }

    private static let format = ["--format=float32le", "--rate=48000", "--channels=2"]

    private func child(_ name: String, _ arguments: [String], keepsOutput: Bool = false) throws -> ChildProcess {
        let environment = [
            "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "PULSE_COOKIE": "\(folder.path)/cookie",
            "PULSE_SERVER": address, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/dev/null",
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/dev/null", "LC_ALL": "C",
        ]
        return try ChildProcess("/usr/bin/\(name)", arguments, environment: environment, keepsOutput: keepsOutput)
    }
}

/// What a recording program has written so far.
final class Recorder: @unchecked Sendable {
    // Sendable: `data` is accessed under `lock` only, the rest is immutable.
    private let lock = NSLock()
    private var data = Data()
    private let program: ChildProcess

    init(_ program: ChildProcess) {
        self.program = program
        Thread { [self] in
            while let part = program.output?.availableData, !part.isEmpty { lock.withLock { data += part } }
        }.start()
    }

    /// Left and right in turn.
    var samples: [Float] {
        let copy = lock.withLock { data }
        return copy.withUnsafeBytes { bytes in
            (0..<bytes.count / 8 * 2).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
        }
    }

    /// Waits until the recording fits; records an issue if it doesn't.
    func wait(_ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ fits: ([Float]) -> Bool) {
        let deadline = Date(timeIntervalSinceNow: 60)
        while !fits(samples) {
            guard Date() < deadline else {
                Issue.record("\(what) isn't in the recording", sourceLocation: sourceLocation)
                return
            }
            usleep(20_000)
        }
    }

    func stop() -> [Float] {
        program.kill()
        return samples
    }
}
