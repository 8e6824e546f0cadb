import Testing

@testable import BeamSound

struct TargetTests {
    private let devices = PulseDevices(
        defaultSink: "speakers", defaultSource: "mic",
        sinks: [
            .init(name: "hdmi", description: "Television", monitor: "hdmi.monitor"),
            .init(name: "speakers", description: "Loudspeakers", monitor: "speakers.monitor"),
            .init(name: "mute", description: "Without", monitor: nil),
        ],
        sources: [
            .init(name: "hdmi.monitor", description: "Monitor of Television", monitoredSink: "hdmi"),
            .init(name: "speakers.monitor", description: "Monitor of Loudspeakers", monitoredSink: "speakers"),
            .init(name: "mic", description: "Microphone", monitoredSink: nil),
        ])

    @Test func `Automatic is what the default output plays`() {
        #expect(
            SoundTarget.automatic.choice(in: devices)
                == .source(name: "speakers.monitor", description: "Loudspeakers"))
    }

    @Test(arguments: ["mute", nil, "gone"])
    func `Automatic is never a microphone`(output: String?) {
        var devices = devices
        devices.defaultSink = output
        #expect(SoundTarget.automatic.choice(in: devices) == .none(.noDevice(name: nil)))
    }

    @Test func `A microphone is never a monitor`() {
        #expect(SoundTarget.microphone.choice(in: devices) == .source(name: "mic", description: "Microphone"))
        var devices = devices
        devices.defaultSource = "hdmi.monitor"
        #expect(SoundTarget.microphone.choice(in: devices) == .none(.onlyMonitor(name: "Television")))
        devices.defaultSource = nil
        #expect(SoundTarget.microphone.choice(in: devices) == .none(.noDevice(name: nil)))
    }

    @Test(
        arguments: [
            ("hdmi", "hdmi.monitor"), ("hdmi.monitor", "hdmi.monitor"), ("Television", "hdmi.monitor"), ("mic", "mic"),
            ("Microphone", "mic"), ("mute", nil), ("nothing", nil),
        ] as [(String, String?)])
    func `A name is that of an input or an output, or a description`(name: String, source: String?) {
        let choice = SoundTarget.named(name).choice(in: devices)
        if let source {
            guard case .source(source, _) = choice else {
                Issue.record("\(choice)")
                return
            }
        } else {
            #expect(choice == .none(.noDevice(name: name)))
        }
    }

    @Test func `The list has outputs and inputs, but no monitor twice`() {
        #expect(
            SoundDevices.devices(devices) == [
                SoundDevice(name: "hdmi", description: "Television", kind: .monitor, isDefault: false),
                SoundDevice(name: "speakers", description: "Loudspeakers", kind: .monitor, isDefault: true),
                SoundDevice(name: "mic", description: "Microphone", kind: .input, isDefault: true),
            ])
    }

    @Test func `A server's text is bounded and can't move the cursor`() {
        #expect(PulseText.shown("A\u{1B}[2J\nB") == "A[2J B")
        #expect(PulseText.shown(String(repeating: "x", count: 10_000))?.count == 160)
        #expect(PulseText.shown("\u{7}") == nil)
        #expect(PulseText.name(String(repeating: "x", count: 513)) == nil)
        #expect(PulseText.name("") == nil)
        #expect(PulseText.name(nil) == nil)
    }
}
