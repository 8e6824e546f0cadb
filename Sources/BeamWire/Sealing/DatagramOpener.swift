/// Opens datagrams sealed with one key, each once.
package struct DatagramOpener: Sendable {
    /// An authentic datagram that hasn't been opened before.
    package struct Opened: Hashable, Sendable {
        package var kind: SealedHeader.Kind
        package var counter: UInt64
        /// No datagram with a higher counter has arrived yet.
        package var isNewest: Bool

        package init(kind: SealedHeader.Kind, counter: UInt64, isNewest: Bool) {
            self.kind = kind
            self.counter = counter
            self.isNewest = isNewest
        }
    }

    package let keyNumber: UInt16
    /// Nil if OpenSSL lacks the cipher: every datagram then counts as forged.
    private let cipher: DatagramCipher?
    private let salt: UInt32
    private var window = ReplayWindow()

    package init(key: SealingKey) {
        keyNumber = key.number
        cipher = DatagramCipher(key: key, .open)
        salt = key.saltWord
    }

    /// Opens `datagram` into `plaintext`, whose memory is reused; on failure `plaintext` is empty.
    ///
    /// A replayed counter is refused before decryption (RFC 4303, 3.4.3), but only an authentic datagram moves the
    /// window.
    package mutating func open(
        _ datagram: SealedDatagram, into plaintext: inout [UInt8]
    ) throws(SealedDatagramError) -> Opened {
        plaintext.removeAll(keepingCapacity: true)
        guard datagram.header.keyNumber == keyNumber else { throw .unknownKey(datagram.header.keyNumber) }
        try check(window.verdict(on: datagram.header.counter), datagram.header.counter)
        let (header, content, tag) = datagram.parts
        plaintext.append(contentsOf: content)
        let nonce = DatagramCipher.Nonce(salt: salt, counter: datagram.header.counter)
        let isAuthentic = plaintext.withUnsafeMutableBytes {
            cipher?.open($0, header: header, nonce: nonce, tag: tag)
        }
        guard isAuthentic == true else {
            plaintext.removeAll(keepingCapacity: true)
            throw .forged
        }
        let verdict = window.insert(datagram.header.counter)
        return Opened(
            kind: datagram.header.kind, counter: datagram.header.counter, isNewest: verdict == .newest)
    }

    private func check(_ verdict: ReplayWindow.Verdict, _ counter: UInt64) throws(SealedDatagramError) {
        switch verdict {
        case .newest, .late: break
        case .replayed: throw .replayed(counter)
        case .tooOld: throw .tooOld(counter)
        }
    }
}
