import BeamDisplay
import BeamHost
import BeamLog
import BeamNetwork
import BeamSession
import BeamWire
import Synchronization

/// Reports where browsers come, and the code that their persons type: at a host, and at a member of a room.
public final class WebReporter: Sendable {
    private struct State {
        var text: WebText?
        var code: PairingCode?
    }

    private let context: CommandContext
    private let invitation: DoorReporter.Invitation.Web
    private let acceptance: Door.Acceptance
    /// Nil: the code comes from no file.
    private let file: CodeFileWatch?
    /// What a window shows has changed.
    private let onChange: @Sendable (WindowCode) -> Void
    private let state = Mutex(State())

    public init(
        _ context: CommandContext, _ invitation: DoorReporter.Invitation.Web, acceptance: Door.Acceptance,
        onChange: @escaping @Sendable (WindowCode) -> Void = { _ in }
    ) {
        (self.context, self.invitation, self.acceptance) = (context, invitation, acceptance)
        self.onChange = onChange
        file = invitation.codeFile.map { CodeFileWatch(path: $0) }
    }

    /// Says it at the start.
    ///
    /// - Parameter bindAddress: the address that the program listens on; nil: all.
    public func begin(_ web: HostDescription.Web, bindAddress: String?, code: PairingCode?) {
        let text = WebText(
            web: web, bindAddress: bindAddress, isHTTPSOnly: invitation.isHTTPSOnly,
            hasOwnCertificate: invitation.hasOwnCertificate)
        state.withLock { ($0.text, $0.code) = (text, code) }
        context.say(text.sentence(text.addresses()))
        if let reason = web.packetsUnavailable {
            context.say("Browsers have to come by https, because \(reason).")
        }
        sayCode("Code")
        if code == nil, acceptance == .none {
            context.say(
                "No browser can be let in: there is no terminal to show a code on, and nobody is asked. Give a code with "
                    + "--web-code-file FILE, or let in all with --accept all.")
        }
        if invitation.showsQRCode { showQRCode() }
        tellWindow()
    }

    private func sayCode(_ what: String) {
        guard invitation.showsCode, let code = state.withLock({ $0.code }) else { return }
        context.say(WebText.code(code, what, servesOne: invitation.servesOne), as: .code)
    }

    /// The key `w`: the address, the code, and both for a phone's camera.
    public func show() {
        guard let text = state.withLock({ $0.text }) else { return }
        context.say(text.sentence(text.addresses()))
        context.say(text.certificate)
        sayCode("Code")
        showQRCode()
    }

    private func showQRCode() {
        let (text, code) = state.withLock { ($0.text, $0.code) }
        guard let text, let address = text.addresses().first, context.console.isTerminal else { return }
        guard let lines = QRCode.lines(WebText.link(address, invitation.showsCode ? code : nil)) else {
            return context.say("Install libqrencode4 to see the address as a QR code.")
        }
        context.console.picture(lines)
    }

    /// This machine's addresses may have changed.
    public func tellWindow() {
        let (text, code) = state.withLock { ($0.text, $0.code) }
        if let text { onChange(text.shown(code)) }
    }

    /// The door has another code.
    public func codeChanged(_ change: CodeChange) {
        state.withLock { $0.code = change.code }
        context.events.write(.pairing(.webCodeChanged(change)))
        sayCode(
            DoorText.why(change.reason, member: nil, isFile: invitation.codeFile != nil).map { $0 + " New code" }
                ?? "New code")
        tellWindow()
    }

    /// Call it once a second. `give` gets the code that was written into the file.
    public func tick(give: (PairingCode) -> Void) { file?.tick(give: give) }
}
