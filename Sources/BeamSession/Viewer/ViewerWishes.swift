import BeamMedia

/// What a viewer wishes of its picture and its sound at present.
public struct ViewerWishes: Sendable, Hashable {
    /// The largest size in pixels in which the picture is shown, so that the host needn't send a larger one; nil: any.
    /// A host that can't scale ignores it.
    public var shownSize: PixelSize?
    /// The most that the host is to send here.
    public var quality: QualityWish
    /// Whether sound is wanted. A host sends none otherwise.
    public var sound: Bool
    /// How much later each picture is shown, at most 0.5 s, so that the sound is in step.
    public var pictureHold: Duration
    /// The largest pictures that are decoded and shown here; nil: the host isn't told. It is told when a connection
    /// begins.
    public var bounds: PictureBounds?
    /// Who shows or keeps the picture here.
    public var patchTakers: PatchTakers

    public init(
        shownSize: PixelSize? = nil, quality: QualityWish = .any, sound: Bool = true, pictureHold: Duration = .zero,
        bounds: PictureBounds? = nil, patchTakers: PatchTakers = .exact
    ) {
        self.patchTakers = patchTakers
        self.quality = quality
        self.shownSize = shownSize
        self.sound = sound
        self.pictureHold = pictureHold
        self.bounds = bounds
    }

    /// What is asked of the host: a relay needs the picture in full, and the sound.
    ///
    /// - Parameter relayed: who gets the picture from here; nil: nobody can.
    func asked(relayed: PatchTakers?) -> ViewerWishes {
        var asked = self
        guard let relayed else { return asked }
        (asked.shownSize, asked.quality, asked.sound) = (nil, .any, true)
        asked.patchTakers.formUnion(relayed)
        return asked
    }
}
