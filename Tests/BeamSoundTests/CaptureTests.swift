import BeamClock
import BeamMedia
import BeamSound
import Foundation
import Testing

@Suite(.serialized, .enabled(if: SoundServer.obstacle == nil, "\(SoundServer.obstacle ?? "")"))
struct CaptureTests {
    private let seconds = 48_000

    @Test func `What the default output plays is captured as it is`() throws {
        let server = try SoundServer()
        let log = CaptureLog(.automatic, on: server)
        log.wait(for: .capturing(name: "Sink-a"))
        try server.play(Tone.stereo(1000, count: 5 * seconds, level: 0.25), on: "a")
        log.block("the tone") { $0.tone(1000).level > 0.24 }
        log.forgetBlocks()
        var count = 0
        log.block("half a second of the tone") { _ in
            count += 1
            return count == 50
        }
        log.stop()
        let blocks = log.blocks.prefix(50)
        for block in blocks {
            let (level, rest) = block.tone(1000)
            #expect(abs(level - 0.25) < 0.001 && rest < 1e-4)
            #expect(block.samples.count == 960)
        }
        // Consecutive: a sine without a step, and 10 ms apart. On a busy machine a clock as young as this one is off by some ms;
        // a block that is missing, or there twice, would be 10 ms. SampleClockTests tell how even the clock is.
        let whole = Tone.left(blocks.flatMap(\.samples))
        #expect(Tone.largestStep(whole) < 0.25 * 2 * .pi * 1000 / 48_000 * 1.01)
        for (next, block) in zip(blocks.dropFirst(), blocks) {
            #expect(abs((next.time - block.time).inMilliseconds - 10) < 8)
        }
    }

    @Test func `A block's time is when it is heard`() throws {
        let server = try SoundServer()
        let log = CaptureLog(.automatic, on: server)
        log.block("anything") { _ in true }
        let before = MediaTime.now
        // Not at once: the sink replaces silence that it has already passed to its monitor.
        let silence = [Float](repeating: 0, count: 48_000)
        try server.play(silence + [Float](repeating: 0.5, count: 200) + silence, on: "a")
        let block = try #require(log.block("the click") { !$0.isSilent })
        let after = MediaTime.now
        // Within the time that it took, and not in the far future: a null sink has no long buffers.
        #expect(block.time > before && block.time < after + .milliseconds(200))
    }

    @Test func `Silence is silent, and comes all the same`() throws {
        let server = try SoundServer()
        let log = CaptureLog(.automatic, on: server)
        var count = 0
        log.block("a second of it") { _ in
            count += 1
            return count == 100
        }
        #expect(log.blocks.allSatisfy { $0.isSilent })
    }

    @Test func `The default output is followed`() throws {
        let server = try SoundServer()
        let log = CaptureLog(.automatic, on: server)
        log.wait(for: .capturing(name: "Sink-a"))
        try server.play(Tone.stereo(500, count: 5 * seconds), on: "a")
        log.block("a's tone") { $0.tone(500).level > 0.4 }
        server.control("set-default-sink", "b")
        log.wait(for: .capturing(name: "Sink-b"))
        try server.play(Tone.stereo(2000, count: 5 * seconds), on: "b")
        log.block("b's tone") { $0.tone(2000).level > 0.4 }
        server.control("set-default-sink", "a")
        log.wait(for: .capturing(name: "Sink-a"))
        try server.play(Tone.stereo(5000, count: 5 * seconds), on: "a")
        log.block("a's next tone") { $0.tone(5000).level > 0.4 }
        #expect(!log.states.contains(.lost))
    }

    @Test func `An output by name or description, also when it comes later`() throws {
        let server = try SoundServer()
        try server.play(Tone.stereo(2000, count: 15 * seconds), on: "b")
        for name in ["b", "b.monitor", "Sink-b"] {
            let log = CaptureLog(.named(name), on: server)
            log.block("b's tone") { $0.tone(2000).restToTone < 0.01 }
        }
        let log = CaptureLog(.named("c"), on: server)
        log.wait(for: .noDevice(name: "c"))
        let module = server.control("load-module", "module-null-sink", "sink_name=c")
        log.block("something") { _ in true }
        server.control("unload-module", try #require(module).trimmingCharacters(in: .newlines))
        log.wait(for: .noDevice(name: "c"))
        #expect(log.states.contains { if case .capturing = $0 { true } else { false } })
    }

    @Test func `A monitor isn't taken for a microphone`() throws {
        let server = try SoundServer()
        let log = CaptureLog(.microphone, on: server)
        log.wait(for: .onlyMonitor(name: "Sink-a"))
        // An input of its own: what b plays, passed on.
        server.control("load-module", "module-remap-source", "source_name=mic", "master=b.monitor")
        server.control("set-default-source", "mic")
        try server.play(Tone.stereo(2000, count: 15 * seconds), on: "b")
        log.block("the microphone") { $0.tone(2000).restToTone < 0.01 }
        server.control("set-default-source", "a.monitor")
        log.wait(for: .onlyMonitor(name: "Sink-a"))
    }

    @Test func `Nothing is captured while nobody listens`() throws {
        let server = try SoundServer()
        let log = CaptureLog(.automatic, on: server, isActive: false)
        log.wait(for: .capturing(name: "Sink-a"))
        #expect(server.control("list", "short", "source-outputs") == "")
        log.setActive(true)
        log.block("anything") { _ in true }
        log.setActive(false)
        while server.control("list", "short", "source-outputs") != "" { usleep(10_000) }
        log.forgetBlocks()
        log.setActive(true)
        log.block("anything again") { _ in true }
    }

    @Test func `A server that dies and comes back`() throws {
        let server = try SoundServer()
        let log = CaptureLog(.automatic, on: server)
        log.block("anything") { _ in true }
        server.kill()
        log.wait(for: .lost)
        log.forgetBlocks()
        try server.start()
        log.block("anything again") { _ in true }
        log.wait(for: .capturing(name: "Sink-a"))
    }

    @Test func `A server that isn't there yet`() throws {
        let server = try SoundServer(isRunning: false)
        let log = CaptureLog(.automatic, on: server)
        log.wait(for: .noServer(reason: "connection refused"))
        try server.start()
        log.block("anything") { _ in true }
        #expect(log.states.count == 2)
    }

    @Test func `It stops at once, whatever is there`() throws {
        let server = try SoundServer(isRunning: false)
        for _ in 0..<20 {
            let log = CaptureLog(.automatic, on: server)
            log.stop()
        }
        try server.start()
        for _ in 0..<20 {
            let log = CaptureLog(.automatic, on: server)
            log.stop()
        }
        let log = CaptureLog(.automatic, on: server)
        log.block("anything") { _ in true }
        // A server that hangs.
        server.suspend(true)
        log.stop()
        server.suspend(false)
    }

    @Test func `The list of devices`() throws {
        let server = try SoundServer()
        #expect(
            try SoundDevices.list(server: server.address) == [
                SoundDevice(name: "a", description: "Sink-a", kind: .monitor, isDefault: true),
                SoundDevice(name: "b", description: "Sink-b", kind: .monitor, isDefault: false),
            ])
        server.kill()
        let error = #expect(throws: SoundError.self) { try SoundDevices.list(server: server.address) }
        #expect(error == .noServer(reason: "connection refused"))
    }
}
