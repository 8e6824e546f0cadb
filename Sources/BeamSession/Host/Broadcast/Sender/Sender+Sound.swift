import BeamMedia

/// The sound that goes to one viewer.
extension Sender {
    /// Sound may be sent to it now: not before its first picture has left and something is known of its path, so that the
    /// picture doesn't wait for sound.
    func takesSound(now: MediaTime) -> Bool {
        guard sound.isOn, isReachable, form == .version2 else { return false }
        return hasAnswered && hasSentPicture || now - since > Self.soundPatience
    }

    /// For so long sound waits for a picture.
    private static let soundPatience = Duration.seconds(3)

    /// Chooses the rate of the sound by what the path carries and the viewer wishes. True if it has changed.
    mutating func chooseSound(now: MediaTime) -> Bool {
        if let path = delivery?.path, path.loss > Self.lossOfSound { sound.pathLost(now: now) }
        let carried = delivery.flatMap { $0.path.isBound ? $0.path.rate : nil }
        return sound.choose(pathRate: [carried, quota.wish.bitRate].compactMap(\.self).min(), now: now)
    }

    /// From this share of lost pictures' datagrams on, the sound is taken to lose packets, too.
    private static let lossOfSound = 0.003
}
