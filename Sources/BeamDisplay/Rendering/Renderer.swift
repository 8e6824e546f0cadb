import BeamMedia

/// Puts scenes into a window. One per window, for its whole life, on the main thread.
@MainActor protocol Renderer: AnyObject {
    /// What a person is told: `software`, or `OpenGL (NVIDIA GeForce …)`.
    var name: String { get }

    /// Draws `scene` and puts it on the screen.
    func draw(_ scene: Scene, change: SceneChange)

    /// The canvas's pixels as `draw` made them from `scene`, bgrx.
    func readBack(_ scene: Scene) -> PixelBuffer?
}
