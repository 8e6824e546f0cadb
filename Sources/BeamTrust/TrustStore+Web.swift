import BeamIdentity
import BeamWire

/// The certificate for browsers, in `web.pem`: it is kept, because browsers that were told to accept it ask again for another
/// one.
extension TrustStore {
    static let webName = "web.pem"

    /// This machine's certificate for browsers, made on first use; concurrent processes get the same one.
    ///
    /// Another one replaces it if it isn't for the first of `names`, the machine's present name, or can't be read. Nothing is
    /// lost with it: browsers warn of the new one as they did of the old one.
    ///
    /// - Parameters:
    ///   - names: under which browsers may come, such as `desk` and `desk.local`.
    ///   - addresses: the machine's, for a new certificate.
    public func webIdentity(names: [String], addresses: [IPAddress]) throws(TrustStoreError) -> WebIdentity {
        let directory = try PrivateDirectory.make(at: path)
        if let identity = try webIdentity(in: directory, for: names.first) { return identity }
        return try directory.locked { () throws(TrustStoreError) in
            if let identity = try webIdentity(in: directory, for: names.first) { return identity }
            do {
                let identity = try WebIdentity(names: names, addresses: addresses)
                try directory.write(Array(identity.pem.utf8), to: Self.webName)
                return identity
            } catch let error as TrustStoreError {
                throw error
            } catch {
                throw .cannotUse(path: path, reason: "\(error)")
            }
        }
    }

    private func webIdentity(
        in directory: borrowing PrivateDirectory, for name: String?
    ) throws(TrustStoreError) -> WebIdentity? {
        guard case .bytes(let bytes) = try directory.read(Self.webName, atMost: Self.maxIdentityBytes),
            let identity = try? WebIdentity(pem: String(decoding: bytes, as: UTF8.self)),
            name.map({ identity.names.contains($0.lowercased()) }) ?? true
        else { return nil }
        return identity
    }
}
