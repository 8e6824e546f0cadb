/// Words that stand in the window: over the dimmed picture if there is one, on a calm background if not.
public struct WindowMessage: Hashable, Sendable {
    /// One short sentence: `Connecting to Anna's iPhone…`.
    public var headline: String
    /// What more there is to say, or what to do next.
    public var detail: String?
    /// A code to compare with another screen's, shown as large as the window lets it be, to be read across a room; six
    /// or nine digits are shown in groups of three.
    public var code: String?

    public init(headline: String, detail: String? = nil, code: String? = nil) {
        self.headline = headline
        self.detail = detail
        self.code = code
    }
}

/// A request for six digits, which the person types into the window.
public struct CodePrompt: Hashable, Sendable {
    /// `“desk” shows six digits`.
    public var headline: String
    /// What to do: `Type them here.`
    public var detail: String
    /// What was wrong with the last ones, below the digits: `That wasn't the code. Try again.`
    public var problem: String?
    /// No digits are taken for now: those typed are being checked, or there were too many wrong ones.
    public var isWaiting: Bool

    public init(headline: String, detail: String, problem: String? = nil, isWaiting: Bool = false) {
        self.headline = headline
        self.detail = detail
        self.problem = problem
        self.isWaiting = isWaiting
    }
}

/// A warning that stays at the window's edge as long as there is a picture.
public struct WindowWarning: Hashable, Sendable {
    /// A sentence, shown for `time` of the picture, and again when the pointer moves or after other words have stood
    /// over the picture.
    public var words: String
    /// A word or two that stand beside the open padlock in between, where there is room; nil leaves the padlock alone.
    public var short: String?
    /// How long the words stand before they give way to the padlock.
    public var time: Duration

    public init(words: String, short: String? = nil, time: Duration = .seconds(8)) {
        self.words = words
        self.short = short
        self.time = time
    }
}

/// A host that can be chosen in the window.
public struct PickerEntry: Hashable, Sendable {
    public var name: String
    /// A second, smaller line: the address, say.
    public var detail: String?

    public init(name: String, detail: String? = nil) {
        self.name = name
        self.detail = detail
    }
}
