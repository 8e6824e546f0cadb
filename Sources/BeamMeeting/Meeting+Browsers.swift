import BeamHost
import BeamLog
import BeamSession
import BeamTerminal
import BeamViewer
import BeamWire

/// Browsers that watch what this device shares. The room knows nothing of them.
extension Meeting {
    var browsers: Browsers? { state.withLock { $0.browsers } }

    /// Opens the ports for browsers, if any are to be let in.
    func openBrowsers() throws {
        guard let web = settings.web else { return }
        let browsers = try Browsers(web.server, door: web.door) { [webReporter] in webReporter?.handle($0) }
        state.withLock { $0.browsers = browsers }
    }

    /// A room is entered: from the first one on browsers are let in.
    func beginWeb() {
        let first = state.withLock { state in
            defer { state.hasBegunWeb = true }
            return state.hasBegunWeb ? nil : state.browsers
        }
        guard let first else { return }
        webReporter?.begin(first.description, bindAddress: settings.server.bindAddress, code: first.code)
        first.open()
    }

    /// Where browsers come.
    public func showWeb() { webReporter?.show() }

    /// Sends browsers away; nil: none are let in.
    private var sendingAway: SendingAway? {
        browsers.map { browsers in
            SendingAway(
                context, ask: { [person] in person.ask($0, isNext: $1) }, guests: { browsers.guests },
                evict: { browsers.sendAway($0, forGood: $1) }, isInRoom: true)
        }
    }

    /// `kick NAME`.
    public func kick(_ name: String) { sendingAway?.ask(name) }

    /// For another program; nil: no browsers are let in.
    var kicking: (@Sendable (_ browser: String, _ forGood: Bool) -> String?)? {
        guard let sendingAway else { return nil }
        return { sendingAway.sendAway($0, forGood: $1) }
    }

    /// Asks for how long a browser is to be sent away.
    func askHowLong(_ browser: Guest) { sendingAway?.askHowLong(browser) }
}
