import BeamMedia
import CYUV

public enum PlaneScaling {
    /// Scales the plane of `size` to `target`, row by row without padding. Reduction takes the mean of the covered
    /// samples, enlargement interpolates. Neither size may be empty.
    public static func means(of plane: Plane, _ size: PixelSize, to target: PixelSize) -> [UInt8] {
        precondition(!PixelRect(size).isEmpty && !PixelRect(target).isEmpty)
        return [UInt8](unsafeUninitializedCapacity: target.area) { samples, initialized in
            ScalePlane(
                plane.samples, Int32(plane.stride), Int32(size.width), Int32(size.height), samples.baseAddress,
                Int32(target.width), Int32(target.width), Int32(target.height), kFilterBox)
            initialized = target.area
        }
    }

    /// Scales the plane of `size` into another one, or copies it if the sizes are equal. Reduction takes the mean of the
    /// covered samples, enlargement interpolates. Neither size may be empty.
    static func scale(_ plane: Plane, _ size: PixelSize, into target: Plane, _ targetSize: PixelSize) {
        precondition(!PixelRect(size).isEmpty && !PixelRect(targetSize).isEmpty)
        ScalePlane(
            plane.samples, Int32(plane.stride), Int32(size.width), Int32(size.height), target.samples,
            Int32(target.stride), Int32(targetSize.width), Int32(targetSize.height), kFilterBox)
    }
}
