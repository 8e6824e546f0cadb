import BeamClock
import BeamMedia
import CAVCodec
import Dispatch
import Foundation
import Synchronization

/// Which encoder suits this machine, found out by having each code a few pictures.
///
/// Where there is no device, nothing is tried: libx264 it is, at once.
struct EncoderTrial: Sendable {
    /// The encoders of devices that are there, best first.
    var candidates: @Sendable () -> [String]
    /// What a picture takes with this encoder; nil for one that doesn't open, fails, or delays its frames.
    var measure: @Sendable (_ name: String, _ settings: EncoderSettings) -> Duration?
    /// The longest that an answer may take. A driver that loads more slowly than this is left to itself.
    var patience = Duration.milliseconds(500)

    /// Each candidate may code for so long; opening it comes on top, and cannot be cut short.
    private static let codingTime = Duration.milliseconds(40)
    /// A keyframe, and then as many pictures as fit in the time.
    private static let leastPictures = 4
    private static let mostPictures = 9

    static let standard = EncoderTrial(
        candidates: { devices(exists: isDevice, renderNodes: RenderDevices.paths()) },
        measure: { name, settings in time(name, settings) })

    /// The quickest encoder for `settings`; libx264 where none is clearly quicker.
    func choose(for settings: EncoderSettings) -> String {
        let candidates = self.candidates()
        guard !candidates.isEmpty else { return OpenedEncoder.standardName }
        let verdict = Verdict()
        let measure = self.measure
        // Its own thread: a driver that hangs must not hold up the host.
        _ = StageThread("beam-trial") {
            let times = ([OpenedEncoder.standardName] + candidates).map { ($0, measure($0, settings)) }
            verdict.set(Self.best(times))
        }
        return verdict.wait(patience) ?? OpenedEncoder.standardName
    }

    /// The name with the least time. The first one, libx264, has to be beaten by a tenth: its picture is better at the same
    /// rate, and it follows the rate at once. Where it fails, which it shouldn't, the others are compared among themselves.
    static func best(_ times: [(name: String, time: Duration?)]) -> String? {
        guard let standard = times.first else { return nil }
        let quickest = times.dropFirst()
            .compactMap { entry in entry.time.map { (entry.name, $0) } }
            .min { $0.1 < $1.1 }
        guard let quickest else { return standard.name }
        guard let time = standard.time else { return quickest.0 }
        return quickest.1 * 10 < time * 9 ? quickest.0 : standard.name
    }

    /// NVENC where NVIDIA's driver shows itself, VA-API where there are render nodes, each as far as libavcodec has it.
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

    /// The median time of a picture behind the keyframe, all that belongs to it included.
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

    /// What the trial's thread finds, for the one that waits.
    private final class Verdict: Sendable {
        private let name = Mutex<String?>(nil)
        private let semaphore = DispatchSemaphore(value: 0)

        func set(_ name: String?) {
            self.name.withLock { $0 = name }
            semaphore.signal()
        }

        /// Nil when it doesn't come in time.
        func wait(_ patience: Duration) -> String? {
            guard semaphore.wait(timeout: .now() + .nanoseconds(Int(patience.inNanoseconds))) == .success else {
                return nil
            }
            return name.withLock { $0 }
        }
    }
}

/// Pictures to try encoders with: coarse texture that scrolls, in one memory.
private struct TrialScene {
    private let size: PixelSize
    private let tall: PixelBuffer
    /// Rows from picture to picture; even, for the chroma's sake.
    private static let step = 4
    private static let most = 16

    init(_ size: PixelSize) {
        self.size = size
        tall = PixelBuffer(
            format: .i420, size: PixelSize(width: size.width, height: size.height + Self.step * Self.most))
        for plane in 0..<3 {
            let (rowBytes, rows) = tall.format.plane(plane, of: tall.size)
            // Blocks of a few pixels in many greys, as text and icons have; chroma of one colour.
            var random: UInt32 = 1
            let line = (0..<rowBytes).map { column -> UInt8 in
                if column % 5 == 0 { random = random &* 1_664_525 &+ 1_013_904_223 }
                return plane == 0 ? 40 + UInt8(random >> 25) : 128
            }
            line.withUnsafeBytes { line in
                guard let base = line.baseAddress else { return }
                for row in 0..<rows {
                    // The same line, shifted differently in each eight rows.
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
