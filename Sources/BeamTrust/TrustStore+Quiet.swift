import Glibc

/// What this user's programs have to put back at the desktop after they have silenced its notices, in `quiet`: a program
/// that is killed leaves it there, and the next one finds it.
extension TrustStore {
    static let quietName = "quiet"
    /// In bytes.
    static let maxQuietBytes = 256

    /// Takes the place of the one program of this user that may silence the desktop. Nil: another one has it.
    public func claimQuiet() throws(TrustStoreError) -> QuietClaim? {
        let directory = try PrivateDirectory.make(at: path)
        guard let place = try directory.place(0, in: Self.quietName + "-in-use") else { return nil }
        return QuietClaim(directory, place)
    }
}

/// The place, until this value is released or the program ends.
public final class QuietClaim: Sendable {
    private let directory: PrivateDirectory
    private let place: Descriptor

    fileprivate init(_ directory: consuming PrivateDirectory, _ place: consuming Descriptor) {
        self.directory = directory
        self.place = place
    }

    /// What has to be put back; nil: nothing, or the file can't be read.
    public func read() -> String? {
        guard case .bytes(let bytes)? = try? directory.read(TrustStore.quietName, atMost: TrustStore.maxQuietBytes)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Remembers it; nil: forgets it. False if it can't be written.
    public func keep(_ text: String?) -> Bool {
        guard let text else {
            directory.remove(TrustStore.quietName)
            return true
        }
        do {
            try directory.write(Array(text.utf8), to: TrustStore.quietName)
            return true
        } catch {
            return false
        }
    }
}
