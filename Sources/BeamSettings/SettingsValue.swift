/// A value in a file of settings, with its place.
public struct SettingsValue: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// In the order of the lines.
        case table([SettingsEntry])
        case list([SettingsValue])
        case text(String)
        /// As an option takes it: `8000000`, `59.94`, `0x1c00007`.
        case number(String)
        case flag(Bool)
        /// A date or a time of day.
        case time
    }

    public var kind: Kind
    /// Counted from 1: where its key stands, or an element of a list.
    public var line: Int

    public init(_ kind: Kind, line: Int) {
        self.kind = kind
        self.line = line
    }
}

/// A key and its value.
public struct SettingsEntry: Equatable, Sendable {
    public var name: String
    public var value: SettingsValue

    public init(name: String, value: SettingsValue) {
        self.name = name
        self.value = value
    }
}
