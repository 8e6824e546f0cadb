import ArgumentParser
import BeamMedia

/// What the host is to send here at most: of `watch`. The names are those of `share`, where they hold for all viewers.
struct QualityOptions: ParsableArguments {
    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Have the host scale down for this viewer, so that the longer side has at most this many pixels.",
            valueName: "pixels"),
        transform: Int.reading(OptionText.maxSize))
    var maxSize: Int?
    @Option(
        help: ArgumentHelp("Maximum frames a second from the host. (default: all)", valueName: "fps"),
        transform: Double.reading(OptionText.frameRate))
    var maxFps: Double?
    @Option(
        name: [.customShort("b"), .long],
        help: ArgumentHelp(
            "Bits a second that the host sends to this viewer at most, as in 8M or 800k. (default: as it sends everybody)",
            valueName: "rate"),
        transform: BitRate.reading(OptionText.viewerBitRate))
    var videoBitRate: BitRate?

    func validate() throws {
        if let maxFps, !QualityWish.frameRates.contains(maxFps) {
            throw ValidationError("--max-fps takes \(OptionText.frameRate).")
        }
        if let maxSize, !QualityWish.sizes.contains(maxSize) {
            throw ValidationError("--max-size takes \(OptionText.maxSize).")
        }
        if let videoBitRate, !QualityWish.bitRates.contains(videoBitRate.bitsPerSecond) {
            throw ValidationError("--video-bit-rate takes \(OptionText.viewerBitRate).")
        }
    }

    var wish: QualityWish {
        QualityWish(maxSize: maxSize, bitRate: videoBitRate?.bitsPerSecond, frameRate: maxFps)
    }
}
