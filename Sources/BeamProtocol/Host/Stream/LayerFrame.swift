import BeamMedia

/// One frame of a simulcast layer, kept until no sender needs it.
///
/// It is cut into datagrams and sealed once, when the first sender reaches it, whatever the number of viewers.
struct LayerFrame: Sendable {
    /// The frame's datagrams in one form: `memory[..<length]`, one after another, each `MediaLimits.datagramLength`
    /// bytes long except the last.
    struct Cut: Sendable {
        var memory: [UInt8] = []
        var length = 0

        var datagramCount: Int { (length + MediaLimits.datagramLength - 1) / MediaLimits.datagramLength }
    }

    let encoded: EncodedFrame
    let pushed: MediaTime
    /// Encoded bytes of all the layer's frames up to and including this one.
    let endByte: Int
    /// The number on the wire. Assigned when this frame or a later one is cut, so that frames that nobody gets leave no
    /// gap.
    var number: SequenceNumber?
    /// The frame numbered before this one is disposable.
    var isAfterDisposable = false
    /// Version 1, in the clear.
    var plain: Cut?
    /// Version 2, sealed with the key number `keyNumber`.
    var sealed: Cut?
    var keyNumber: UInt16?
    /// Version 2's parity, and the share that it was made for, if a sender needed some when the frame was cut.
    var parity: Cut?
    var parityShare = 0.0
    /// At least one sender has begun to send it.
    var hasBegun = false
    /// No sender needs it and none has begun it; it is counted as dropped.
    var isDropped = false
    /// It can't be cut or sealed, so nobody gets it.
    var isUnsendable = false

    var unit: AccessUnit { encoded.unit }

    func cut(_ form: MediaForm) -> Cut? {
        switch form {
        case .version1: plain
        case .version2: sealed
        }
    }

    /// No sender has begun it, and it isn't counted as dropped yet.
    var isWasted: Bool { !hasBegun && !isUnsendable && !isDropped }
}
