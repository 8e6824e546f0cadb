import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamCodec

/// The choice among encoders, with given times: a device isn't needed.
@Suite struct EncoderTrialTests {
    private let settings = EncoderSettings(size: PixelSize(width: 640, height: 360), frameRate: 60)

    private static func trial(_ times: KeyValuePairs<String, Int?>) -> EncoderTrial {
        let table = times.map { ($0.key, $0.value) }
        return EncoderTrial(
            candidates: { table.map { $0.0 }.filter { $0 != "libx264" } },
            measure: { name, _ in table.first { $0.0 == name }?.1.map { .microseconds($0) } })
    }

    @Test func theQuickestEncoderWinsIfItIsMoreThan10PercentQuicker() {
        #expect(
            Self.trial(["libx264": 4000, "h264_nvenc": 3000, "h264_vaapi": 2000]).choose(for: settings) == "h264_vaapi")
        #expect(
            Self.trial(["libx264": 4000, "h264_nvenc": 2500, "h264_vaapi": 2600]).choose(for: settings) == "h264_nvenc")
        #expect(
            Self.trial(["libx264": 4000, "h264_nvenc": 3700, "h264_vaapi": 3600]).choose(for: settings) == "libx264")
        #expect(Self.trial(["libx264": 4000, "h264_vaapi": 3599]).choose(for: settings) == "h264_vaapi")
        #expect(Self.trial(["libx264": 4000, "h264_nvenc": nil, "h264_vaapi": nil]).choose(for: settings) == "libx264")
        #expect(
            Self.trial(["libx264": nil, "h264_nvenc": nil, "h264_vaapi": 9000]).choose(for: settings) == "h264_vaapi")
    }

    @Test func withoutADeviceNothingIsTried() {
        let trial = EncoderTrial(
            candidates: { [] },
            measure: { _, _ in
                Issue.record("something was tried")
                return nil
            })
        #expect(trial.choose(for: settings) == "libx264")
    }

    /// A driver that hangs delays the start by `patience` at most.
    @Test func aHangingDriverIsGivenUpAfterItsPatience() {
        let end = Latch()
        let trial = EncoderTrial(
            candidates: { ["h264_vaapi"] },
            measure: { _, _ in
                end.wait()
                return .zero
            }, timeout: .milliseconds(20))
        #expect(trial.choose(for: settings) == "libx264")
        end.open()
    }

    @Test func theChoiceIsMadeOnceAndAfterAFailureItIsLibx264() {
        let tried = Mutex(0)
        let trial = EncoderTrial(
            candidates: {
                tried.withLock { $0 += 1 }
                return ["h264_nvenc"]
            }, measure: { name, _ in name == "libx264" ? .milliseconds(4) : .milliseconds(1) })
        var preference = EncoderPreference()
        #expect(preference.name(for: settings, trial: trial) == "h264_nvenc")
        #expect(preference.name(for: settings, trial: trial) == "h264_nvenc")
        #expect(tried.withLock { $0 } == 1)
        preference.giveUp()
        #expect(preference.name(for: settings, trial: trial) == "libx264")
        #expect(tried.withLock { $0 } == 1)
    }

    @Test func devicesAreListedBeforeEncodersAreTried() {
        #expect(EncoderTrial.devices(exists: { _ in false }, renderNodes: []).isEmpty)
        // Only encoders that this libavcodec has.
        let all = EncoderTrial.devices(exists: { $0 == "/dev/nvidiactl" }, renderNodes: ["/dev/dri/renderD128"])
        #expect(["h264_nvenc", "h264_vaapi"].filter(all.contains) == all)
        #expect(
            !EncoderTrial.devices(exists: { _ in false }, renderNodes: ["/dev/dri/renderD128"]).contains("h264_nvenc"))
    }

    /// The real trial, with libx264, which every machine has. Odd sizes included.
    @Test(arguments: [(640, 360), (641, 363), (64, 64)]) func theTrialMeasuresEncoding(_ width: Int, _ height: Int)
        throws
    {
        let size = PixelSize(width: width, height: height)
        let time = try #require(EncoderTrial.time("libx264", EncoderSettings(size: size, frameRate: 60)))
        #expect(time > .zero)
        #expect(EncoderTrial.time("no such encoder", EncoderSettings(size: size, frameRate: 60)) == nil)
    }

    @Test(.enabled(if: EncoderTrial.standard.candidates().isEmpty, "there is a graphics device here"))
    func withoutADeviceLibx264IsChosen() {
        #expect(EncoderProbe.preferred(for: settings) == "libx264")
    }
}

private final class Latch: Sendable {
    private let isOpen = Mutex(false)

    func open() { isOpen.withLock { $0 = true } }

    func wait() { while !isOpen.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.002) } }
}
