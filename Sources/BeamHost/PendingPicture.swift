import BeamMedia

/// A layer's newest picture, while it isn't coded yet because the layer is held or its next frame isn't due.
struct PendingPicture {
    /// How long a change that was sent exactly waits for its frame, so that one frame has several changes: viewers show
    /// them already. The shorter ones are for many changes, and for paths that lose datagrams or viewers that lack
    /// something.
    private static let exactPause = Duration.seconds(1)
    private static let exactPauseOfMany = Duration.milliseconds(200)
    private static let exactPauseWithLoss = Duration.milliseconds(40)

    private(set) var picture: Picture?
    /// The picture isn't new on the screen.
    private var isRepeated = false
    /// Since when a picture waits.
    private var since = MediaTime.zero
    /// Pictures were skipped while nobody watched, so the damage since the last coded one is unknown.
    private var hasMissed = false

    /// A new picture from the source. Returns whether it replaces one that waited.
    mutating func offer(_ picture: Picture, at now: MediaTime) -> Bool {
        var picture = hasMissed ? Self.changedEverywhere(picture) : picture
        hasMissed = false
        defer { (self.picture, isRepeated) = (picture, false) }
        guard let waiting = self.picture else {
            since = now
            return false
        }
        picture = picture.replacing(waiting)
        if isRepeated { picture.isSentExactly = false }
        return true
    }

    /// A picture that isn't new on the screen; left out if another one waits.
    mutating func offerUnchanged(_ picture: Picture) {
        guard self.picture == nil else { return }
        hasMissed = false
        (self.picture, isRepeated) = (Self.changedEverywhere(picture), true)
    }

    /// Nobody watches: a picture from the source is left out.
    mutating func skip() { hasMissed = true }

    /// Nobody watches any more.
    mutating func drop() {
        if picture != nil { hasMissed = true }
        picture = nil
    }

    /// The picture, to be coded now.
    mutating func take() -> (picture: Picture, isRepeated: Bool)? {
        defer { picture = nil }
        return picture.map { ($0, isRepeated) }
    }

    /// Until then a change that all have exactly waits for more.
    func exactPauseEnd(_ demand: StreamDemand, _ telling: ChangeTelling?) -> MediaTime {
        guard let picture, picture.isSentExactly, demand.hasOnlyPatchTakers else { return .zero }
        if demand.losesPatches || telling?.isLacked == true { return since + Self.exactPauseWithLoss }
        return since + (telling?.isFilling == true ? Self.exactPauseOfMany : Self.exactPause)
    }

    private static func changedEverywhere(_ picture: Picture) -> Picture {
        var picture = picture
        picture.damage = DamageRegion(PixelRect(picture.size))
        picture.isSentExactly = false
        return picture
    }
}
