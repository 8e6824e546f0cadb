import BeamClock
import BeamMedia
import BeamSound
import Foundation
import Synchronization
import Testing

/// An output looks for its server in the environment, so there is one server's address for all of these tests.
@Suite(.serialized, .enabled(if: SoundServer.obstacle == nil, "\(SoundServer.obstacle ?? "")"))
struct OutputTests {
    private static let folder: URL = {
        let folder = FileManager.default.temporaryDirectory.appending(path: "beam-sound-output-\(getpid())")
        // Set before anything looks for the first time, and never changed.
        setenv("PULSE_SERVER", "unix:\(folder.path)/pulse.sock", 1)
        setenv("SDL_AUDIODRIVER", "pulseaudio", 1)
        setenv("PULSE_PROP", "beam.test=yes pulse.min.frag=32/48000", 1)
        return folder
    }()

    private let server: SoundServer

    init() throws { server = try SoundServer(at: Self.folder) }

    /// A sine that goes on for ever, and what became of the output.
    private final class Player: Sendable {
        struct Call {
            var heard: MediaTime
            var count: Int
        }

        static let step = 333
        let calls = Mutex<[Call]>([])
        let states = Mutex<[SoundOutputState]>([])
        let output = Mutex<SoundOutput?>(nil)

        init(_ frequency: Double, level: Double = 0.5, device: String? = nil) {
            let position = Atomic<Int>(0)
            let output = SoundOutput(device: device) { [weak self] state in
                self?.states.withLock { $0.append(state) }
            } fill: { [weak self] samples, demand in
                let count = demand.isWhole ? samples.count / 2 : Self.step
                let start = position.add(count, ordering: .relaxed).oldValue
                for (index, sample) in Tone.stereo(frequency, count: count, level: level, from: start).enumerated() {
                    samples[index] = sample
                }
                self?.calls.withLock { $0.append(Call(heard: demand.now + demand.latency, count: count)) }
                return count
            }
            self.output.withLock { $0 = output }
            output.start()
        }

        func stop() { output.withLock { $0 }?.stop() }

        func wait(for state: SoundOutputState, sourceLocation: SourceLocation = #_sourceLocation) {
            let deadline = Date(timeIntervalSinceNow: 60)
            while states.withLock({ $0.last }) != state {
                guard Date() < deadline else {
                    Issue.record(
                        "\(state) hasn't come; what has: \(states.withLock { $0 })", sourceLocation: sourceLocation)
                    return
                }
                usleep(10_000)
            }
        }
    }

    private func lastHalfSecond(_ samples: [Float]) -> [Float] { Tone.left(samples.suffix(48_000)) }

    @Test func `What fill gives is what the sink plays`() throws {
        let recorder = try server.record(from: "a.monitor")
        let player = Player(1000, level: 0.25)
        player.wait(for: .playing(name: nil))
        recorder.wait("half a second of the tone") { samples in
            samples.count > 48_000 && Tone.fit(lastHalfSecond(samples), 1000).level > 0.24
        }
        player.stop()
        let calls = player.calls.withLock { $0 }
        #expect(calls.allSatisfy { $0.count == Player.step })
        let count = player.calls.withLock { $0.count }
        usleep(100_000)
        #expect(player.calls.withLock { $0.count } == count)
        #expect(player.states.withLock { $0 } == [.playing(name: nil)])
    }

    @Test func `The volume and the mute`() throws {
        let recorder = try server.record(from: "a.monitor")
        let player = Player(100, level: 0.8)
        player.wait(for: .playing(name: nil))
        let output = try #require(player.output.withLock { $0 })
        let reaches = { (level: Double, what: String) in
            recorder.wait(what) { abs(Tone.fit(lastHalfSecond($0), 100).level - level) < 0.01 }
        }
        reaches(0.8, "full volume")
        output.volume = 0.25
        reaches(0.2, "a quarter")
        output.isMuted = true
        reaches(0, "silence")
        output.isMuted = false
        output.volume = 7
        #expect(output.volume == 1)
        reaches(0.8, "full volume again")
        output.volume = .nan
        #expect(output.volume == 0)
        reaches(0, "silence again")
        player.stop()
    }

    @Test func `What it says of the latency is what the sink's monitor shows`() throws {
        let log = CaptureLog(.named("a"), on: server)
        log.block("anything") { _ in true }
        let heard = Mutex<[MediaTime]>([])
        let calls = Atomic<Int>(0)
        // A click each half second or so.
        let output = SoundOutput(onState: { _ in }) { samples, demand in
            samples.update(repeating: 0)
            if calls.add(1, ordering: .relaxed).newValue % 50 == 0 {
                for index in 0..<64 { samples[index] = 0.9 }
                heard.withLock { $0.append(demand.now + demand.latency) }
            }
            return min(480, samples.count / 2)
        }
        output.start()
        var onsets: [MediaTime] = []
        log.block("ten clicks") { block in
            guard let index = block.samples.firstIndex(where: { $0 > 0.5 }) else { return false }
            let time = block.time + SoundBlock.time(ofSamples: index / 2)
            if onsets.last.map({ time - $0 > .milliseconds(100) }) ?? true { onsets.append(time) }
            return onsets.count == 10
        }
        output.stop()
        let differences = onsets.suffix(5).compactMap { onset in
            heard.withLock { $0 }.map { ($0 - onset).inMilliseconds }.min { abs($0) < abs($1) }
        }
        // A busy machine shifts the clocks of both ends at times. The latency is about 4 ms: if it weren't told, all would be off
        // by that.
        #expect(differences.contains { abs($0) < 2 }, "\(differences)")
    }

    @Test func `PipeWire would find its steps in the program's properties, and what the person has set`() throws {
        let player = Player(1000)
        player.wait(for: .playing(name: nil))
        let clients = try #require(server.control("list", "clients"))
        player.stop()
        for wanted in [
            #"pulse.min.quantum = "128/48000""#, #"pulse.min.frag = "32/48000""#, #"beam.test = "yes""#,
        ] { #expect(clients.contains(wanted), "\(clients)") }
    }

    @Test func `A device by its name, and one that isn't there`() throws {
        let recorder = try server.record(from: "b.monitor")
        let player = Player(1000, device: "Sink-b")
        player.wait(for: .playing(name: "Sink-b"))
        recorder.wait("the tone") { $0.count > 48_000 && Tone.fit(lastHalfSecond($0), 1000).level > 0.49 }
        player.stop()
        let other = Player(1000, device: "Sink-c")
        other.wait(for: .noSuchDevice(name: "Sink-c", names: ["Sink-a", "Sink-b"]))
        other.stop()
    }

    @Test func `A server that dies and comes back`() throws {
        let player = Player(1000)
        player.wait(for: .playing(name: nil))
        server.kill()
        player.wait(for: .lost)
        try server.start()
        player.wait(for: .playing(name: nil))
        let recorder = try server.record(from: "a.monitor")
        recorder.wait("the tone") { $0.count > 48_000 && Tone.fit(lastHalfSecond($0), 1000).level > 0.49 }
        player.stop()
    }

    @Test func `A server that isn't there yet, and one that hangs`() throws {
        server.kill()
        let player = Player(1000)
        let deadline = Date(timeIntervalSinceNow: 60)
        while player.states.withLock({ $0.isEmpty }), Date() < deadline { usleep(10_000) }
        #expect(player.states.withLock { if case .noOutput = $0.first { true } else { false } })
        try server.start()
        player.wait(for: .playing(name: nil))
        server.suspend(true)
        player.stop()
        server.suspend(false)
    }
}
