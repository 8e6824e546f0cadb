import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamCodec

/// Decoded sound in WAV files.
@Suite struct WAVWriterTests {
    private let directory: TemporaryDirectory
    private static let start = MediaTime(nanoseconds: 7_000_000_000_000)

    init() throws { directory = try TemporaryDirectory() }

    private func time(_ seconds: Double) -> MediaTime { Self.start + .seconds(clamping: seconds) }

    /// Frames of `value` in both channels.
    private func piece(_ frames: Int, _ value: Float = 0.25) -> [Float] { [Float](repeating: value, count: frames * 2) }

    /// The samples of one channel of a file.
    private func read(_ file: String, isComplete: Bool = true) throws -> [Int16] {
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: file)))
        func number(_ at: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) } }
        try #require(bytes.count >= 44)
        #expect(String(decoding: bytes[0..<4] + bytes[8..<16] + bytes[36..<40], as: UTF8.self) == "RIFFWAVEfmt data")
        #expect(bytes[16..<36] == [16, 0, 0, 0, 1, 0, 2, 0, 0x80, 0xBB, 0, 0, 0, 0xEE, 2, 0, 4, 0, 16, 0])
        #expect(number(4) == number(40) + 36)
        if isComplete { #expect(number(40) == bytes.count - 44) } else { #expect(number(40) <= bytes.count - 44) }
        // Seconds of sound are read without optimisation: no closure for each sample.
        var left: [Int16] = []
        var areEqual = true
        bytes.withUnsafeBytes { bytes in
            var place = 44
            while place + 4 <= 44 + number(40) {
                let frame = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
                let sample = UInt16(truncatingIfNeeded: frame)
                areEqual = areEqual && sample == UInt16(truncatingIfNeeded: frame >> 16)
                left.append(Int16(bitPattern: sample))
                place += 4
            }
        }
        #expect(areEqual)
        return left
    }

    @Test func samplesAreRoundedAndGapsAreSilent() throws {
        let file = directory.file("a.wav")
        let writer = try WAVWriter(path: file)
        var values: [Float] = [0, 1, -1, 0.5, -0.25, 2, -.infinity, .nan, 0.4 / 32768, 0.6 / 32768]
        values = values.flatMap { [$0, $0] }
        try writer.write(values, at: time(0), arrival: time(0))
        // Within 5 ms there is no gap; 20 ms are one, and 10 ms before the end are there already.
        try writer.write(piece(480), at: time(0.002), arrival: time(0.01))
        try writer.write(piece(960, 0.5), at: time(490.0 / 48_000 + 0.02), arrival: time(0.03))
        try writer.write(piece(960, 0.75), at: time(490.0 / 48_000 + 0.03), arrival: time(0.05))
        try writer.finish()
        let read = try read(file)
        #expect(read[..<10] == [0, 32767, -32768, 16384, -8192, 32767, -32768, 0, 0, 1])
        #expect(read.count == 10 + 480 + 960 + 960 + 480)
        #expect(read[10..<490].allSatisfy { $0 == 8192 } && read[490..<1450].allSatisfy { $0 == 0 })
        #expect(read[1450..<2410].allSatisfy { $0 == 16384 } && read[2410...].allSatisfy { $0 == 24576 })
    }

    @Test(.enabled(if: Probe.isThere, "ffprobe is not installed")) func ffprobeReadsTheFile() throws {
        let file = directory.file("b.wav")
        let writer = try WAVWriter(path: file)
        for number in 0..<150 {
            try writer.write(piece(480), at: time(Double(number) / 100), arrival: time(Double(number) / 100))
        }
        // What a crash leaves: all but the last second.
        let crashed = try read(file, isComplete: false)
        #expect(crashed.count >= 48_000)
        try writer.finish()
        let probe = try Probe.run(file, "-show_entries", "stream=codec_name,sample_rate,channels,duration")
        #expect(probe.errors.isEmpty && probe.lines == ["pcm_s16le,48000,2,1.500000"])
    }

    /// A sound card that is 300 ppm slow, with jitter, for 40 s: it drifts by more than the length of a gap.
    @Test func aDriftIsFollowedWithoutSteps() throws {
        var generator = SeededGenerator(seed: 3)
        let file = directory.file("c.wav")
        let writer = try WAVWriter(path: file)
        for number in 0..<4000 {
            let sine = (0..<480).flatMap { index -> [Float] in
                let value = Float(0.5 * sin(2 * .pi * 440 * Double(number * 480 + index) / 48_000))
                return [value, value]
            }
            let at = Double(number) * 0.01 * 1.0003 + Double.random(in: -0.001...0.001, using: &generator)
            try writer.write(sine, at: time(at), arrival: time(at))
        }
        try writer.finish()
        let read = try read(file)
        #expect(abs(Double(read.count) / 48_000 - 40.012) < 0.002)
        // The steepest step of the sine is 944.
        for (a, b) in zip(read, read.dropFirst()) where abs(Int(a) - Int(b)) > 960 {
            Issue.record("a step from \(a) to \(b)")
        }
    }

    @Test func silenceIsBounded() throws {
        let file = directory.file("d.wav")
        let writer = try WAVWriter(path: file)
        try writer.write(piece(480), at: time(0), arrival: time(0))
        // After an hour: a minute. Then it goes on from there.
        try writer.write(piece(480), at: time(3600), arrival: time(3600))
        try writer.write(piece(480), at: time(3600.01), arrival: time(3600.01))
        #expect(
            try {
                try writer.finish(); return try read(file).count
            }() == 60 * 48_000 + 1440)

        // Times that jump: no more silence than time has passed, and 2 s.
        let wild = directory.file("e.wav")
        let second = try WAVWriter(path: wild)
        for number in 0..<300 {
            let at = [time(Double(number) * 50), .distantPast, .distantFuture, time(-Double(number))][number % 4]
            try second.write(piece(48), at: at, arrival: time(Double(number) / 100))
        }
        try second.finish()
        let written = try read(wild)
        #expect(written.count <= 300 * 48 + 5 * 48_000 && written.filter { $0 != 0 }.count > 200 * 48)
    }

    /// A host that sends many short packets, whose times go back and forth.
    @Test func noMoreIsWrittenThanTimePasses() throws {
        let file = directory.file("much.wav")
        let writer = try WAVWriter(path: file)
        for number in 0..<6000 {
            let arrival = Double(number) / 2000
            try writer.write(piece(480), at: time(arrival + Double(number % 5) * 3), arrival: time(arrival))
        }
        try writer.finish()
        let seconds = Double(try read(file).count) / 48_000
        // Sound of 15 s, and silence of 5; 60 s were sent.
        #expect((10...20.1).contains(seconds), "\(seconds)")
    }

    @Test func aFullFileIsFollowedByTheNext() throws {
        let writer = try WAVWriter(path: directory.file("f.wav"), capacity: 4000)
        for number in 0..<5 { try writer.write(piece(480), at: time(Double(number) / 100), arrival: time(0)) }
        try writer.finish()
        #expect(writer.currentPath == directory.file("f-3.wav"))
        let counts = try ["f.wav", "f-2.wav", "f-3.wav"].map { try read(directory.file($0)).count }
        #expect(counts == [960, 960, 480])
        #expect(throws: CodecError.fileExists(path: directory.file("f-2.wav"))) {
            try WAVWriter(path: directory.file("f-2.wav"))
        }
        #expect(throws: CodecError.self) { try WAVWriter(path: directory.file("f.mp3")) }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
    func aFullDiskIsAnError() throws {
        let writer = try WAVWriter(path: "/dev/full")
        #expect(throws: CodecError.cannotWriteFile(path: "/dev/full", reason: "no space left on device")) {
            for number in 0..<200 { try writer.write(piece(480), at: time(Double(number) / 100), arrival: time(0)) }
            try writer.finish()
        }
    }

    // MARK: On a thread of its own

    private final class Told: Sendable {
        let behind = Mutex(0)
        let leftOut = Mutex<[Int]>([])
        let failures = Mutex<[CodecError]>([])

        var handlers: BackgroundSoundFile.Handlers {
            BackgroundSoundFile.Handlers(
                onFile: { _, _ in }, onBehind: { _ in self.behind.withLock { $0 += 1 } },
                onCaughtUp: { _, count in self.leftOut.withLock { $0.append(count) } },
                onFailure: { _, error in self.failures.withLock { $0.append(error) } })
        }
    }

    @Test func theFileIsWrittenInTheBackground() throws {
        let told = Told()
        let file = directory.file("g.wav")
        let sound = try BackgroundSoundFile(path: file, handlers: told.handlers)
        sound.start()
        for number in 0..<100 { sound.push(piece(480), at: time(Double(number) / 100)) }
        sound.stop()
        #expect(try read(file).count == 48_000 && told.failures.withLock(\.isEmpty) && told.behind.withLock { $0 } == 0)
        // One that was never used leaves nothing.
        let unused = try BackgroundSoundFile(path: directory.file("h.wav"), handlers: told.handlers)
        unused.start()
        unused.stop()
        #expect(!FileManager.default.fileExists(atPath: directory.file("h.wav")))
    }

    @Test func whatFindsNoRoomIsCounted() throws {
        let told = Told()
        let file = directory.file("i.wav")
        let sound = try BackgroundSoundFile(path: file, handlers: told.handlers)
        // Not started yet: 10 s wait, and 2 s are left out.
        for number in 0..<1200 { sound.push(piece(480), at: time(Double(number) / 100)) }
        #expect(told.behind.withLock { $0 } == 1)
        sound.start()
        sound.stop()
        #expect(told.leftOut.withLock { $0 } == [200])
        #expect(try read(file).count == 480_000)
    }

    @Test func theEndWaitsForNoReaderThatHasStopped() throws {
        signal(SIGPIPE, SIG_IGN)
        let path = directory.file("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        // F_SETPIPE_SZ, which Swift can't import.
        try #require(reader >= 0 && fcntl(reader, 1031, 4096) == 4096)
        let told = Told()
        let sound = try BackgroundSoundFile(path: path, patience: .milliseconds(200), handlers: told.handlers)
        sound.start()
        for number in 0..<300 { sound.push(piece(480), at: time(Double(number) / 100)) }
        sound.stop()
        #expect(told.failures.withLock(\.count) == 1)
        // A pipe's header states the greatest length.
        var header = [UInt8](repeating: 0, count: 44)
        #expect(Glibc.read(reader, &header, 44) == 44 && header[40..<44] == [0xD0, 0xFF, 0xFF, 0xFF])
    }
}
