/// Whom a frame goes to, by the form in which it goes there.
struct MediaAudience: Hashable, Sendable {
    var version1: [NetworkAddress] = []
    var version2: [NetworkAddress] = []
    /// Of version 2, those whose paths lose so much, and take so long, that they get parity with the frame; and for what share of
    /// its parts.
    var parity: [NetworkAddress] = []
    var parityShare = 0.0

    var isEmpty: Bool { version1.isEmpty && version2.isEmpty }

    mutating func remove(_ address: NetworkAddress) {
        version1.removeAll { $0 == address }
        version2.removeAll { $0 == address }
        parity.removeAll { $0 == address }
    }
}
