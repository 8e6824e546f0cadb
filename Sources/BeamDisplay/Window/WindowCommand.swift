import CSDL2

/// What a person can do in the window with keys and mouse: the one list in which keys are looked up, from which the panel
/// of keys and the line of hints are made, and against which a test reads the pages.
enum WindowCommand: Hashable, Sendable, CaseIterable {
    // In the panel's order.
    case choose, typeCode, pasteCode, takeOffer
    case fullscreen, note, share, pause, people, showAlone, showAll, moveFocus, mute, volume, captions, transcript
    case zoom, actualPixels, fit, statistics, back, help, quit

    /// What is watched.
    enum Kind: Hashable, Sendable {
        /// One host.
        case host
        /// Several hosts.
        case wall
        /// Members of a room.
        case room
    }

    /// What decides which commands there are.
    struct Place: Hashable, Sendable {
        var kind = Kind.host
        /// Several sources are there.
        var hasSeveral = false
        /// How many there are that a digit shows alone.
        var numbered = 9
        var showsList = false
        var asksForCode = false
        /// Enter takes an offer.
        var hasOffer = false
        var allowsNotes = true
        /// Escape leads back to the list.
        var hasList = false
    }

    /// Whether the panel of keys lists it.
    func isListed(in place: Place) -> Bool {
        if place.showsList { return [.choose, .fullscreen, .help, .quit].contains(self) }
        switch self {
        case .choose: return false
        case .typeCode, .pasteCode: return place.asksForCode
        case .takeOffer: return place.hasOffer
        case .share, .pause, .people: return place.kind == .room
        case .showAlone, .showAll, .moveFocus: return place.hasSeveral || place.kind == .wall
        case .note: return place.allowsNotes && !place.asksForCode
        case .fullscreen, .back, .help, .quit: return true
        case .mute, .volume, .captions, .transcript, .zoom, .actualPixels, .fit, .statistics: return !place.asksForCode
        }
    }

    /// Its keys, and what the mouse does, as a person reads them.
    var keys: [String] {
        switch self {
        case .choose: ["↑", "↓", "Enter", "1 … 9", "click"]
        case .typeCode: ["0 … 9"]
        case .pasteCode: ["Ctrl+V"]
        case .takeOffer: ["Enter"]
        case .fullscreen: ["f", "F11", "double click"]
        case .note: ["n"]
        case .share: ["s"]
        case .pause: ["p"]
        case .people: ["w"]
        case .showAlone: ["1 … 9", "Enter", "click"]
        case .showAll: ["g", "Escape"]
        case .moveFocus: ["Tab", "arrow keys"]
        case .mute: ["m"]
        case .volume: ["+", "-"]
        case .captions: ["c"]
        case .transcript: ["t"]
        case .zoom: ["Ctrl and wheel", "drag"]
        case .actualPixels: ["z"]
        case .fit: ["0", "Ctrl+0"]
        case .statistics: ["i"]
        case .back: ["Escape"]
        case .help: ["?", "h", "F1", "right click"]
        case .quit: ["q"]
        }
    }

    /// The same, with the digits that do something now.
    func keys(in place: Place) -> [String] {
        guard self == .showAlone else { return keys }
        let digits =
            switch place.numbered {
            case ...1: "1"
            case 2: "1, 2"
            default: "1 … \(min(9, place.numbered))"
            }
        return [digits] + keys.dropFirst()
    }

    func words(in place: Place) -> String {
        switch self {
        case .choose: "choose a host"
        case .typeCode: "type the code"
        case .pasteCode: "paste the code"
        case .takeOffer: "ask the person there"
        case .fullscreen: "full screen"
        case .note: "write a note to everybody"
        case .share: "share your screen, and end that"
        case .pause: "pause it, and go on"
        case .people: "who is here"
        case .showAlone: "show one alone"
        case .showAll: "show all"
        case .moveFocus: "move the blue frame"
        case .mute: "sound off and on"
        case .volume: "sound louder, softer"
        case .captions: "captions off and on"
        case .transcript: "transcript"
        case .zoom: place.hasSeveral ? "zoom one shown alone, move it" : "zoom, move what is zoomed"
        case .actualPixels: "1:1 pixels, and back"
        case .fit: "all of the picture"
        case .statistics: "statistics"
        case .back: place.hasList ? "close, go back to the list of hosts" : "close what is open, leave full screen"
        case .help: "these keys"
        case .quit: place.kind == .room ? "leave the room" : "end"
        }
    }

    /// Its name in the line of hints; nil: it isn't there.
    private func hint(in place: Place) -> String? {
        switch self {
        case .fullscreen: place.kind == .host ? "full screen" : nil
        case .note: "note"
        case .share: "share"
        case .people: "people"
        case .showAlone: place.hasSeveral ? "one alone" : nil
        case .help: "keys"
        default: nil
        }
    }

    /// The few keys that a person is told of at first.
    static func hints(in place: Place) -> String {
        allCases.filter { $0.isListed(in: place) }.compactMap { command in
            command.hint(in: place).map { "\(command.keys(in: place)[0]) \($0)" }
        }.joined(separator: " · ")
    }

    /// A line of the panel: keys, and what they do.
    struct Row: Hashable {
        var keys: String
        var words: String
    }

    static func rows(in place: Place) -> [Row] {
        allCases.filter { $0.isListed(in: place) }.map {
            Row(keys: $0.keys(in: place).joined(separator: ", "), words: $0.words(in: place))
        }
    }

    /// The command of a key without Ctrl, Alt and the like, where it is one wherever the window is used. What keys do in
    /// lists, grids and texts is decided there.
    init?(_ code: SDL_KeyCode, _ kind: Kind) {
        guard let command = Self.commands[code] else { return nil }
        switch command {
        case .share, .pause, .people: guard kind == .room else { return nil }
        default: break
        }
        self = command
    }

    private static let commands: [SDL_KeyCode: WindowCommand] = [
        SDLK_f: .fullscreen, SDLK_F11: .fullscreen, SDLK_n: .note, SDLK_s: .share, SDLK_p: .pause, SDLK_w: .people,
        SDLK_m: .mute, SDLK_c: .captions, SDLK_t: .transcript, SDLK_z: .actualPixels, SDLK_0: .fit, SDLK_KP_0: .fit,
        SDLK_i: .statistics, SDLK_ESCAPE: .back, SDLK_h: .help, SDLK_F1: .help, SDLK_QUESTION: .help, SDLK_q: .quit,
    ]
}
