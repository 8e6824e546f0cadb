import BeamMedia

/// The pointer that goes to one viewer.
extension Sender {
    /// The pointer may be sent to it now.
    var takesPointer: Bool { pointer.isTaken && isReachable }

    /// What bounds the rate, in bits a second; nil: the path doesn't.
    private var boundRate: Int? { delivery?.path.isBound == true ? delivery?.path.rate : nil }

    mutating func payPlace(_ bytes: Int, isRepeat: Bool, now: MediaTime) -> Bool {
        pointer.payPlace(bytes, rate: boundRate, isRepeat: isRepeat, now: now)
    }

    mutating func payLook(_ bytes: Int, now: MediaTime) -> Bool {
        pointer.payLook(bytes, rate: boundRate, now: now)
    }
}
