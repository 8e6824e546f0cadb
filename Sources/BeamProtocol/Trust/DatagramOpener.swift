import Crypto

/// Opens datagrams that were sealed with one key, each once.
struct DatagramOpener: Sendable {
    /// What came with a datagram that is authentic and new.
    struct Opened: Hashable, Sendable {
        var kind: SealedHeader.Kind
        var counter: UInt64
        /// No datagram that was sealed later has come before it.
        var isNewest: Bool
    }

    let keyNumber: UInt16
    private let key: SymmetricKey
    private let salt: UInt32
    private var window = ReplayWindow()

    init(key: SealingKey) {
        keyNumber = key.number
        self.key = SymmetricKey(data: key.key)
        salt = key.saltWord
    }

    /// Opens `datagram` into `plaintext`, whose memory is used again; when that fails `plaintext` is empty.
    ///
    /// What is known to have come before is refused without deciphering it, as RFC 4303 (3.4.3) has it; but only an
    /// authentic datagram moves the window.
    mutating func open(
        _ datagram: SealedDatagram, into plaintext: inout [UInt8]
    ) throws(SealedDatagramError) -> Opened {
        plaintext.removeAll(keepingCapacity: true)
        let header = datagram.header
        guard header.keyNumber == keyNumber else { throw .unknownKey(header.keyNumber) }
        try check(window.verdict(on: header.counter), header.counter)
        do {
            // The cipher wants the nonce before the ciphertext. It is as long as the header, and ends with the counter
            // too: only the salt has to be put in.
            plaintext.append(contentsOf: datagram.bytes)
            let box = try plaintext.withUnsafeMutableBytes { bytes in
                bytes.storeBytes(of: salt, as: UInt32.self)
                return try AES.GCM.SealedBox(combined: UnsafeRawBufferPointer(bytes))
            }
            plaintext.removeAll(keepingCapacity: true)
            plaintext.append(
                contentsOf: try AES.GCM.open(
                    box, using: key,
                    authenticating: UnsafeRawBufferPointer(rebasing: datagram.bytes[..<SealedHeader.length])))
        } catch {
            plaintext.removeAll(keepingCapacity: true)
            throw .forged
        }
        let verdict = window.insert(header.counter)
        return Opened(kind: header.kind, counter: header.counter, isNewest: verdict == .newest)
    }

    private func check(_ verdict: ReplayWindow.Verdict, _ counter: UInt64) throws(SealedDatagramError) {
        switch verdict {
        case .newest, .late: break
        case .replayed: throw .replayed(counter)
        case .tooOld: throw .tooOld(counter)
        }
    }
}
