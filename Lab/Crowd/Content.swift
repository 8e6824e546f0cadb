import ArgumentParser
import Foundation

/// Moving content that makes an encoder use its full bit rate, which the test pattern at 1080p30 doesn't.
struct Content: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a video of two seconds whose end fits its beginning, for `share --source FILE`.",
        discussion: """
            A still desktop, and on it a picture of noise, new in each frame, that goes round in a circle. No encoder can \
            predict the noise, so its quantiser alone determines how many bits come of it.
            """)

    @Argument(help: "A YUV4MPEG2 file (.y4m).") var file: String
    @Option var width = 1920
    @Option var height = 1080

    private static let frames = 60

    func validate() throws {
        guard (320...3840).contains(width), (180...2160).contains(height), width % 2 == 0, height % 2 == 0 else {
            throw ValidationError("The size should be even, and 320 × 180 to 3840 × 2160.")
        }
    }

    func run() throws {
        guard FileManager.default.createFile(atPath: file, contents: nil),
            let output = FileHandle(forWritingAtPath: file)
        else { throw CrowdError("\(file) can't be written.") }
        try output.write(contentsOf: Data("YUV4MPEG2 W\(width) H\(height) F30:1 Ip A1:1 C420jpeg\n".utf8))
        let desktop = desktop()
        let chroma = Data(repeating: 128, count: width * height / 2)
        var random = Noise()
        for frame in 0..<Self.frames {
            var luma = desktop
            addNoise(to: &luma, frame: frame, random: &random)
            try output.write(contentsOf: Data("FRAME\n".utf8) + Data(luma) + chroma)
        }
        try output.close()
    }

    /// Bright, with a column of dark lines. Random letters take more bits than those of a font, so they cover only a third.
    private func desktop() -> [UInt8] {
        var luma = [UInt8](repeating: 220, count: width * height)
        var random = Noise()
        for line in stride(from: 8, to: height - 12, by: 20) {
            for column in stride(from: 8, to: width / 3, by: 10) where random.next() % 5 > 0 {
                let letter = random.next()
                for y in 0..<10 {
                    for x in 0..<7 where letter >> ((y / 2 * 7 + x) % 60) & 1 == 1 {
                        luma[(line + y) * width + column + x] = 30
                    }
                }
            }
        }
        return luma
    }

    private func addNoise(to luma: inout [UInt8], frame: Int, random: inout Noise) {
        // At 1080p this makes 8 Mbit/s at 30 frames a second with quantisers that a good picture has.
        let (wide, high) = (width / 5, height / 5)
        let angle = 2 * Double.pi * Double(frame) / Double(Self.frames)
        let left = Int((Double(width - wide) / 2 * (1 + cos(angle))).rounded(.down))
        let top = Int((Double(height - high) / 2 * (1 + sin(angle))).rounded(.down))
        for y in top..<top + high {
            var bits: UInt64 = 0
            for x in 0..<wide {
                if x % 8 == 0 { bits = random.next() }
                luma[y * width + left + x] = UInt8(96 + (bits & 63))
                bits >>= 8
            }
        }
    }
}

/// SplitMix64 with a fixed seed, so that the content is the same in each run.
private struct Noise {
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
