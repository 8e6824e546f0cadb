/// A message in the window: over the dimmed picture if there is one, otherwise on a plain background.
public struct WindowMessage: Hashable, Sendable {
    /// One short sentence: `Connecting to Anna's iPhone…`.
    public var headline: String
    /// Further explanation, or what to do next.
    public var detail: String?
    /// A code to compare with another screen's. Shown as large as the window allows; six or nine digits are shown in
    /// groups of three.
    public var code: String?
    /// What can be done. Enter or a click presses one; Tab and the arrow keys go from one to the next.
    public var buttons: [WindowButton]

    public init(headline: String, detail: String? = nil, code: String? = nil, buttons: [WindowButton] = []) {
        self.headline = headline
        self.detail = detail
        self.code = code
        self.buttons = buttons
    }
}

/// What a message or a code entry offers.
public enum WindowButton: Hashable, Sendable {
    /// `.offerTaken`
    case tryAgain
    /// The person at the host is to be asked: `.offerTaken`.
    case askPerson
    /// Back to the list of hosts: `.listWanted`.
    case chooseAnother

    var words: String {
        switch self {
        case .tryAgain: "Try again"
        case .askPerson: "Ask to be let in"
        case .chooseAnother: "Choose another"
        }
    }
}

/// A prompt for six digits that the person types into the window.
public struct CodePrompt: Hashable, Sendable {
    /// What to do: `Type the six digits that “desk” shows`.
    public var headline: String
    /// What was wrong with the last attempt, shown below the digits: `That isn't the code. Try again.`
    public var problem: String?
    /// What can be done instead, or is being done, at the bottom: `No code at hand? Press Enter …`.
    public var offer: String?
    /// Enter takes the offer, as long as no digit is typed: `.offerTaken`.
    public var takesOffer: Bool
    /// The same, and others, for clicks.
    public var buttons: [WindowButton]
    /// Input is blocked: the digits are being checked, or there were too many wrong attempts.
    public var isWaiting: Bool

    public init(
        headline: String, problem: String? = nil, offer: String? = nil, takesOffer: Bool = false,
        buttons: [WindowButton] = [], isWaiting: Bool = false
    ) {
        self.buttons = buttons
        self.headline = headline
        self.problem = problem
        self.offer = offer
        self.takesOffer = takesOffer
        self.isWaiting = isWaiting
    }
}

/// A warning at the window's edge, visible while there is a picture.
public struct WindowWarning: Hashable, Sendable {
    /// A sentence, shown for `time`, and again after the pointer moves or after text has covered the picture.
    public var words: String
    /// One or two words beside the padlock while the sentence is hidden, if there is room; nil: the padlock alone.
    public var short: String?
    /// How long the sentence is shown before it is reduced to the padlock.
    public var time: Duration
    /// It is about encryption. Otherwise the sentence is in place of the padlock, in one line.
    public var hasPadlock: Bool

    public init(words: String, short: String? = nil, time: Duration = .seconds(8), hasPadlock: Bool = true) {
        self.hasPadlock = hasPadlock
        self.words = words
        self.short = short
        self.time = time
    }
}

/// A sentence at the window's edge: `desk's battery is at 14 %`.
public struct WindowNotice: Hashable, Sendable {
    /// At most ten lines are shown, fewer in a low window.
    public var text: String
    /// Whether it is in the colour of warnings.
    public var isWarning: Bool
    /// How long it is shown; nil: until it is removed.
    public var time: Duration?

    public init(text: String, isWarning: Bool = false, time: Duration? = .seconds(6)) {
        self.text = text
        self.isWarning = isWarning
        self.time = time
    }
}

/// A question that the person answers with a key, while everything else goes on.
public struct WindowAsk: Hashable, Sendable {
    /// Another question has another number. One that has just appeared can't be answered for a second: a key that was
    /// meant for something else doesn't answer it.
    public var id: Int
    /// The question, and which keys answer it.
    public var text: String
    /// Digits to compare with another screen's, shown in the window's middle with the question; nil: the question is at
    /// the window's edge.
    public var code: String?
    /// More about it, below the digits.
    public var detail: String?
    /// `y` and `n` answer it, as Enter and Escape do.
    public var takesLetters: Bool

    public init(id: Int, text: String, code: String? = nil, detail: String? = nil, takesLetters: Bool = true) {
        self.id = id
        self.text = text
        self.code = code
        self.detail = detail
        self.takesLetters = takesLetters
    }
}

/// A caption or a note over the picture's lower edge.
public struct WindowCaption: Hashable, Sendable {
    public var text: String
    /// Who said or wrote it, shown before the text; nil: not known.
    public var name: String?
    /// It may still change, and is drawn less bright.
    public var isPartial: Bool
    /// A person wrote it.
    public var isNote: Bool

    public init(text: String, name: String? = nil, isPartial: Bool = false, isNote: Bool = false) {
        self.text = text
        self.name = name
        self.isPartial = isPartial
        self.isNote = isNote
    }
}

/// How much of the session the transcript has.
public enum TranscriptHeading: Hashable, Sendable {
    case nothingYet
    /// This host's version has no captions and notes.
    case notOffered
    /// What was written before is still coming.
    case arriving
    /// All of it, from the beginning.
    case complete
    /// What came before this time of the session is not there.
    case since(Duration)
}

/// A host that can be chosen in the window's list.
public struct PickerEntry: Hashable, Sendable {
    public var name: String
    /// A second, smaller line, for example the address.
    public var detail: String?
    /// It isn't there at the moment, and is drawn less bright.
    public var isAway: Bool

    public init(name: String, detail: String? = nil, isAway: Bool = false) {
        self.name = name
        self.detail = detail
        self.isAway = isAway
    }
}

/// What a typed address is worth.
public enum AddressVerdict: Hashable, Sendable {
    case good
    /// It will be looked for, but may be mistyped: a sentence.
    case doubtful(String)
    /// Nothing can be looked for: what is wrong, and what to write.
    case bad(String)

    var words: String? {
        switch self {
        case .good: nil
        case .doubtful(let words), .bad(let words): words
        }
    }
}

/// What an owner knows about the commands of its window, for the marks in the menu and for entries that can't be used.
public struct WindowCommandStates: Hashable, Sendable {
    /// Nil: no sound is played here.
    public var isMuted: Bool?
    /// In a room: this member shares.
    public var isSharing: Bool
    /// In a room: what it shares is paused.
    public var isPaused: Bool

    public init(isMuted: Bool? = nil, isSharing: Bool = false, isPaused: Bool = false) {
        (self.isMuted, self.isSharing, self.isPaused) = (isMuted, isSharing, isPaused)
    }
}
