/// Whom a frame goes to, by the form in which it goes there.
struct MediaAudience: Hashable, Sendable {
    var version1: [NetworkAddress] = []
    var version2: [NetworkAddress] = []

    var isEmpty: Bool { version1.isEmpty && version2.isEmpty }

    mutating func remove(_ address: NetworkAddress) {
        version1.removeAll { $0 == address }
        version2.removeAll { $0 == address }
    }
}
