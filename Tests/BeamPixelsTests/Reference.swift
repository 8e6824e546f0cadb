import BeamMedia

@testable import BeamPixels

/// A seeded generator (SplitMix64), so that failures are reproducible.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

extension PixelBuffer {
    /// Sample `(x, y)` of plane `index`; for bgrx, `x` counts bytes.
    subscript(plane index: Int, x: Int, y: Int) -> UInt8 {
        get { planes[index].base.load(fromByteOffset: y * planes[index].stride + x, as: UInt8.self) }
        set { planes[index].base.storeBytes(of: newValue, toByteOffset: y * planes[index].stride + x, as: UInt8.self) }
    }

    /// A picture of noise with some runs of black and white, so that extremes are adjacent.
    static func noise(_ format: PixelFormat, _ size: PixelSize, seed: UInt64) -> PixelBuffer {
        var generator = SeededGenerator(seed: seed)
        let buffer = PixelBuffer(format: format, size: size)
        for plane in 0..<format.planeCount {
            let (rowBytes, rows) = format.plane(plane, of: size)
            for y in 0..<rows {
                for x in 0..<rowBytes {
                    let random = generator.next()
                    buffer[plane: plane, x, y] =
                        switch random >> 61 {
                        case 0: 0
                        case 1: 255
                        default: UInt8(truncatingIfNeeded: random)
                        }
                }
            }
        }
        return buffer
    }

    func fill(_ value: UInt8) {
        for plane in 0..<format.planeCount {
            let (rowBytes, rows) = format.plane(plane, of: size)
            for y in 0..<rows {
                for x in 0..<rowBytes { self[plane: plane, x, y] = value }
            }
        }
    }
}

/// The conversions in floating point, from the standards' formulas and without the kernels' coefficients.
enum Reference {
    /// Kr and Kb of BT.709-6, BT.601-7 and BT.2020-2.
    static func weights(_ matrix: ColourDescription.Matrix) -> (red: Double, blue: Double) {
        switch matrix {
        case .bt709: (0.2126, 0.0722)
        case .bt601: (0.299, 0.114)
        case .bt2020: (0.2627, 0.0593)
        }
    }

    /// Y, Cb and Cr (BT.709, limited range) of a colour with components 0…255.
    static func yuv(red: Double, green: Double, blue: Double) -> (y: Double, u: Double, v: Double) {
        let (kr, kb) = weights(.bt709)
        let (r, g, b) = (red / 255, green / 255, blue / 255)
        let luma = kr * r + (1 - kr - kb) * g + kb * b
        return (16 + 219 * luma, 128 + 224 * (b - luma) / (2 * (1 - kb)), 128 + 224 * (r - luma) / (2 * (1 - kr)))
    }

    /// Blue, green and red, 0…255, of samples with the meaning `colour`.
    static func bgr(y: Double, u: Double, v: Double, _ colour: ColourDescription) -> [Double] {
        let (kr, kb) = weights(colour.matrix)
        let luma = colour.isFullRange ? y / 255 : (y - 16) / 219
        let pb = (u - 128) / (colour.isFullRange ? 255 : 224)
        let pr = (v - 128) / (colour.isFullRange ? 255 : 224)
        let red = luma + 2 * (1 - kr) * pr
        let blue = luma + 2 * (1 - kb) * pb
        let green = (luma - kr * red - kb * blue) / (1 - kr - kb)
        return [blue, green, red].map { min(255, max(0, $0 * 255)) }
    }
}
