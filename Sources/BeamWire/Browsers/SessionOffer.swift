/// What the host offers a browser, as a session description (RFC 8866): its stream, to be sent only, H.264 and perhaps
/// Opus, on one port (BUNDLE, RFC 9143), with ICE-lite (RFC 8445) and DTLS-SRTP (RFC 5763) where the host is the server.
public struct SessionOffer: Sendable, Hashable {
    /// ICE's name and password: at least 4 and 22 characters of letters, digits, `+` and `/` (RFC 8839, 5.4).
    public var name: String
    public var password: String
    /// SHA-256 of the host's certificate, 32 bytes.
    public var fingerprint: [UInt8]
    public var sources: BrowserSources
    /// The host's addresses, the best one first.
    public var addresses: [IPAddress]
    /// The UDP port for all of it.
    public var port: UInt16

    public init(
        name: String, password: String, fingerprint: [UInt8], sources: BrowserSources, addresses: [IPAddress],
        port: UInt16
    ) {
        self.name = name
        self.password = password
        self.fingerprint = fingerprint
        self.sources = sources
        self.addresses = addresses
        self.port = port
    }

    /// H.264's parameters (RFC 6184, 8.1).
    static let videoFormat = "packetization-mode=1;profile-level-id=42e01f;level-asymmetry-allowed=1"
    /// The most addresses that are offered.
    public static let mostAddresses = 16

    private static let characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

    /// A random ICE name or password: 6 bits a character. Names have 8 characters, passwords 24.
    public static func secret(_ length: Int, random: inout some RandomNumberGenerator) -> String {
        String((0..<length).map { _ in characters[Int(random.next(upperBound: UInt64(characters.count)))] })
    }

    /// The text, its lines ended by CR LF.
    ///
    /// H.264 is always offered as Constrained Baseline, level 3.1: browsers refuse what the sequence parameter sets say,
    /// and decode it all the same.
    public var text: String {
        var lines = ["v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=ice-lite"]
        lines.append(sources.sound == nil ? "a=group:BUNDLE v" : "a=group:BUNDLE v a")
        lines.append("a=msid-semantic: WMS *")
        lines += media("video", "v", BrowserSources.videoType, source: sources.video) { type in
            [
                "a=rtpmap:\(type) H264/90000",
                "a=fmtp:\(type) \(Self.videoFormat)",
                "a=rtcp-fb:\(type) nack", "a=rtcp-fb:\(type) nack pli",
                "a=extmap:\(PlayoutDelay.number) \(PlayoutDelay.name)",
            ]
        }
        if let sound = sources.sound {
            lines += media("audio", "a", BrowserSources.soundType, source: sound) { type in
                ["a=rtpmap:\(type) opus/48000/2", "a=fmtp:\(type) minptime=10;stereo=1;sprop-stereo=1"]
            }
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    private func media(
        _ kind: String, _ id: String, _ type: UInt8, source: UInt32, _ format: (UInt8) -> [String]
    ) -> [String] {
        var lines = ["m=\(kind) \(port) UDP/TLS/RTP/SAVPF \(type)", "c=IN IP4 0.0.0.0", "a=sendonly", "a=mid:\(id)"]
        lines += ["a=rtcp-mux", "a=ice-ufrag:\(name)", "a=ice-pwd:\(password)"]
        lines += ["a=fingerprint:sha-256 \(Self.text(fingerprint))", "a=setup:passive"]
        lines += format(type)
        lines += ["a=msid:b \(id)", "a=ssrc:\(source) cname:\(BrowserSources.name)"]
        let offered = addresses.prefix(Self.mostAddresses)
        lines += offered.enumerated().map { index, address in
            // Each one's priority by RFC 8445, 5.1.2.1: host candidates, the first one preferred.
            let priority = 126 << 24 | (65535 - index) << 8 | 255
            return "a=candidate:\(index + 1) 1 udp \(priority) \(Self.text(address)) \(port) typ host"
        }
        return lines + ["a=end-of-candidates"]
    }

    private static func text(_ fingerprint: [UInt8]) -> String {
        fingerprint.map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count < 2 ? "0" + digits : digits
        }.joined(separator: ":")
    }

    /// Without the interface's index, which means nothing to others.
    private static func text(_ address: IPAddress) -> String {
        guard case .v6(let high, let low, _) = address else { return address.description }
        return IPAddress.v6(high: high, low: low, scope: 0).description
    }
}
