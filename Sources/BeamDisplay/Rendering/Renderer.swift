import BeamMedia

/// Draws scenes into a window. One per window, on the main thread.
@MainActor protocol Renderer: AnyObject {
    /// Person-facing: `software`, or `OpenGL (NVIDIA GeForce …)`.
    var name: String { get }

    /// Draws `scene` and presents it. False: it couldn't be presented now; everything has to be drawn again later.
    func draw(_ scene: Scene, change: SceneChange) -> Bool

    /// The window's pixels as drawn from `scene`, as bgrx.
    func readBack(_ scene: Scene) -> PixelBuffer?
}
