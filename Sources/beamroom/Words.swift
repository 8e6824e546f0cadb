import BeamProtocol

/// Small parts of messages for people.
enum Words {
    /// `1 frame`, `2 frames`.
    static func count(_ number: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
        "\(number) \(number == 1 ? one : many ?? one + "s")"
    }

    /// Quoted for a shell, so that a command with a peer's name in it can be copied from a message as it is.
    static func shellWord(_ text: String) -> String { PeerText.shellWord(text) }
}
