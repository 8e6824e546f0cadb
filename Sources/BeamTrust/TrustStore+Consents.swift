import Foundation

/// What a desktop gives a program to which its person has agreed to show the screen, so that it needn't ask again: a token
/// that serves once. In `consents.json`, which maps names to tokens.
extension TrustStore {
    static let consentsName = "consents.json"
    /// In bytes. An entry takes about 70.
    static let maxConsentBytes = 16 << 10
    /// More names than anybody has displays. When one more comes, all are forgotten.
    static let maxConsents = 64

    /// Takes the token of that name out of the store: nobody else gets it. Nil: there is none. A file that can't be read
    /// counts as none, because the person can agree again.
    public func takeConsent(_ name: String) throws(TrustStoreError) -> String? {
        guard let directory = try PrivateDirectory.existing(at: path) else { return nil }
        return try directory.locked { () throws(TrustStoreError) in
            var consents = try consents(in: directory)
            guard let token = consents.removeValue(forKey: name) else { return nil }
            try write(consents, in: directory)
            return token
        }
    }

    /// Keeps a token under that name, in place of an older one.
    public func keepConsent(_ token: String, as name: String) throws(TrustStoreError) {
        let directory = try PrivateDirectory.make(at: path)
        try directory.locked { () throws(TrustStoreError) in
            var consents = try consents(in: directory)
            if consents[name] == nil, consents.count >= Self.maxConsents { consents = [:] }
            consents[name] = token
            try write(consents, in: directory)
        }
    }

    private func consents(in directory: borrowing PrivateDirectory) throws(TrustStoreError) -> [String: String] {
        guard case .bytes(let bytes) = try directory.read(Self.consentsName, atMost: Self.maxConsentBytes) else {
            return [:]
        }
        return (try? JSONDecoder().decode([String: String].self, from: Data(bytes))) ?? [:]
    }

    private func write(
        _ consents: [String: String], in directory: borrowing PrivateDirectory
    ) throws(TrustStoreError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let data = try? encoder.encode(consents) else { return }
        try directory.write(Array(data), to: Self.consentsName)
    }
}
