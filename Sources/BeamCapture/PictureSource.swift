import BeamMedia

/// A source of pictures. `run` is called on one thread, the capture stage; the other members from any thread.
public protocol PictureSource: AnyObject, Sendable {
    var info: SourceInfo { get }

    /// Delivers pictures until `stop()`. Throws when the source ends by itself: window closed, X server gone, file
    /// unreadable.
    func run(deliver: (Picture) -> Void) throws(CaptureError)

    /// False pauses capturing, because nobody watches. True delivers the whole picture at once, then what changes. A
    /// source starts inactive.
    func setActive(_ active: Bool)

    /// Tells the source that its person has paused the share, or goes on. It counts as not paused at first.
    func setPaused(_ isPaused: Bool)

    /// Makes `run` return soon.
    func stop()

    /// `handler` is called on the thread in `run` when what is shared can't be seen any more (a window that was minimised,
    /// a monitor that is off), or again. At first it counts as visible. To be called before `run`.
    func onVisibility(_ handler: @escaping @Sendable (SourceVisibility) -> Void)

    /// Tells the source that the screen was locked or unlocked. It counts as unlocked at first.
    func setScreenLocked(_ isLocked: Bool)

    /// It can tell where the pointer is in place of drawing it (`onPointer`).
    var tellsPointer: Bool { get }

    /// `handler` is called on the thread in `run` whenever the pointer, or whether the pictures show it, has changed; they
    /// show it at first. To be called before `run`.
    func onPointer(_ handler: @escaping @Sendable (ScreenPointer) -> Void)

    /// Whether the pointer is told and left out of the pictures. It isn't at first.
    func setPointerApart(_ isApart: Bool)

    /// The sound that belongs to the pictures, in step with them; nil: they have none of their own. Run by a thread of its
    /// own.
    var sound: (any SoundSource)? { get }
}

extension PictureSource {
    /// Most sources are always visible.
    public func onVisibility(_ handler: @escaping @Sendable (SourceVisibility) -> Void) {}

    /// Most sources show nothing of it.
    public func setPaused(_ isPaused: Bool) {}

    /// Most sources go on showing the screen when it is locked.
    public func setScreenLocked(_ isLocked: Bool) {}

    /// Most sources have no pointer, or it is in their pictures.
    public var tellsPointer: Bool { false }
    public func onPointer(_ handler: @escaping @Sendable (ScreenPointer) -> Void) {}
    public func setPointerApart(_ isApart: Bool) {}

    /// What a screen shows has no sound of its own: that is what the machine plays.
    public var sound: (any SoundSource)? { nil }
}

/// Facts about a source, fixed when it is opened.
public struct SourceInfo: Sendable {
    /// Person-facing: "display :0, monitor HDMI-1".
    public var description: String
    public var size: PixelSize
    /// Maximum pictures per second.
    public var frameRate: Double
    /// Person-facing warnings about limitations that don't prevent sharing.
    public var warnings: [String]

    public init(description: String, size: PixelSize, frameRate: Double, warnings: [String] = []) {
        self.description = description
        self.size = size
        self.frameRate = frameRate
        self.warnings = warnings
    }
}
