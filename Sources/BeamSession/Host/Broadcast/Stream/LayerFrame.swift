import BeamMedia
import BeamWire

/// One frame of a simulcast layer, kept until no sender needs it.
///
/// It is cut into datagrams and sealed once, when the first sender reaches it, whatever the number of viewers.
struct LayerFrame: Sendable {
    /// The frame's datagrams in one form: `memory[..<length]`, one after another, each `size.length` bytes long except
    /// the last.
    struct Cut: Sendable {
        var memory: [UInt8] = []
        var length = 0
        var size = DatagramSize.full
        /// Version 2: the number of the key that they are sealed with.
        var keyNumber: UInt16?

        var datagramCount: Int { (length + size.length - 1) / size.length }
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
    /// Version 2, sealed: in full datagrams, and in shorter ones for viewers whose path carries no longer ones.
    var sealed: Cut?
    var sealedMedium: Cut?
    var sealedSmall: Cut?
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

    /// Version 1 has one size only.
    func cut(_ form: MediaForm, _ size: DatagramSize = .full) -> Cut? {
        switch (form, size) {
        case (.version1, _): plain
        case (.version2, .full): sealed
        case (.version2, .medium): sealedMedium
        case (.version2, .small): sealedSmall
        }
    }

    mutating func keep(_ cut: Cut, _ form: MediaForm) {
        switch (form, cut.size) {
        case (.version1, _): plain = cut
        case (.version2, .full): sealed = cut
        case (.version2, .medium): sealedMedium = cut
        case (.version2, .small): sealedSmall = cut
        }
    }

    /// No sender has begun it, and it isn't counted as dropped yet.
    var isWasted: Bool { !hasBegun && !isUnsendable && !isDropped }
}
