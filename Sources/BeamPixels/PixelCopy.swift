import BeamMedia
import CBeamPixels

/// Copies pixels of captured pictures.
public enum PixelCopy {
    /// Copies `rect` of a BGRX picture to the same place of `output`.
    ///
    /// - Parameters:
    ///   - first: the picture's top left pixel.
    ///   - right: how many bytes further the next pixel to the right is; 4 unless the picture is turned.
    ///   - down: the same of the next one below.
    ///   - swapsRedAndBlue: the picture is RGBX.
    public static func copy(
        _ rect: PixelRect, from first: UnsafeRawPointer, right: Int, down: Int, swapsRedAndBlue: Bool = false,
        to output: Plane
    ) {
        guard !rect.isEmpty else { return }
        beam_copy_pixels(
            first.assumingMemoryBound(to: UInt8.self), right, down, output.raw, rect.raw, swapsRedAndBlue ? 1 : 0)
    }
}
