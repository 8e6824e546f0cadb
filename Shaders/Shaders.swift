/// The program's GLSL sources, built in. They have no `#version` line: whoever compiles them puts GLSL 3.30's or GLSL
/// ES 3.00's in front, and definitions after it.
public enum Shaders {
    /// One triangle over the whole viewport, without vertex data.
    public static let cover = text(PackageResources.video_vert)
    /// A picture's planes to RGB, pixel by pixel.
    public static let video = text(PackageResources.video_frag)
    /// How chroma goes with luma, for `video`.
    public static let slopes = text(PackageResources.slopes_frag)
    /// A picture's planes to RGB in another size: first `ACROSS` is defined, then not.
    public static let scale = text(PackageResources.scale_frag)
    /// A bitmap with opacity.
    public static let layer = text(PackageResources.layer_frag)

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
