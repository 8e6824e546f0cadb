import BeamCapture
import BeamMedia
import BeamPixels

/// Provides the original of a coded picture. Used by one thread.
protocol PictureReference {
    /// The original of `picture`, i420 and of the same size; nil if it isn't known.
    mutating func picture(for picture: Picture) -> PixelBuffer?
}

/// The test pattern as a reference: renders the original, bit for bit, from the number and time that the picture
/// carries.
struct PatternReference: PictureReference {
    private let renderer: PatternRenderer

    /// - Throws: `unusablePattern`.
    init(_ options: PatternOptions) throws(CaptureError) { renderer = try PatternRenderer(options) }

    func picture(for picture: Picture) -> PixelBuffer? {
        guard picture.size == renderer.options.size, let code = PatternCode.read(picture) else { return nil }
        return renderer.picture(Int(code.number), time: code.time).buffer
    }
}

/// The test pattern of a host with unknown options, which are derived from the received pictures.
struct PatternSearch: PictureReference {
    struct Finding: Equatable, Sendable {
        var content: PatternContent
        var frameRate: Double
        var size: PixelSize

        var options: PatternOptions { PatternOptions(size: size, frameRate: frameRate, content: content) }
    }

    /// In dB. Below this, the candidate isn't the original of the coded picture.
    private static let minPSNR = 18.0
    /// In nanoseconds: how long numbers and times are observed before the frame rate is derived from them.
    private static let observationNanoseconds: Int64 = 700_000_000
    private static let maxTries = 8

    private var first: (number: UInt32, time: MediaTime)?
    private var tries = 0
    private var reference: PatternReference?
    private(set) var finding: Finding?

    mutating func picture(for picture: Picture) -> PixelBuffer? {
        if let reference { return reference.picture(for: picture) }
        guard tries < Self.maxTries, let code = PatternCode.read(picture) else { return nil }
        guard let first, code.number > first.number, code.time > first.time else {
            first = code
            return nil
        }
        let time = (code.time - first.time).inNanoseconds
        guard time >= Self.observationNanoseconds else { return nil }
        tries += 1
        search(picture, rate: Double(code.number - first.number) * 1e9 / Double(time))
        return reference?.picture(for: picture)
    }

    /// Tries every content at every frame rate near the observed one.
    private mutating func search(_ picture: Picture, rate: Double) {
        var best = Self.minPSNR
        for frameRate in Self.rates(near: rate) {
            for content in PatternContent.allCases {
                let options = PatternOptions(size: picture.size, frameRate: frameRate, content: content)
                guard let candidate = try? PatternReference(options), let original = candidate.picture(for: picture)
                else { continue }
                let ratio = PictureQuality.psnr(picture.buffer, original)
                guard ratio > best else { continue }
                best = ratio
                reference = candidate
                finding = Finding(content: content, frameRate: frameRate, size: picture.size)
            }
        }
    }

    /// Whole and NTSC frame rates within 1 % of `rate`.
    static func rates(near rate: Double) -> [Double] {
        var rates: [Double] = []
        let whole = Int(rate.rounded())
        for number in whole - 1...whole + 1 {
            let exact = Double(number) * 1000 / 1001
            // People also type the rounded rate: 59.94.
            for candidate in [Double(number), exact, (exact * 100).rounded() / 100] {
                guard (1...240).contains(candidate), abs(candidate - rate) <= rate / 100 else { continue }
                if !rates.contains(candidate) { rates.append(candidate) }
            }
        }
        return rates.sorted { abs($0 - rate) < abs($1 - rate) }
    }
}
