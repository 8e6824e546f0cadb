import BeamNetwork
import BeamWire
import Testing

@testable import BeamHost
@testable import BeamTerminal

/// Where browsers come, as the person who shares reads it.
struct WebTextTests {
    private static let lan = LocalAddress("192.0.2.7", on: "eth0")
    private static let v6 = LocalAddress("2001:db8::7", on: "eth0")
    private static let linkLocal = LocalAddress("fe80::7", on: "eth0")

    private func text(
        unavailable: String? = nil, httpsOnly: Bool = false, bind: String? = nil, ownCertificate: Bool = true
    ) -> WebText {
        WebText(
            web: HostDescription.Web(
                port: 52347, mediaPort: 52348, packetsUnavailable: unavailable, fingerprint: [0, 0x0A, 0xFF]),
            bindAddress: bind, isHTTPSOnly: httpsOnly, hasOwnCertificate: ownCertificate)
    }

    @Test func addressesAreThoseThatOthersReach() {
        let all = [Self.lan, Self.v6, Self.linkLocal]
        #expect(text().addresses(all) == ["http://192.0.2.7:52347", "http://[2001:db8::7]:52347"])
        let many = (1...9).map { LocalAddress("192.0.2.\($0)", on: "eth\($0)") }
        #expect(text().addresses(many).count == 9, "each that others can reach")
        #expect(text(httpsOnly: true).addresses([Self.lan]) == ["https://192.0.2.7:52347"])
        #expect(text(unavailable: "libsrtp2 is missing").addresses([Self.lan]) == ["https://192.0.2.7:52347"])
        #expect(text(bind: "192.0.2.9").addresses(all) == ["http://192.0.2.9:52347"])
        #expect(text(bind: "0.0.0.0").addresses(all) == ["http://192.0.2.7:52347"])
    }

    @Test func sentences() {
        #expect(text().sentence(["a", "b"]) == "To watch in a browser, open a (or b).")
        #expect(text().sentence(["a"]) == "To watch in a browser, open a.")
        #expect(text().sentence([]).contains("no browser can reach it"))
        #expect(text().fingerprint == "00:0A:FF")
    }

    /// A certificate that was given may be one that browsers trust.
    @Test func onlyOfItsOwnCertificateBrowsersAreSaidToWarn() {
        #expect(
            text().certificate
                == "By https its certificate, which browsers warn of, has the SHA-256 fingerprint 00:0A:FF.")
        #expect(
            text(ownCertificate: false).certificate
                == "By https its certificate has the SHA-256 fingerprint 00:0A:FF.")
    }

    @Test func thePhotographedAddressHasTheCodeWhereNoServerSeesIt() throws {
        let code = try #require(PairingCode("271828"))
        #expect(WebText.link("http://192.0.2.7:52347", code) == "http://192.0.2.7:52347/#271828")
        #expect(WebText.link("http://192.0.2.7:52347", nil) == "http://192.0.2.7:52347/")
    }

    /// The three corners that a camera looks for (ISO/IEC 18004, 6.3.3), and the empty margin around the modules.
    @Test func aQRCodeHasItsFinderPatternsAndMargin() throws {
        let lines = try #require(QRCode.lines("http://192.0.2.7:52347/#271828"))
        let rows = lines.flatMap { line -> [[Bool]] in
            let text = line.replacing("\u{1b}[30;107m", with: "").replacing("\u{1b}[0m", with: "")
            return [
                text.map { $0 == "▀" || $0 == "█" }, text.map { $0 == "▄" || $0 == "█" },
            ]
        }
        let width = rows[0].count
        #expect(rows.allSatisfy { $0.count == width } && rows.count >= width)
        let finder = [
            "1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111",
        ].map { $0.map { $0 == "1" } }
        for (x, y) in [(2, 2), (width - 9, 2), (2, width - 9)] {
            let found = (0..<7).map { row in Array(rows[y + row][x..<x + 7]) }
            #expect(found == finder, "at \(x), \(y)")
        }
        #expect(rows[0].allSatisfy { !$0 } && rows[1].allSatisfy { !$0 } && rows.allSatisfy { !$0[0] && !$0[1] })
    }

    @Test func whatIsTooLongHasNoQRCode() {
        #expect(QRCode.lines(String(repeating: "x", count: 501)) == nil)
    }
}
