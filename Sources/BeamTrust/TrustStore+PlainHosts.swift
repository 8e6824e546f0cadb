/// The addresses at which a host spoke version 1 last, in `unencrypted-hosts`: one a line, the newest last.
///
/// A viewer that may watch without encryption begins with version 1 there, and doesn't wait for an answer to TLS first.
/// An address where a host speaks version 2 is removed. Nothing is trusted because of this file.
extension TrustStore {
    static let plainHostsName = "unencrypted-hosts"
    /// The most addresses kept, and the most bytes read.
    private static let mostPlainHosts = 64
    private static let mostPlainHostBytes = 64 << 10

    /// Whether a host spoke version 1 at this address last. False if that can't be read: then version 2 is tried first,
    /// as at an unknown address.
    public func isPlainHost(_ place: String) -> Bool {
        do {
            guard let directory = try PrivateDirectory.existing(at: path) else { return false }
            return plainHosts(in: directory).contains(place)
        } catch {
            return false
        }
    }

    /// Notes whether the host at this address speaks version 1.
    public func notePlainHost(_ place: String, isPlain: Bool) throws(TrustStoreError) {
        // An address is a part of a line.
        guard !place.isEmpty, place.utf8.count <= 300, !place.contains(where: \.isNewline) else { return }
        let directory = try PrivateDirectory.make(at: path)
        try directory.locked { () throws(TrustStoreError) in
            let before = plainHosts(in: directory)
            var places = before.filter { $0 != place }
            if isPlain { places.append(place) }
            guard places != before else { return }
            let text = places.suffix(Self.mostPlainHosts).map { $0 + "\n" }.joined()
            try directory.write(Array(text.utf8), to: Self.plainHostsName)
        }
    }

    private func plainHosts(in directory: borrowing PrivateDirectory) -> [String] {
        guard case .bytes(let bytes)? = try? directory.read(Self.plainHostsName, atMost: Self.mostPlainHostBytes) else {
            return []
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
