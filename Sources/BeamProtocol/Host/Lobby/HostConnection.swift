/// One control connection at the host.
struct HostConnection: Sendable {
    /// Which version of the protocol it speaks.
    enum Dialog: Sendable {
        /// Nothing has come yet.
        case undecided
        case version1(LineDialog)
        case version2(SecureDialog)
    }

    let address: IPAddress
    var dialog = Dialog.undecided
    /// Whose it is, once it was let in.
    var viewer: ViewerID?
    /// The person at the host is being asked about it.
    var isAsking = false
    /// The person has said no.
    var isDeclined = false
    var messages = MessageRate()

    init(from address: IPAddress) { self.address = address }

    var isUnadmitted: Bool { viewer == nil }

    /// Version 2: what it has proved to be.
    var device: DeviceKey? {
        if case .version2(let dialog) = dialog { dialog.device } else { nil }
    }
}
