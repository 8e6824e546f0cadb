import BeamMedia

/// What shows pictures as a camera. Used by one thread.
protocol CameraOutput: AnyObject {
    /// Readable when there is something to handle; nil: never.
    var descriptor: CInt? { get }
    /// The calling thread handles what comes from now on, until `leave`.
    func enter()
    func leave()
    /// Handles what has come. True: the next picture is wanted at once, in another form than the last one.
    func turn() throws(CameraError) -> Bool
    /// Shows `picture` (i420 or i444), scaled as needed, or black in its place.
    func show(_ picture: Picture, isHidden: Bool) throws(CameraError)
}

extension CameraOutput {
    var descriptor: CInt? { nil }
    func enter() {}
    func leave() {}
    func turn() -> Bool { false }
}

/// The size of a camera's pictures, which the person may have fixed.
struct CameraSize {
    /// Nil: that of the pictures.
    let fixed: PixelSize?

    /// Even, because some programs read no other pictures of 4:2:0.
    func size(for picture: PixelSize) -> PixelSize {
        let size = fixed ?? picture
        return PixelSize(width: (size.width + 1) & ~1, height: (size.height + 1) & ~1)
    }
}
