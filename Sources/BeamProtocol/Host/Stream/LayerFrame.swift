import BeamMedia

/// One frame of a simulcast layer, from when the encoder made it until no sender needs it any more.
///
/// It is cut into datagrams and sealed once, when the first sender gets to it, whatever the number of viewers.
struct LayerFrame: Sendable {
    /// The frame's datagrams in one form: `memory[..<length]`, one after the other, each `MediaLimits.datagramLength` bytes long but
    /// the last.
    struct Cut: Sendable {
        var memory: [UInt8] = []
        var length = 0

        var datagramCount: Int { (length + MediaLimits.datagramLength - 1) / MediaLimits.datagramLength }
    }

    let encoded: EncodedFrame
    let pushed: MediaTime
    /// Encoded bytes of all the layer's frames up to and including this one.
    let endByte: Int
    /// On the wire. Given when the frame, or a later one, is cut: frames that nobody gets leave no gap.
    var number: SequenceNumber?
    /// Nothing refers to the frame with the number before this one's.
    var isAfterDisposable = false
    /// Version 1, in the clear.
    var plain: Cut?
    /// Version 2, sealed with the key of that number.
    var sealed: Cut?
    var keyNumber: UInt16?
    /// Version 2's parity, if a sender wanted some when the frame was cut, and the share that it was made for.
    var parity: Cut?
    var parityShare = 0.0
    /// A sender has begun to send it.
    var hasBegun = false
    /// No sender needs it any more, though none has begun it: it was counted as dropped.
    var isDropped = false
    /// It can't be cut or sealed: nobody gets it.
    var isUnsendable = false

    var unit: AccessUnit { encoded.unit }

    func cut(_ form: MediaForm) -> Cut? {
        switch form {
        case .version1: plain
        case .version2: sealed
        }
    }

    /// It was made for nothing, and not counted as such yet.
    var isWasted: Bool { !hasBegun && !isUnsendable && !isDropped }
}
