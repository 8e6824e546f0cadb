import BeamClock
import BeamMedia
import CAVCodec
import Dispatch
import Foundation
import Synchronization

/// Chooses the encoder for this machine by having each code a few pictures.
///
/// Without a device nothing is tried, and libx264 is chosen at once.
struct EncoderTrial: Sendable {
    /// The encoders of existing devices, best first.
    var candidates: @Sendable () -> [String]
    /// The time that a picture takes with this encoder; nil if it doesn't open, fails, or delays frames.
    var measure: @Sendable (_ name: String, _ settings: EncoderSettings) -> Duration?
    /// The longest wait for a result. A driver that takes longer to load isn't used.
    var timeout = Duration.milliseconds(500)

    /// How long each candidate may code. Opening it comes on top, and can't be interrupted.
    private static let codingTime = Duration.milliseconds(40)
    /// The least and most pictures that are coded, the keyframe included.
    private static let leastPictures = 4
    private static let mostPictures = 9

    static let standard = EncoderTrial(
        candidates: { devices(exists: isDevice, renderNodes: RenderDevices.paths()) },
        measure: { name, settings in time(name, settings) })

    /// The fastest encoder for `settings`; libx264 unless another is clearly faster.
    func choose(for settings: EncoderSettings) -> String {
        let candidates = self.candidates()
        guard !candidates.isEmpty else { return OpenedEncoder.standardName }
        let verdict = Verdict()
        let measure = self.measure
        // On its own thread, so that a driver that hangs can't block the host.
        _ = StageThread("beam-trial") {
            let times = ([OpenedEncoder.standardName] + candidates).map { ($0, measure($0, settings)) }
            verdict.set(Self.best(times))
        }
        return verdict.wait(timeout) ?? OpenedEncoder.standardName
    }

    /// The fastest encoder's name. libx264, the first, is replaced only if another is faster by more than a tenth,
    /// because its picture is better at the same rate and it follows a new rate at once. If libx264 fails, the others
    /// are compared among themselves.
    static func best(_ times: [(name: String, time: Duration?)]) -> String? {
        guard let standard = times.first else { return nil }
        let quickest = times.dropFirst()
            .compactMap { entry in entry.time.map { (entry.name, $0) } }
            .min { $0.1 < $1.1 }
        guard let quickest else { return standard.name }
        guard let time = standard.time else { return quickest.0 }
        return quickest.1 * 10 < time * 9 ? quickest.0 : standard.name
    }

    /// NVENC if NVIDIA's driver is loaded, VA-API if there are render nodes; each only if libavcodec has it.
    static func devices(exists: (String) -> Bool, renderNodes: [String]) -> [String] {
        var names: [String] = []
        if exists("/dev/nvidiactl") || exists("/dev/dxg") { names.append("h264_nvenc") }
        if !renderNodes.isEmpty { names.append("h264_vaapi") }
        return names.filter { avcodec_find_encoder_by_name($0) != nil }
    }

    private static func isDevice(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR
    }

    /// The median time to encode a picture after the keyframe, conversion and upload included.
    static func time(_ name: String, _ settings: EncoderSettings) -> Duration? {
        var named = settings
        named.name = name
        guard let encoder = try? VideoEncoder(named) else { return nil }
        let scene = TrialScene(settings.size)
        var times: [Duration] = []
        let start = MediaTime.now
        for number in 0..<mostPictures {
            let picture = scene.picture(number, frameRate: settings.boundedFrameRate)
            let begin = MediaTime.now
            guard (try? encoder.encode(picture, keyframe: number == 0)) != nil else { return nil }
            let end = MediaTime.now
            if number > 0 { times.append(end - begin) }
            if times.count >= leastPictures, end - start > codingTime { break }
        }
        return times.sorted()[times.count / 2]
    }

    /// The trial's result, and the wait for it.
    private final class Verdict: Sendable {
        private let name = Mutex<String?>(nil)
        private let semaphore = DispatchSemaphore(value: 0)

        func set(_ name: String?) {
            self.name.withLock { $0 = name }
            semaphore.signal()
        }

        /// Nil after the timeout.
        func wait(_ timeout: Duration) -> String? {
            guard semaphore.wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds))) == .success else {
                return nil
            }
            return name.withLock { $0 }
        }
    }
}

/// Pictures to try encoders with: a scrolling coarse texture, in one buffer.
private struct TrialScene {
    private let size: PixelSize
    private let tall: PixelBuffer
    /// Rows that each picture scrolls; even, because of the chroma.
    private static let step = 4
    private static let most = 16

    init(_ size: PixelSize) {
        self.size = size
        tall = PixelBuffer(
            format: .i420, size: PixelSize(width: size.width, height: size.height + Self.step * Self.most))
        for plane in 0..<3 {
            let (rowBytes, rows) = tall.format.plane(plane, of: tall.size)
            // Luma: blocks of a few pixels in many greys, like text and icons. Chroma: constant.
            var random: UInt32 = 1
            let line = (0..<rowBytes).map { column -> UInt8 in
                if column % 5 == 0 { random = random &* 1_664_525 &+ 1_013_904_223 }
                return plane == 0 ? 40 + UInt8(random >> 25) : 128
            }
            line.withUnsafeBytes { line in
                guard let base = line.baseAddress else { return }
                for row in 0..<rows {
                    // The same line, shifted differently every eight rows.
                    let shift = (row / 8 * 37) % rowBytes
                    let target = tall.planes[plane].base + row * tall.planes[plane].stride
                    target.copyMemory(from: base + shift, byteCount: rowBytes - shift)
                    (target + rowBytes - shift).copyMemory(from: base, byteCount: shift)
                }
            }
        }
    }

    func picture(_ number: Int, frameRate: Double) -> Picture {
        let first = number % Self.most * Self.step
        let tall = self.tall
        let planes = tall.planes.enumerated().map { index, plane in
            Plane(base: plane.base + (index == 0 ? first : first / 2) * plane.stride, stride: plane.stride)
        }
        let buffer = PixelBuffer(format: .i420, size: size, planes: planes) { withExtendedLifetime(tall) {} }
        let time = MediaTime(nanoseconds: Int64(Double(number) * 1e9 / frameRate))
        return Picture(buffer: buffer, time: time, number: UInt64(number))
    }
}
