import BeamLibAV
import BeamMedia
import BeamPixels
import CAVCodec
import Foundation
import Testing

@testable import BeamCodec

/// Tests that run without a graphics device: the choice of decoder, a device that fails, and NV12 pictures. Where there
/// is a device, it decodes as well.
@Suite struct HardwareDecoderTests {
    private let content = MovingContent(PixelSize(width: 320, height: 180))
    /// Slightly larger than the largest size that is decoded in software by default.
    private static let large = PixelSize(width: 2562, height: 1442)

    /// The software decoder as a device: its pictures are NV12 and go through the same download.
    private final class PretendedDevice: FrameDecoder {
        let name = "vaapi:pretended"
        private let decoder: SoftwareDecoder
        private let decoded = FrameHandle()
        private let download = PictureDownload()
        /// How many frames it still decodes before it fails for good.
        private var left: Int

        init(failingAfter left: Int) throws(CodecError) {
            decoder = try SoftwareDecoder(threads: 1)
            self.left = left
        }

        func decode(_ packet: PacketHandle, into frame: FrameHandle) throws(FrameDecoderError) -> Bool {
            guard let decoded, let download, left > 0 else { throw .deviceFailed(reason: "it was pulled out") }
            left -= 1
            guard try decoder.decode(packet, into: decoded) else { return false }
            try download.fetch(try Self.semiPlanar(decoded), into: frame)
            return true
        }

        func flush() { decoder.flush() }

        private static func semiPlanar(_ frame: FrameHandle) throws(FrameDecoderError) -> FrameHandle {
            guard let result = FrameHandle() else { throw .deviceFailed(reason: "no memory") }
            let (from, to) = (frame.pointer, result.pointer)
            to.pointee.format = AV_PIX_FMT_NV12.rawValue
            (to.pointee.width, to.pointee.height) = (from.pointee.width, from.pointee.height)
            guard av_frame_get_buffer(to, 0) >= 0, let y = to.pointee.data.0, let pairs = to.pointee.data.1,
                let fromY = from.pointee.data.0, let u = from.pointee.data.1, let v = from.pointee.data.2
            else { throw .deviceFailed(reason: "no memory") }
            let (width, height) = (Int(from.pointee.width), Int(from.pointee.height))
            for row in 0..<height {
                memcpy(y + row * Int(to.pointee.linesize.0), fromY + row * Int(from.pointee.linesize.0), width)
            }
            for row in 0..<(height + 1) / 2 {
                for column in 0..<(width + 1) / 2 {
                    let place = pairs + row * Int(to.pointee.linesize.1) + 2 * column
                    place[0] = u[row * Int(from.pointee.linesize.1) + column]
                    place[1] = v[row * Int(from.pointee.linesize.2) + column]
                }
            }
            to.pointee.colorspace = from.pointee.colorspace
            to.pointee.color_range = from.pointee.color_range
            return result
        }
    }

    /// Counts how often a device is opened.
    private final class Device: @unchecked Sendable {
        // Sendable: each test uses it on its own thread only.
        var opened = 0
        var lives: Int?

        /// `lives`: frames that it decodes before it fails; nil: it doesn't open.
        init(lives: Int?) { self.lives = lives }

        var openers: DecoderOpeners {
            DecoderOpeners(
                software: { threads throws(CodecError) in try SoftwareDecoder(threads: threads) },
                hardware: { [self] _ throws(CodecError) in
                    opened += 1
                    guard let lives else {
                        throw .hardwareDecoderDoesNotStart(reason: "there is none", working: ["software"])
                    }
                    return try PretendedDevice(failingAfter: lives)
                })
        }
    }

    private static func pixels(_ picture: Picture) -> [UInt8] {
        (0..<picture.format.planeCount).flatMap { plane in
            (0..<picture.format.plane(plane, of: picture.size).rows).flatMap { Array(picture.buffer.row(plane, $0)) }
        }
    }

    /// NV12 pictures have the same samples as the software decoder's, in even and odd sizes.
    @Test(arguments: [(320, 180), (322, 182), (66, 34), (641, 363)]) func downloadedSamplesAreTheSame(
        _ width: Int, _ height: Int
    )
        throws
    {
        let size = PixelSize(width: width, height: height)
        let device = Device(lives: .max)
        let decoder = try VideoDecoder(choice: .vaapi(device: nil), openers: device.openers)
        let reference = try VideoDecoder(choice: .software)
        for unit in try MovingContent(size).coded(4) {
            let (picture, other) = (try #require(try decoder.decode(unit)), try #require(try reference.decode(unit)))
            #expect(picture.size == size && picture.colour == other.colour && picture.format == .i420)
            #expect(Self.pixels(picture) == Self.pixels(other))
        }
        #expect(decoder.name == "vaapi:pretended" && reference.name == "software")
    }

    @Test func chromaIsSeparatedInEverySize() {
        var generator = SeededGenerator(seed: 7)
        for width in [1, 2, 3, 15, 31, 33, 64, 127, 258] {
            let size = PixelSize(width: width, height: 5)
            let columns = (width + 1) / 2
            let stride = 2 * columns + 6
            var pairs = (0..<stride * 3).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let buffer = PixelBuffer(format: .i420, size: size)
            pairs.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                PixelConversion.separateChroma(Plane(base: base, stride: stride), into: buffer)
            }
            for row in 0..<3 {
                for column in 0..<columns {
                    #expect(buffer.row(1, row)[column] == pairs[row * stride + 2 * column])
                    #expect(buffer.row(2, row)[column] == pairs[row * stride + 2 * column + 1])
                }
            }
        }
    }

    /// By default a device gets large pictures only, and isn't opened before the first of them.
    @Test func onlyLargePicturesGoToTheDevice() throws {
        let device = Device(lives: .max)
        let decoder = try VideoDecoder(choice: .automatic, openers: device.openers)
        let small = try content.coded(2)
        for unit in small { #expect(try decoder.decode(unit) != nil) }
        #expect(decoder.name == "software" && device.opened == 0)
        for unit in try MovingContent(Self.large).coded(2) { #expect(try decoder.decode(unit)?.size == Self.large) }
        #expect(decoder.name == "vaapi:pretended" && device.opened == 1)
        for unit in small { #expect(try decoder.decode(unit) != nil) }
        #expect(decoder.name == "software" && device.opened == 1)
    }

    @Test func aDeviceThatDoesNotOpenIsReplacedBySoftware() throws {
        let device = Device(lives: nil)
        let decoder = try VideoDecoder(choice: .automatic, openers: device.openers)
        let units = try MovingContent(Self.large).coded(3, keyframes: [2])
        for unit in units { #expect(try decoder.decode(unit) != nil) }
        // A higher rate is used after half a second.
        #expect(decoder.name == "software" && device.opened == 1)
        #expect(throws: CodecError.hardwareDecoderDoesNotStart(reason: "there is none", working: ["software"])) {
            try VideoDecoder(choice: .vaapi(device: nil), openers: device.openers)
        }
    }

    @Test func streams444AreDecodedInSoftware() throws {
        let size = PixelSize(width: 320, height: 180)
        let device = Device(lives: 100)
        let decoder = try VideoDecoder(choice: .vaapi(device: nil), openers: device.openers)
        let picture = try PictureConverter(.full).convert(content.picture(0), to: size)
        let full = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, chroma: .full))
        let unit = try #require(try full.encode(picture, keyframe: true)).unit
        #expect(try decoder.decode(unit)?.format == .i444)
        #expect(decoder.name == "software" && decoder.hardwareFailure == nil)
        // The next 4:2:0 stream goes to the device again.
        for unit in try content.coded(2) { _ = try decoder.decode(unit) }
        #expect(decoder.name == "vaapi:pretended")
    }

    @Test func theSoftwareOptionNeverOpensADevice() throws {
        let device = Device(lives: .max)
        let decoder = try VideoDecoder(choice: .software, openers: device.openers)
        for unit in try MovingContent(Self.large).coded(2) { #expect(try decoder.decode(unit) != nil) }
        #expect(decoder.name == "software" && device.opened == 0)
    }

    /// A device that can't decode the first frame loses no frame.
    @Test func aDeviceThatFailsAtAKeyframeLosesNoFrame() throws {
        let units = try content.coded(6, keyframes: [3])
        for lives in [0, 3] {
            let device = Device(lives: lives)
            let decoder = try VideoDecoder(choice: .vaapi(device: nil), openers: device.openers)
            for unit in units { #expect(try decoder.decode(unit) != nil) }
            #expect(decoder.name == "software" && decoder.hardwareFailure == "it was pulled out")
        }
    }

    @Test func aDeviceThatFailsInMidstreamNeedsAKeyframe() throws {
        let units = try content.coded(8, keyframes: [5])
        let device = Device(lives: 3)
        let decoder = try VideoDecoder(choice: .vaapi(device: nil), openers: device.openers)
        let reference = try VideoDecoder(choice: .software)
        for unit in units[..<3] { #expect(try decoder.decode(unit) != nil) }
        #expect(throws: CodecError.damagedFrame(reason: "the device that decodes has failed (it was pulled out)")) {
            try decoder.decode(units[3])
        }
        #expect(throws: CodecError.keyframeNeeded) { try decoder.decode(units[4]) }
        for unit in units[..<5] { _ = try reference.decode(unit) }
        for unit in units[5...] {
            let (picture, other) = (try #require(try decoder.decode(unit)), try #require(try reference.decode(unit)))
            #expect(Self.pixels(picture) == Self.pixels(other))
        }
        #expect(decoder.name == "software" && device.opened == 1)
    }

    /// Damaged frames are refused with a device as without one.
    @Test func afterDamageADeviceWaitsForAKeyframe() throws {
        let units = try content.coded(8, keyframes: [5])
        let decoder = try VideoDecoder(choice: .vaapi(device: nil), openers: Device(lives: .max).openers)
        #expect(throws: CodecError.keyframeNeeded) { try decoder.decode(units[1]) }
        #expect(try decoder.decode(units[0]) != nil)
        var cut = units[1]
        cut.range = cut.range.lowerBound..<cut.range.upperBound - 3
        #expect(throws: CodecError.self) { try decoder.decode(cut) }
        #expect(throws: CodecError.keyframeNeeded) { try decoder.decode(units[2]) }
        #expect(try decoder.decode(units[5]) != nil)
        #expect(throws: CodecError.damagedFrame(reason: "the frame before it is missing")) {
            try decoder.decode(units[7])
        }
        #expect(decoder.name == "vaapi:pretended" && decoder.hardwareFailure == nil)
    }

    @Test func errorsNameWhatIsWrongWithADevice() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("renderD128")
        #expect(FileManager.default.createFile(atPath: file, contents: Data("no device".utf8)))
        let working = RenderDevices.workingDecoders()
        #expect(working.first == "software")
        for (path, reason) in [
            ("/dev/dri/renderD999", "there is no /dev/dri/renderD999"), (file, "\(file) is not a device"),
            (directory.path, "\(directory.path) is not a device"),
            ("/dev/null", "/dev/null doesn't open for VA-API"),
        ] {
            let error = try #require(throws: CodecError.self) { try VideoDecoder(choice: .vaapi(device: path)) }
            #expect(error.description.contains(reason), "\(error)")
            #expect(error.description.contains("These work here: software"), "\(error)")
        }
    }

    @Test(.enabled(if: RenderDevices.paths().isEmpty, "there is a graphics device here"))
    func aMissingDeviceIsNamed() throws {
        #expect(
            throws: CodecError.hardwareDecoderDoesNotStart(
                reason: "there is no graphics device (/dev/dri/renderD…)", working: ["software"])
        ) { try VideoDecoder(choice: .vaapi(device: nil)) }
        #expect(try VideoDecoder().name == "software")
    }

    @Test(.enabled(if: RenderDevices.workingDecoders().count > 1, "no device here opens for VA-API"))
    func theRealDeviceDecodes() throws {
        let decoder = try VideoDecoder(choice: .vaapi(device: nil))
        let reference = try VideoDecoder(choice: .software)
        for unit in try MovingContent(PixelSize(width: 1280, height: 720)).coded(10) {
            let (picture, other) = (try #require(try decoder.decode(unit)), try #require(try reference.decode(unit)))
            #expect(Self.pixels(picture) == Self.pixels(other))
        }
    }

    @Test func devicesAreOrderedByNumber() throws {
        let directory = try TemporaryDirectory()
        for name in ["renderD130", "renderD129", "renderD1000", "card0", "renderDx", "renderD", "by-path", "renderD-1"]
        {
            #expect(FileManager.default.createFile(atPath: directory.file(name), contents: nil))
        }
        #expect(
            RenderDevices.paths(in: directory.path)
                == ["renderD129", "renderD130", "renderD1000"].map { directory.file($0) })
        #expect(RenderDevices.paths(in: directory.file("missing")).isEmpty)
    }

    @Test func decoderChoicesAreParsed() throws {
        #expect(try DecoderChoice(parsing: "auto") == .automatic)
        #expect(try DecoderChoice(parsing: "software") == .software)
        #expect(try DecoderChoice(parsing: "vaapi") == .vaapi(device: nil))
        #expect(
            try DecoderChoice(parsing: "vaapi:/dev/dri/renderD129") == .vaapi(device: "/dev/dri/renderD129"))
        for text in ["", "VAAPI", "vaapi:", "vaapi:renderD128", "nvdec", "software:", "vaapi /dev/dri/renderD128", ":"]
        {
            let error = try #require(throws: CodecError.self) { try DecoderChoice(parsing: text) }
            #expect(error.description.contains("no video decoder “\(text)”"))
            #expect(error.description.contains("These work here: software"))
        }
    }

    /// Fuzz body: any name is refused with a message, and nothing but a device is opened.
    @Test func `Fuzz: names of decoders and devices`() throws {
        let parts = [
            "vaapi", ":", "/", "dev", "dri", "renderD", "128", "software", "auto", "..", "\0", "%s", "🜂", " ", "null",
            "\n",
        ]
        for seed in fuzzSeeds(300) {
            var generator = SeededGenerator(seed: seed)
            let count = Int.random(in: 0..<9, using: &generator)
            let text = (0..<count).map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
            guard let choice = try? DecoderChoice(parsing: text), case .vaapi(let path?) = choice else { continue }
            do throws(HardwareDevice.Failure) {
                _ = try HardwareDevice(path: path)
            } catch {
                #expect(!error.reason.isEmpty, "seed \(seed)")
            }
        }
    }
}
