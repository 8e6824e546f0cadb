import BeamCodec
import BeamMedia
import BeamNetwork
import Testing

@testable import beamroom

/// Values of options, valid and invalid.
struct OptionTests {
    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7:52345"), ("192.0.2.7:5000", "192.0.2.7:5000"),
        ("2001:db8::7", "[2001:db8::7]:52345"), ("[2001:db8::7]:5000", "[2001:db8::7]:5000"),
        ("[::1]", "[::1]:52345"), ("fe80::1%eth0", "[fe80::1%eth0]:52345"), ("desk.local", "desk.local:52345"),
        ("desk:5000", "desk:5000"), ("localhost", "localhost:52345"),
    ])
    func addressesAreEndpoints(_ argument: String, _ endpoint: String) throws {
        let target = try WatchTarget(parsing: argument)
        guard case .endpoint(let parsed) = target.kind else {
            Issue.record("\(argument) was taken for a name")
            return
        }
        #expect(parsed.description == endpoint)
    }

    @Test(arguments: ["desk", "Anna’s iPhone", "Mr. Smith", "Anna: office", "7", "desk 2.4"])
    func anythingElseIsAName(_ argument: String) throws {
        #expect(try WatchTarget(parsing: argument).kind == .name(argument))
    }

    /// Each with a part of the error's words.
    @Test(arguments: [
        ("", "192.0.2.7"), ("[::1", "bracket"), ("[::1]x", "port"), ("[::1]:0", "1 to 65535"), ("[desk]:1", "IPv6"),
        (":5000", "before the colon"), ("desk:99999", "1 to 65535"), ("desk:abc", "“abc”"), ("a:b", "“b”"),
        ("http://desk", "watch desk"), ("https://192.0.2.7:5000", "watch 192.0.2.7:5000"), ("999.1.1.1", "IPv4"),
        ("192.0.2", "IPv4"), ("192.0.2.7.1:5000", "IPv4"), ("fe80::1", "fe80::1%eth0"), ("[fe80::1]:5000", "%eth0"),
        ("febf::1%", "%eth0"), ("2001:db8:::7", "IPv6"), ("desk/x:5000", "host name"),
        (String(repeating: "a", count: 256), "255"),
    ])
    func invalidAddressesAreRefused(_ argument: String, _ words: String) {
        #expect { try WatchTarget(parsing: argument) } throws: { "\($0)".contains(words) }
    }

    @Test func bitRatesMayHaveSuffixes() {
        #expect(BitRate(argument: "8M")?.bitsPerSecond == 8_000_000)
        #expect(BitRate(argument: "1.5m")?.bitsPerSecond == 1_500_000)
        #expect(BitRate(argument: "800k")?.bitsPerSecond == 800_000)
        #expect(BitRate(argument: "2500000")?.bitsPerSecond == 2_500_000)
        for nonsense in ["", "M", "-8M", "8X", "nan", "inf", "1", "9999G"] {
            #expect(BitRate(argument: nonsense) == nil, "\(nonsense)")
        }
    }

    @Test func chromaFormatsAreNamedByTheirRatio() throws {
        #expect(try Share.parse([]).capture.chroma == .subsampled)
        #expect(try Share.parse(["--chroma", "444"]).capture.chroma == .full)
        for nonsense in ["4:4:4", "422", ""] {
            #expect(throws: (any Error).self, "\(nonsense)") { try Share.parse(["--chroma", nonsense]) }
        }
    }

    @Test func geometriesFollowX11() {
        #expect(PixelSize(argument: "1366x767") == PixelSize(width: 1366, height: 767))
        #expect(PixelRect(argument: "800x600+10+20") == PixelRect(x: 10, y: 20, width: 800, height: 600))
        for nonsense in ["", "x", "1x1", "9000x100", "800x600", "800x600+10", "800x600+-1+0", "800x600+10+20+30"] {
            #expect(PixelRect(argument: nonsense) == nil, "\(nonsense)")
        }
    }

    @Test func windowIDsAreHexOrDecimal() {
        #expect(WindowID(argument: "0x1c00007")?.number == 0x1c0_0007)
        #expect(WindowID(argument: "29360135")?.number == 29_360_135)
        for nonsense in ["", "0", "0x", "0x1ffffffff", "-1", "root"] {
            #expect(WindowID(argument: nonsense) == nil, "\(nonsense)")
        }
    }

    @Test func controlCharactersDoNotReachTheTerminal() {
        #expect(Console.printable("a\u{1B}[31mb\u{7}") == "a\u{FFFD}[31mb\u{FFFD}")
        #expect(Console.printable("Zoë 📱\n") == "Zoë 📱\n")
    }
}
