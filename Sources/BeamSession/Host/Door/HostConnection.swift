import BeamWire

/// One control connection at the host.
struct HostConnection: Sendable {
    /// Which version of the protocol it speaks.
    enum Dialog: Sendable {
        /// Nothing was received yet.
        case undecided
        case version1(LineDialog)
        case version2(SecureDialog)
        /// A browser's page; what browser it is, once it has said so.
        case browser(kind: String?)
    }

    let address: IPAddress
    var dialog = Dialog.undecided
    /// The viewer that it belongs to; nil before admission.
    var viewer: ViewerID?
    /// The person at the host is being asked about its viewer.
    var isAsking = false
    /// The person has declined.
    var isDeclined = false
    /// A viewer's proof of the code, which may not be checked yet.
    var heldProof: [UInt8]?
    /// How many codes a browser has sent in pauses after wrong ones.
    var codesInPause = 0
    var messages = MessageRate()

    init(from address: IPAddress) { self.address = address }

    var isUnadmitted: Bool { viewer == nil }

    var isBrowser: Bool {
        if case .browser = dialog { true } else { false }
    }

    /// Version 2: the key that the peer has proved to hold.
    var device: DeviceKey? {
        if case .version2(let dialog) = dialog { dialog.device } else { nil }
    }
}
