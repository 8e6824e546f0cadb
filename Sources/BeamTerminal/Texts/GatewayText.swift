import BeamSession
import BeamWeb

/// What has become of a gateway, in words for the person who shares, and what to do.
enum GatewayText {
    /// Nil: nothing is said.
    static func sentence(_ event: GatewayEvent, at name: String) -> String? {
        switch event {
        case .ready(again: false): "Browsers can watch by the gateway \(name)."
        case .ready(again: true): "The gateway \(name) is back: browsers can watch there again."
        // In the list of viewers.
        case .viewers: nil
        case .problem(let problem):
            "Warning: The gateway \(name) can't be used: \(reason(problem)). \(advice(problem)) It is tried again; everybody "
                + "else goes on watching."
        }
    }

    /// All who watch there, below the list of viewers; nil: nobody does.
    static func line(_ figures: GatewayFigures) -> String? {
        guard figures.viewers > 0 else { return nil }
        return "  \(CommonText.count(figures.viewers, "browser")) in all at the gateway \(figures.gateway)"
    }

    /// The end of a sentence.
    static func reason(_ problem: GatewayProblem) -> String {
        switch problem {
        case .unreachable(let reason): reason
        case .certificate(let reason): "its certificate isn't trusted: \(reason)"
        case .notJanus(let reason): "\(reason), so it isn't Janus' WebSocket"
        case .unauthorised(hasToken: false): "it asks for a token"
        case .unauthorised(hasToken: true): "it doesn't take the token"
        case .noPlugin: "it has no streaming plugin"
        case .adminKey(isGiven: false): "it asks for the streaming plugin's admin key"
        case .adminKey(isGiven: true): "it doesn't take the streaming plugin's admin key"
        case .refused(let code, let reason):
            reason.isEmpty ? "it refuses (code \(code))" : "it refuses, and says “\(reason)” (code \(code))"
        case .silent: "it hasn't answered for 10 s"
        case .badAnswer: "its answer makes no sense"
        case .flood: "it sends far more than it was asked for"
        case .lost: "the connection to it is lost"
        case .unprotected(let reason): "packets can't be protected, because \(reason)"
        }
    }

    private static func advice(_ problem: GatewayProblem) -> String {
        switch problem {
        case .unreachable, .silent, .lost: "Is it running, and is the address right?"
        case .certificate: "Renew it if it has expired. If it is its own, give it with --web-gateway-certificate FILE."
        case .notJanus: "Give the address of Janus' WebSocket transport, as in wss://gateway.example:8989."
        case .unauthorised(hasToken: false):
            "Write its token_auth_secret (or a token) into a file, and give that with --web-gateway-token-file FILE."
        case .unauthorised(hasToken: true):
            "Compare the file of --web-gateway-token-file with its configuration, and its clock with this one's."
        case .noPlugin: "Enable libjanus_streaming.so there."
        case .adminKey: "Write its admin_key into the file of --web-gateway-token-file."
        case .refused, .badAnswer, .flood: "Its log may say more."
        case .unprotected: "Install libsrtp2-1 and libssl3."
        }
    }
}
