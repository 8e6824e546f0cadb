import BeamClock
import BeamCodec
import BeamMedia
import BeamPixels
import Foundation
import Testing

/// Prints figures, checks nothing: `BEAMROOM_BENCH=1 swift test -c release --filter CodecBench`. `BEAMROOM_BENCH_FILES`
/// (paths of 4:2:0 `.y4m` files, separated by spaces) adds other pictures.
@Suite(
    .enabled(
        if: ProcessInfo.processInfo.environment["BEAMROOM_BENCH"] == "1", "figures are printed with BEAMROOM_BENCH=1"),
    .serialized)
struct CodecBench {
    private func milliseconds(_ body: () throws -> Void) rethrows -> Double {
        let start = MediaTime.now
        try body()
        return (MediaTime.now - start).inMilliseconds
    }

    private func summary(_ values: [Double]) -> String {
        let sorted = values.sorted()
        func rounded(_ value: Double) -> String { String(format: "%.2f", value) }
        return "median \(rounded(sorted[sorted.count / 2])), p95 \(rounded(sorted[sorted.count * 95 / 100]))"
    }

    @Test func kernels() {
        let size = PixelSize(width: 1920, height: 1080)
        let (source, target) = (PixelBuffer(format: .bgrx, size: size), PixelBuffer(format: .i420, size: size))
        let planar = PixelBuffer(format: .i444, size: size)
        for buffer in [source, target, planar] { buffer.fill(90) }
        let whole = PixelRect(size)
        for kernel in [PixelConversion.Kernel.best, .portable] {
            var times: [[Double]] = [[], [], []]
            for _ in 0..<100 {
                times[0].append(
                    milliseconds {
                        PixelConversion.bgrxToI420(source, into: target, rects: DamageRegion(whole), kernel: kernel)
                    })
                for (index, yuv) in [target, planar].enumerated() {
                    times[index + 1].append(
                        milliseconds {
                            PixelConversion.toBGRX(
                                yuv, colour: .bt709Limited, into: source.planes[0].base,
                                stride: source.planes[0].stride,
                                rect: whole, kernel: kernel)
                        })
                }
            }
            print(
                "\(kernel), 1080p: bgrx to i420 \(summary(times[0])) ms, i420 to bgrx \(summary(times[1])) ms, i444 to bgrx \(summary(times[2])) ms"
            )
        }
    }

    @Test(arguments: [PixelSize(width: 1280, height: 720), PixelSize(width: 1919, height: 1079)]) func scaling(
        _ to: PixelSize
    ) throws {
        let source = PixelBuffer(format: .bgrx, size: PixelSize(width: 1920, height: 1080))
        source.fill(90)
        let converter = PictureConverter()
        let times = try (0..<50).map { _ in
            try milliseconds { _ = try converter.convert(Picture(buffer: source, time: .zero), to: to) }
        }
        print("bgrx 1920x1080 scaled to \(to): \(summary(times)) ms")
    }

    @Test func codec() throws {
        let files =
            ProcessInfo.processInfo.environment["BEAMROOM_BENCH_FILES"]?.split(separator: " ").map(String.init) ?? []
        for file in files {
            let (frameRate, pictures) = try Self.read(file)
            try measure("\(file)", pictures, frameRate: frameRate)
        }
        for size in [PixelSize(width: 1920, height: 1080), PixelSize(width: 1366, height: 767)] {
            let content = MovingContent(size)
            try measure("scrolling text \(size)", (0..<60).map { content.picture($0) }, frameRate: 30)
        }
    }

    private func measure(_ name: String, _ pictures: [Picture], frameRate: Double) throws {
        let settings = EncoderSettings(size: pictures[0].size, frameRate: frameRate)
        let (encoder, decoder, single) = (try VideoEncoder(settings), try VideoDecoder(), try VideoDecoder(threads: 1))
        var (encoding, decoding, alone): ([Double], [Double], [Double]) = ([], [], [])
        var (quality, bytes): ([Double], [Int]) = ([], [])
        for (number, picture) in pictures.enumerated() {
            var timed = picture
            timed.time = MediaTime(nanoseconds: Int64(Double(number) * 1e9 / frameRate))
            var frame: EncodedFrame?
            encoding.append(
                try milliseconds { frame = try encoder.encode(timed, keyframe: number == pictures.count / 2) })
            let coded = try #require(frame).unit
            var decoded: Picture?
            decoding.append(try milliseconds { decoded = try decoder.decode(coded) })
            alone.append(try milliseconds { _ = try single.decode(coded) })
            bytes.append(coded.bytes.count)
            quality.append(PictureQuality.psnr(try #require(decoded).buffer, picture.buffer))
        }
        let rate = Double(bytes.reduce(0, +)) * 8 * frameRate / Double(bytes.count) / 1e6
        let worst = quality.min() ?? 0
        print(
            """
            \(name) at \(settings.bitRate / 1_000_000) Mbit/s: encode \(summary(encoding)) ms, decode \(summary(decoding)) ms, on one thread \(summary(alone)) ms; \
            luma dB first \(String(format: "%.1f", quality[0])), worst \(String(format: "%.1f", worst)), \
            second keyframe \(String(format: "%.1f", quality[pictures.count / 2])); \
            keyframes \(bytes[0] / 1000) and \(bytes[pictures.count / 2] / 1000) kB, \(String(format: "%.1f", rate)) Mbit/s
            """)
    }

    /// The pictures of an uncompressed 4:2:0 file.
    private static func read(_ path: String) throws -> (frameRate: Double, pictures: [Picture]) {
        let data = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        let end = try #require(data.firstIndex(of: 10))
        var (width, height, frameRate) = (0, 0, 30.0)
        for field in String(decoding: data[..<end], as: UTF8.self).split(separator: " ") {
            let value = field.dropFirst()
            switch field.first {
            case "W": width = Int(value) ?? 0
            case "H": height = Int(value) ?? 0
            case "F":
                let parts = value.split(separator: ":").compactMap { Double($0) }
                frameRate = parts.count == 2 ? parts[0] / parts[1] : 30
            default: break
            }
        }
        let size = PixelSize(width: width, height: height)
        var pictures: [Picture] = []
        var offset = end + 1
        let bytes = (0..<3).reduce(0) {
            $0 + PixelFormat.i420.plane($1, of: size).rowBytes * PixelFormat.i420.plane($1, of: size).rows
        }
        while offset + 6 + bytes <= data.count {
            offset += 6
            let buffer = PixelBuffer(format: .i420, size: size)
            for plane in 0..<3 {
                let (rowBytes, rows) = PixelFormat.i420.plane(plane, of: size)
                for y in 0..<rows {
                    data.copyBytes(to: buffer.row(plane, y), from: offset..<offset + rowBytes)
                    offset += rowBytes
                }
            }
            pictures.append(Picture(buffer: buffer, time: .zero))
        }
        return (frameRate, pictures)
    }
}
