import Foundation

/// A PulseAudio of its own, with the null sinks `a` (the default) and `b`, ended in `deinit`.
final class SoundServer: Sendable {
    static let isAvailable = ["pulseaudio", "pactl", "pacat"].allSatisfy { Tool.exists($0) }

    private let directory: ScratchDirectory
    private let process = Monitor(ChildProcess?.none)
    private let recorders = Monitor([ChildProcess]())

    /// - Parameter isRunning: otherwise only its address exists until `start`.
    init(isRunning: Bool = true) throws {
        directory = try ScratchDirectory()
        if isRunning { try start() }
    }

    deinit { kill() }

    /// What a program needs in order to use it, and no other one.
    var environment: [String: String?] {
        [
            "PULSE_SERVER": "unix:" + directory.file("pulse.sock"), "PULSE_COOKIE": directory.file("cookie"),
            "SDL_AUDIODRIVER": "pulseaudio", "XDG_RUNTIME_DIR": directory.path, "HOME": directory.path,
        ]
    }

    func start() throws {
        let socket = directory.file("pulse.sock")
        try? FileManager.default.removeItem(atPath: socket)
        var arguments = [
            "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--disable-shm=no",
            "-L", "module-native-protocol-unix socket=\(socket) auth-anonymous=1",
        ]
        for sink in ["a", "b"] {
            arguments += [
                "-L",
                "module-null-sink sink_name=\(sink) rate=48000 channels=2 sink_properties=device.description=Sink-\(sink)",
            ]
        }
        // On a desktop rtkit gives the server real-time priority; without it a busy machine makes gaps in all sound.
        let server =
            geteuid() == 0
            ? try ChildProcess("chrt", ["-f", "5", "pulseaudio"] + arguments, environment: environment)
            : try ChildProcess("pulseaudio", arguments, environment: environment)
        process.set(server)
        guard eventually(timeout: 30, { (try? control("info")) != nil }) else {
            throw HarnessError("pulseaudio doesn't start: \(server.errorText)")
        }
        try control("set-default-sink", "a")
        // An idle null sink would hold back what is played to it for up to 2 s.
        for sink in ["a", "b"] {
            let recorder = try ChildProcess(
                "pacat", ["--record", "-d", sink + ".monitor", "--raw", "--latency-msec=20", "/dev/null"],
                environment: environment)
            recorders.withLock { $0.append(recorder) }
        }
    }

    /// Ends the server as a crash does.
    func kill() {
        recorders.withLock { all in
            for recorder in all { recorder.end() }
            all = []
        }
        process.withLock { server in
            server?.end()
            server = nil
        }
    }

    /// What `pactl` prints.
    @discardableResult
    func control(_ arguments: String...) throws -> String {
        let process = try ChildProcess("pactl", arguments, environment: environment)
        defer { process.end() }
        guard try process.waitForEnd(timeout: 30) == .exited(0) else { throw HarnessError(process.errorText) }
        return process.outputText
    }

    /// Plays a sine until the result is ended, for a minute at most.
    func play(_ hertz: Int, sink: String = "a") throws -> ChildProcess {
        let file = directory.file("sine-\(hertz).wav")
        if !FileManager.default.fileExists(atPath: file) {
            try Tool.run(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "sine=frequency=\(hertz):sample_rate=48000:duration=60", "-ac",
                    "2", "-af", "volume=6dB", file,
                ])
        }
        return try ChildProcess(
            "pacat", ["--playback", "-d", sink, "--latency-msec=20", "--file-format=wav", file],
            environment: environment)
    }

    /// What a sink plays for so long: the left channel.
    func listen(_ seconds: Double, sink: String = "a") throws -> Heard {
        let file = directory.file("heard-\(UUID().uuidString).raw")
        let recorder = try ChildProcess(
            "pacat",
            [
                "--record", "-d", sink + ".monitor", "--raw", "--format=float32le", "--rate=48000", "--channels=2",
                "--latency-msec=20", file,
            ], environment: environment)
        defer { recorder.end() }
        let wanted = Int(seconds * 48_000) * 8
        _ = eventually(timeout: seconds + 20) {
            let size = try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int
            return size ?? 0 >= wanted
        }
        return try Heard(raw: file)
    }

    /// Waits until a tone is heard at the default sink.
    func waitForTone(_ hertz: Double, timeout: Double = 30) throws {
        var last: [Double] = []
        let isHeard = try eventually(timeout: timeout) {
            last = try listen(0.5).levels(of: hertz)
            return last.suffix(4).allSatisfy { $0 > 0.05 }
        }
        if !isHeard { throw HarnessError("the tone of \(hertz) Hz isn't heard: \(last)") }
    }
}

/// Samples at 48 kHz.
struct Heard {
    static let rate = 48_000.0
    var samples: [Float]

    /// The left channel of a file of 32-bit samples in two channels.
    init(raw path: String) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        samples = bytes.withUnsafeBytes { bytes in
            (0..<bytes.count / 8).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Float.self) }
        }
    }

    /// The sound of a film or a sound file, with silence where it has none, from its time 0 on.
    init(ofFile path: String) throws {
        let directory = try ScratchDirectory()
        let raw = directory.file("sound.raw")
        try Tool.run(
            "ffmpeg",
            [
                "-v", "error", "-i", path, "-map", "0:a:0", "-af", "aresample=async=1:first_pts=0", "-ac", "2", "-ar",
                "48000", "-f", "f32le", raw,
            ])
        try self.init(raw: raw)
    }

    var seconds: Double { Double(samples.count) / Self.rate }

    /// The amplitude of a tone in each of the pieces of 50 ms (Goertzel's algorithm); 1 is full scale.
    func levels(of hertz: Double) -> [Double] {
        let length = Int(Self.rate / 20)
        return stride(from: 0, through: samples.count - length, by: length).map { start in
            var (real, imaginary) = (0.0, 0.0)
            for index in 0..<length {
                let angle = 2 * Double.pi * hertz * Double(index) / Self.rate
                real += Double(samples[start + index]) * cos(angle)
                imaginary += Double(samples[start + index]) * sin(angle)
            }
            return 2 * (real * real + imaginary * imaginary).squareRoot() / Double(length)
        }
    }

    /// When something louder than `level` begins after 0.2 s of less, in seconds.
    func onsets(above level: Float) -> [Double] {
        var onsets: [Double] = []
        var quiet = Int(Self.rate)
        for (index, sample) in samples.enumerated() {
            guard abs(sample) > level else {
                quiet += 1
                continue
            }
            if quiet > Int(Self.rate / 5) { onsets.append(Double(index) / Self.rate) }
            quiet = 0
        }
        return onsets
    }
}

/// A film with a white flash and a beep of 1 kHz at each whole second, both 100 ms long.
enum FlashFilm {
    static func make(seconds: Int, in directory: ScratchDirectory) throws -> String {
        let path = directory.file("film.mkv")
        try Tool.run(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "color=c=black:size=320x180:rate=30:duration=\(seconds)", "-f",
                "lavfi", "-i", "sine=frequency=1000:sample_rate=48000:duration=\(seconds)", "-vf",
                "drawbox=color=white:t=fill:enable='lt(mod(t,1),0.1)'", "-af",
                "volume=volume='if(lt(mod(t,1),0.1),4,0)':eval=frame:precision=float,asetnsamples=480", "-c:v",
                "libx264",
                "-qp", "10", "-c:a", "pcm_s16le", path,
            ])
        return path
    }

    /// When the pictures of a film become white, in seconds.
    static func flashes(in path: String) throws -> [Double] {
        let text = try Tool.run(
            "ffprobe",
            [
                "-v", "error", "-f", "lavfi", "-i", "movie=\(path),signalstats", "-show_entries",
                "frame=pts_time:frame_tags=lavfi.signalstats.YAVG", "-of", "csv=p=0",
            ])
        var flashes: [Double] = []
        var wasWhite = false
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ",").compactMap { Double($0) }
            guard fields.count >= 2 else { continue }
            let isWhite = fields[1] > 128
            if isWhite, !wasWhite { flashes.append(fields[0]) }
            wasWhite = isWhite
        }
        return flashes
    }
}
