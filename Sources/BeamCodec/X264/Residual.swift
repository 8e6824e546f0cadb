import BeamMedia
import BeamPixels
import Foundation

/// The difference between the decoder's picture and the source in each macroblock, and a prediction of the bits to code
/// it.
struct Residual {
    private static let samples = 256.0
    /// Bits of a macroblock without a residual.
    private static let least = 1.0
    /// The share of the quantiser's distortion up to which a residual's variance is rounded to zero.
    private static let deadZone = 0.05
    /// σ² ⁄ D if the mean absolute difference is one quantiser step.
    private static let gain = 16.0

    /// The sum of absolute differences of each macroblock's luma, in raster order.
    private let differences: [UInt32]

    /// Both planes are luma, of `size`.
    init(of picture: Plane, from shown: Plane, _ size: PixelSize) {
        differences = PictureQuality.blockDifferences(picture, shown, size)
    }

    /// The bits to code macroblock `place` with `quantiser`.
    ///
    /// By the rate-distortion function of a Gaussian source, made to begin at 0: variance σ² at distortion D takes at
    /// most ½ log₂(1 + σ² ⁄ D) bits a sample. A quantiser of step Δ has D = Δ² ⁄ 12; H.264's step is 0.625 at QP 0 and
    /// doubles every six; σ² is about 1.4 times the square of the mean absolute difference. Other sources take less, so
    /// scale the result by what the last macroblocks took.
    func bits(_ place: Int, at quantiser: Int) -> Double {
        let step = 0.625 * exp2(Double(quantiser) / 6)
        let ratio = Double(differences[place]) / Self.samples / step
        return Self.least + Self.samples / 2 * log2(1 + max(0, Self.gain * ratio * ratio - Self.deadZone))
    }
}
