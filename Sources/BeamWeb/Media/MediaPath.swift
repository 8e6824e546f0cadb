import BeamMedia
import BeamWire

/// One browser's way on the media port: from the offer over ICE and DTLS to SRTP. Confined to its event loop.
final class MediaPath {
    enum Stage {
        /// It was offered the stream. What arrives of DTLS before its answer is kept.
        case offered(early: [[UInt8]])
        /// It has answered: the certificate is known, and its handshake may begin once it has an address.
        case answered(fingerprint: [UInt8], early: [[UInt8]])
        case handshaking(DTLSConnection, since: MediaTime)
        case established(DTLSConnection, SRTPSession)
        /// For good.
        case over
    }

    /// ICE's name and password of the host for this browser.
    let name: String
    let password: String
    let offered: MediaTime
    var stage = Stage.offered(early: [])
    /// Where packets are sent: the browser has shown that it receives there. Nil before that.
    private(set) var address: NetworkAddress?
    /// Where authentic requests came from, the newest last.
    private(set) var addresses: [NetworkAddress] = []
    private(set) var lastRequest: MediaTime
    /// The last one from `address`.
    private var lastRequestHere = MediaTime.distantPast
    /// The browser's ICE name and password, once it has answered.
    private var browser: (name: String, password: String)?
    /// The host's own requests to those of `addresses` that packets may go to once one is answered.
    private var checks: [NetworkAddress: STUNCheck] = [:]
    /// A timeout of its handshake is scheduled.
    var hasTimer = false

    /// Datagrams that are kept before the browser's answer: a long first message comes in two.
    private static let mostEarly = 4
    /// A browser tries each of its addresses.
    private static let mostAddresses = 8
    /// From when on another address counts although the browser hasn't chosen it: it hasn't asked from the old one.
    private static let silence = Duration.seconds(6)

    init(name: String, password: String, now: MediaTime) {
        self.name = name
        self.password = password
        offered = now
        lastRequest = now
    }

    var isEstablished: Bool { if case .established = stage { true } else { false } }

    func answered(name: String, password: String) { browser = (name, password) }

    /// Whether a request with this name of the browser's can be its own.
    func mayBe(_ peerName: String) -> Bool { browser.map { $0.name == peerName } ?? true }

    /// An authentic request. Returns the address that is forgotten for this one.
    ///
    /// Packets go there only when the browser has answered a request there (`checkRequest`), for whoever was let in can
    /// send requests with another machine's address.
    func asked(from source: NetworkAddress, nominates: Bool, now: MediaTime) -> NetworkAddress? {
        if source == address {
            lastRequestHere = now
        } else if address == nil || nominates || now - lastRequestHere > Self.silence, checks[source] == nil {
            var random = SystemRandomNumberGenerator()
            checks[source] = STUNCheck(random: &random)
        }
        lastRequest = now
        addresses.removeAll { $0 == source }
        addresses.append(source)
        guard addresses.count > Self.mostAddresses else { return nil }
        let oldest = addresses.remove(at: addresses.firstIndex { $0 != address } ?? 0)
        checks[oldest] = nil
        return oldest
    }

    /// The request to send to `source`, which has just asked; nil: nothing is to be checked there, or the browser hasn't
    /// answered the offer. One for each of its requests, about as long as that.
    func checkRequest(to source: NetworkAddress) -> [UInt8]? {
        guard let browser else { return nil }
        return checks[source]?.request(from: name, to: browser.name, password: browser.password)
    }

    /// Something that is no request has come from `source`: if it is the browser's answer, packets go there from now on.
    /// Returns whether it is.
    func received(_ bytes: UnsafeRawBufferPointer, from source: NetworkAddress, now: MediaTime) -> Bool {
        guard let browser, let check = checks[source], check.isAnswered(by: bytes, password: browser.password) else {
            return false
        }
        (address, lastRequestHere) = (source, now)
        checks = [:]
        return true
    }

    /// Keeps a datagram of DTLS until the handshake may begin.
    func keepEarly(_ bytes: UnsafeRawBufferPointer) {
        switch stage {
        case .offered(let early) where early.count < Self.mostEarly: stage = .offered(early: early + [Array(bytes)])
        case .answered(let fingerprint, let early) where early.count < Self.mostEarly:
            stage = .answered(fingerprint: fingerprint, early: early + [Array(bytes)])
        default: break
        }
    }
}
