import Testing

@testable import BeamWire

struct SessionDescriptionTests {
    private static let fingerprint = (0..<32).map { UInt8($0 * 8) }
    private static let fingerprintText = fingerprint.map { byte in
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined(separator: ":")

    private static func offer(sound: UInt32?) -> SessionOffer {
        SessionOffer(
            name: "abcd1234", password: "abcdefghijklmnopqrstuvwx", fingerprint: fingerprint,
            sources: BrowserSources(video: 1234, sound: sound), addresses: [.v4(0x0A4D_0001)], port: 52348)
    }

    /// The description that worked in both browsers.
    @Test func theOfferIsWhatBrowsersTake() {
        let expected = """
            v=0
            o=- 1 1 IN IP4 0.0.0.0
            s=-
            t=0 0
            a=ice-lite
            a=group:BUNDLE v
            a=msid-semantic: WMS *
            m=video 52348 UDP/TLS/RTP/SAVPF 96
            c=IN IP4 0.0.0.0
            a=sendonly
            a=mid:v
            a=rtcp-mux
            a=ice-ufrag:abcd1234
            a=ice-pwd:abcdefghijklmnopqrstuvwx
            a=fingerprint:sha-256 \(Self.fingerprintText)
            a=setup:passive
            a=rtpmap:96 H264/90000
            a=fmtp:96 packetization-mode=1;profile-level-id=42e01f;level-asymmetry-allowed=1
            a=rtcp-fb:96 nack
            a=rtcp-fb:96 nack pli
            a=extmap:12 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
            a=msid:b v
            a=ssrc:1234 cname:b
            a=candidate:1 1 udp 2130706431 10.77.0.1 52348 typ host
            a=end-of-candidates

            """
        #expect(Self.offer(sound: nil).text == expected.replacing("\n", with: "\r\n"))
    }

    @Test func soundIsASecondMediumOfTheSameStream() {
        let lines = Self.offer(sound: 77).text.split(separator: "\r\n")
        #expect(lines.contains("a=group:BUNDLE v a"))
        let sound = lines.drop { !$0.hasPrefix("m=audio") }
        #expect(sound.first == "m=audio 52348 UDP/TLS/RTP/SAVPF 111")
        for line in ["a=mid:a", "a=rtpmap:111 opus/48000/2", "a=msid:b a", "a=ssrc:77 cname:b", "a=ice-ufrag:abcd1234"]
        {
            #expect(sound.contains(Substring(line)), "\(line)")
        }
        #expect(!sound.contains { $0.hasPrefix("a=rtcp-fb") })
    }

    @Test func addressesAreOfferedInTheirOrder() {
        var offer = Self.offer(sound: nil)
        offer.addresses = [.v6(high: 0xFE80 << 48, low: 1, scope: 7), .v4(1)]
        offer.addresses += [IPAddress](repeating: .v4(2), count: 100)
        let candidates = offer.text.split(separator: "\r\n").filter { $0.hasPrefix("a=candidate") }
        #expect(candidates.count == SessionOffer.mostAddresses)
        #expect(candidates[0] == "a=candidate:1 1 udp 2130706431 fe80::1 52348 typ host")
        #expect(candidates[1] == "a=candidate:2 1 udp 2130706175 0.0.0.1 52348 typ host")
    }

    @Test func secretsAreOfTheWantedLength() {
        var random = SeededGenerator(seed: 1)
        let secrets = (0..<100).map { _ in SessionOffer.secret(24, random: &random) }
        #expect(Set(secrets).count == 100 && secrets.allSatisfy { $0.count == 24 })
        let sources = BrowserSources(hasSound: true, random: &random)
        #expect(sources.sound != nil && sources.sound != sources.video)
        #expect(BrowserSources(hasSound: false, random: &random).sound == nil)
    }

    /// As Chromium answers.
    static let answer = """
        v=0
        o=- 7157 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE v a
        a=msid-semantic: WMS
        m=video 9 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:1 1 udp 2113937151 0bc5c0b8.local 53222 typ host generation 0
        a=ice-ufrag:kW3a
        a=ice-pwd:0123456789ABCDEFGHIJKL+/
        a=ice-options:trickle
        a=fingerprint:sha-256 \(fingerprintText)
        a=setup:active
        a=mid:v
        a=recvonly
        a=rtcp-mux
        a=rtpmap:96 H264/90000
        a=rtcp-fb:96 nack
        a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        m=audio 9 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 0.0.0.0
        a=ice-ufrag:kW3a
        a=ice-pwd:0123456789ABCDEFGHIJKL+/
        a=fingerprint:sha-256 \(fingerprintText)
        a=setup:active
        a=mid:a
        a=recvonly
        a=rtpmap:111 opus/48000/2

        """

    @Test func anAnswerIsRead() throws {
        for text in [Self.answer, Self.answer.replacing("\n", with: "\r\n")] {
            let answer = try SessionAnswer(text)
            #expect(answer.name == "kW3a" && answer.password == "0123456789ABCDEFGHIJKL+/")
            #expect(answer.fingerprint == Self.fingerprint && answer.takesVideo && answer.takesSound)
        }
    }

    /// Firefox without H.264 takes nothing, or sound alone.
    @Test func whatIsNotTakenIsSaid() throws {
        let inactive = Self.answer.replacing("m=video 9 ", with: "m=video 0 ").replacing(
            "a=mid:v\na=recvonly", with: "a=mid:v\na=inactive")
        let sound = try SessionAnswer(inactive)
        #expect(!sound.takesVideo && sound.takesSound && sound.name == "kW3a")
        let nothing = try SessionAnswer("v=0\nm=video 0 UDP/TLS/RTP/SAVPF 96\na=inactive\n")
        #expect(!nothing.takesVideo && !nothing.takesSound && nothing.fingerprint.isEmpty)
        #expect(try !SessionAnswer(Self.answer.replacing("H264", with: "VP8")).takesVideo)
    }

    @Test func whatCannotBeUsedIsRefused() {
        func failure(_ text: String) -> SessionAnswer.Failure? {
            do throws(SessionAnswer.Failure) {
                _ = try SessionAnswer(text)
                return nil
            } catch {
                return error
            }
        }
        let text = Self.answer
        #expect(failure(text.replacing("setup:active", with: "setup:passive")) == .wrongSetup)
        #expect(failure(text.replacing("sha-256", with: "sha-1")) == .incomplete("fingerprint"))
        #expect(failure(text.replacing("a=ice-ufrag:kW3a\n", with: "")) == .incomplete("ice-ufrag"))
        #expect(failure(text.replacing("a=setup:active\n", with: "")) == .incomplete("setup"))
        #expect(failure(text.replacing("kW3a", with: "k W3a")) == .malformed)
        #expect(failure(text.replacing("kW3a", with: "kW3")) == .malformed)
        #expect(failure(text.replacing("sha-256 00:08", with: "sha-256 +0:08")) == .malformed)
        #expect(failure(text.replacing("sha-256 00:08", with: "sha-256 08")) == .malformed)
        // Two media with two certificates.
        let other = text.replacing(
            "m=audio", with: "a=fingerprint:sha-256 \(Self.fingerprintText.dropLast(2))FF\nm=audio")
        #expect(failure(other) == .malformed)
        #expect(failure(text + "a=" + String(repeating: "x", count: 1023)) == .malformed)
        #expect(failure(String(repeating: "a=x\n", count: 5000)) == .malformed)
        #expect(failure(String(repeating: "m=x 9 y 1\n", count: 9)) == .malformed)
        #expect(failure("m=video 99999 UDP 96") == .malformed)
        #expect(failure("hello") == .malformed)
    }
}
