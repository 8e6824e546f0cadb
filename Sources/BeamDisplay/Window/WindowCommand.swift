import CSDL2

/// What a person can do in the window with keys and mouse: the one list in which keys are looked up, from which the panel
/// of keys, the menu and the line of hints are made, and against which a test reads the pages.
enum WindowCommand: Hashable, Sendable, CaseIterable {
    // In the order of the panel and of the menu.
    case choose, typeAddress, typeCode, pasteCode, takeOffer, chooseAnother
    case fullscreen, keepAbove, screenshot
    case note, captions, transcript
    case share, pause, people
    case showAlone, showAll, moveFocus
    case mute, louder, softer
    case zoomIn, zoomOut, moveZoomed, actualPixels, fit
    case statistics, back, menu, help, quit

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
        /// An address can be typed below the list.
        var takesAddress = false
        var asksForCode = false
        /// Enter takes an offer.
        var hasOffer = false
        /// The offer is to try again, not to ask a person.
        var offersRetry = false
        var allowsNotes = true
        /// Escape leads back to the list.
        var hasList = false
        /// Escape ends what a receiver shows.
        var isReceiver = false
    }

    /// Whether the panel of keys lists it.
    func isListed(in place: Place) -> Bool {
        if place.showsList {
            return [.choose, .fullscreen, .keepAbove, .menu, .help, .quit].contains(self)
                || self == .typeAddress && place.takesAddress
        }
        switch self {
        case .choose, .typeAddress, .chooseAnother: return false
        case .typeCode, .pasteCode: return place.asksForCode
        case .takeOffer: return place.hasOffer
        case .share, .pause, .people: return place.kind == .room
        case .showAlone, .showAll, .moveFocus: return place.hasSeveral || place.kind == .wall
        case .note: return place.allowsNotes && !place.asksForCode
        case .fullscreen, .keepAbove, .back, .menu, .help, .quit: return true
        case .screenshot, .mute, .louder, .softer, .captions, .transcript, .zoomIn, .zoomOut, .moveZoomed,
            .actualPixels, .fit, .statistics:
            return !place.asksForCode
        }
    }

    /// Whether the menu lists it, perhaps in grey. What Escape does is in the menu under the names of what it closes or
    /// leaves; digits can only be typed, and a zoomed picture only be dragged.
    func isInMenu(of place: Place) -> Bool {
        switch self {
        case .typeCode, .moveZoomed, .back, .menu: false
        case .chooseAnother: place.hasList && !place.showsList
        case .note: !place.asksForCode && !place.showsList
        default: isListed(in: place)
        }
    }

    /// Its keys, and what the mouse does, as a person reads them.
    var keys: [String] {
        switch self {
        case .choose: ["↑", "↓", "Enter", "1 … 9", "click"]
        case .typeAddress: ["Tab", "Ctrl+V", "click"]
        case .typeCode: ["0 … 9"]
        case .pasteCode: ["Ctrl+V"]
        case .takeOffer: ["Enter", "click"]
        case .chooseAnother: []
        case .fullscreen: ["f", "F11", "double click"]
        case .keepAbove: ["a"]
        case .screenshot: ["F12"]
        case .note: ["n"]
        case .share: ["s"]
        case .pause: ["p"]
        case .people: ["w"]
        case .showAlone: ["1 … 9", "Enter", "click"]
        case .showAll: ["g", "Escape"]
        case .moveFocus: ["Tab", "arrow keys"]
        case .mute: ["m"]
        case .louder: ["+"]
        case .softer: ["-"]
        case .captions: ["c"]
        case .transcript: ["t"]
        case .zoomIn: ["Ctrl and wheel", "Ctrl++"]
        case .zoomOut: ["Ctrl+-"]
        case .moveZoomed: ["drag"]
        case .actualPixels: ["z"]
        case .fit: ["0", "Ctrl+0"]
        case .statistics: ["i"]
        case .back: ["Escape"]
        case .menu: ["right click", "Menu", "Shift+F10"]
        case .help: ["?", "h", "F1"]
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

    /// The key that the menu shows beside it; nil: it has none.
    var menuKey: String? {
        switch self {
        case .choose, .showAlone: "Enter"
        case .zoomIn: "Ctrl++"
        default: keys.first
        }
    }

    func words(in place: Place) -> String {
        switch self {
        case .choose: "choose a host"
        case .typeAddress: "type an address"
        case .typeCode: "type the code"
        case .pasteCode: "paste the code"
        case .takeOffer: place.offersRetry ? "try again" : "ask the person there"
        case .chooseAnother: "choose another host"
        case .fullscreen: "full screen"
        case .keepAbove: "always on top"
        case .screenshot: "save a screenshot"
        case .note: "write a note to everybody"
        case .share: "share your screen, and end that"
        case .pause: "pause it, and go on"
        case .people: "who is here"
        case .showAlone: "show one alone"
        case .showAll: "show all"
        case .moveFocus: "move the blue frame"
        case .mute: "sound off and on"
        case .louder: "sound louder, softer"
        case .softer: "sound softer"
        case .captions: "captions off and on"
        case .transcript: "transcript"
        case .zoomIn: place.hasSeveral ? "zoom one shown alone" : "zoom"
        case .zoomOut: "zoom out"
        case .moveZoomed: "move what is zoomed"
        case .actualPixels: "1:1 pixels, and back"
        case .fit: "all of the picture"
        case .statistics: "statistics"
        case .back where place.isReceiver: "close what is open, end what is shown"
        case .back: place.hasList ? "close, go back to the list of hosts" : "close what is open, leave full screen"
        case .menu: "menu"
        case .help: "these keys"
        case .quit where place.isReceiver: "end what is shown, then the receiver"
        case .quit: place.kind == .room ? "leave the room" : "end"
        }
    }

    /// Its name in the menu, where a mark says whether it is on.
    func menuWords(in place: Place) -> String {
        switch self {
        case .choose: return "Watch the chosen host"
        case .note: return "Write a note…"
        case .captions: return "Captions"
        case .share: return "Share your screen"
        case .pause: return "Pause what you share"
        case .people: return "Who is here"
        case .showAlone: return "Show this one alone"
        case .moveFocus: return "Next picture"
        case .mute: return "Mute"
        case .louder: return "Louder"
        case .softer: return "Softer"
        case .zoomIn: return "Zoom in"
        case .actualPixels: return "1:1 pixels"
        case .screenshot: return "Screenshot"
        case .help: return "Keys"
        default:
            let words = words(in: place)
            return words.prefix(1).uppercased() + words.dropFirst()
        }
    }

    /// Commands of one group stand together in the menu.
    var group: Int {
        switch self {
        case .choose, .typeAddress, .typeCode, .pasteCode, .takeOffer, .chooseAnother: 0
        case .fullscreen, .keepAbove, .screenshot: 1
        case .note, .captions, .transcript: 2
        case .share, .pause, .people: 3
        case .showAlone, .showAll, .moveFocus: 4
        case .mute, .louder, .softer: 5
        case .zoomIn, .zoomOut, .moveZoomed, .actualPixels, .fit: 6
        case .statistics, .back, .menu, .help, .quit: 7
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

    /// What has the line of another command in the panel, whose words are about both.
    private static let partners: [WindowCommand: WindowCommand] = [.louder: .softer, .zoomIn: .zoomOut]

    static func rows(in place: Place) -> [Row] {
        let seconds = partners.values
        return allCases.filter { $0.isListed(in: place) && !seconds.contains($0) }.map { command in
            let keys = command.keys(in: place) + (partners[command]?.keys ?? [])
            return Row(keys: keys.joined(separator: ", "), words: command.words(in: place))
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
        SDLK_a: .keepAbove, SDLK_F12: .screenshot, SDLK_APPLICATION: .menu, SDLK_MENU: .menu,
    ]
}
