import BeamMedia
import BeamPixels
import Foundation

/// How far what a decoder shows is from the picture in each macroblock, and about how many bits it takes to code that.
struct Residual {
    private static let samples = 256.0
    /// What a macroblock takes of which nothing is left.
    private static let least = 1.0
    /// Differences whose variance is so small a part of what the quantiser leaves are rounded away.
    private static let deadZone = 0.05
    /// σ² ⁄ D for a mean absolute difference of a step.
    private static let gain = 16.0

    /// Sums of absolute differences of each macroblock's luma, in raster order.
    private let differences: [UInt32]

    /// Both planes are luma, of `size`.
    init(of picture: Plane, from shown: Plane, _ size: PixelSize) {
        differences = PictureQuality.blockDifferences(picture, shown, size)
    }

    /// What macroblock `place` takes when it is coded with `quantiser`.
    ///
    /// A Gaussian source of variance σ² that may be off by D takes ½ log₂(1 + σ² ⁄ D) bits a sample at most (its rate-distortion
    /// function, made to begin at nothing). A quantiser of step Δ leaves Δ² ⁄ 12, and H.264's step is 0.625 at QP 0 and doubles with
    /// every six; σ² is about 1.4 times the square of the mean absolute difference. Other sources take less: the result is to be
    /// scaled by what the last macroblocks took.
    func bits(_ place: Int, at quantiser: Int) -> Double {
        let step = 0.625 * exp2(Double(quantiser) / 6)
        let ratio = Double(differences[place]) / Self.samples / step
        return Self.least + Self.samples / 2 * log2(1 + max(0, Self.gain * ratio * ratio - Self.deadZone))
    }
}
