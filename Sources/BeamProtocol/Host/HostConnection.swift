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

    init(from address: IPAddress) { self.address = address }

    var isStranger: Bool { viewer == nil }
}
