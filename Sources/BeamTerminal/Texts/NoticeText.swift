import BeamLog
import BeamWire

/// A question about a visitor, for a notice with the buttons *Let in* and *Refuse*.
struct NoticeText {
    enum Subject {
        /// An older app, which shows this code.
        case code(PairingCode)
        case browser
        /// Whether to compare digits.
        case comparing
        case digits(PairingCode)
    }

    var title: String
    var text: String

    /// - Parameters:
    ///   - wish: what is asked for: to `watch`, to `enter`.
    ///   - subject: nil: there is nothing to ask at present.
    init?(_ visitor: Visitor, wish: String, _ subject: Subject?) {
        guard let subject else { return nil }
        let name = visitor.name.map { "“\($0)”" } ?? "Somebody"
        let namesake = visitor.isNamesake ? " This is not the known device of that name, but another one." : ""
        switch subject {
        case .code(let code):
            title = "\(name) asks to \(wish), unencrypted"
            text = "\(visitor), an older app. Let it in only if it shows the digits \(code.spaced).\(namesake)"
        case .browser:
            title = "A browser asks to \(wish)"
            text = "\(visitor), without the code.\(namesake)"
        case .comparing:
            title = "\(name) asks to \(wish)"
            text = "\(visitor), without the code. If you let it in, you'll compare digits first.\(namesake)"
        case .digits(let digits):
            title = "Does \(name) show \(digits.spaced)?"
            text = "\(visitor). Let it in only if its screen shows the same digits.\(namesake)"
        }
    }
}
