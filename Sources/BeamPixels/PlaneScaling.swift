import BeamMedia
import CYUV

/// Scales planes of 8-bit samples.
public enum PlaneScaling {
    /// The plane of `size` reduced to `target`, row by row without padding: each sample is the mean of those that it covers. Sides that
    /// `target` has longer are interpolated. Neither size is empty.
    public static func means(of plane: Plane, _ size: PixelSize, to target: PixelSize) -> [UInt8] {
        precondition(!PixelRect(size).isEmpty && !PixelRect(target).isEmpty)
        return [UInt8](unsafeUninitializedCapacity: target.area) { samples, initialized in
            ScalePlane(
                plane.samples, Int32(plane.stride), Int32(size.width), Int32(size.height), samples.baseAddress,
                Int32(target.width), Int32(target.width), Int32(target.height), kFilterBox)
            initialized = target.area
        }
    }
}
