import BeamCodec
import BeamMedia
import BeamNetwork
import Testing

@testable import BeamTerminal
@testable import beamroom

/// Values of options, valid and invalid.
struct OptionTests {
    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7:52345"), ("192.0.2.7:5000", "192.0.2.7:5000"),
        ("2001:db8::7", "[2001:db8::7]:52345"), ("[2001:db8::7]:5000", "[2001:db8::7]:5000"),
        ("[::1]", "[::1]:52345"), ("fe80::1%eth0", "[fe80::1%eth0]:52345"),
        ("[fe80::1%eth0]:5000", "[fe80::1%eth0]:5000"), ("::ffff:192.0.2.7", "[::ffff:192.0.2.7]:52345"),
        ("1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]:52345"), ("localhost", "localhost:52345"),
        ("Localhost:5000", "Localhost:5000"),
    ])
    func addressesAreEndpoints(_ argument: String, _ endpoint: String) throws {
        let target = try WatchTarget(parsing: argument)
        guard case .endpoint(let parsed) = target.kind else {
            Issue.record("\(argument) was taken for a name")
            return
        }
        #expect(parsed.description == endpoint)
    }

    /// Names, and the address that each may be as well.
    @Test(arguments: [
        ("desk", "desk:52345"), ("desk.local", "desk.local:52345"), ("desk.local.", "desk.local.:52345"),
        ("desk:5000", "desk:5000"), ("node1.cluster.example", "node1.cluster.example:52345"),
        ("desk.v2", "desk.v2:52345"), ("room:3", "room:3"), ("my_desk-2.example:65535", "my_desk-2.example:65535"),
        ("büro.local", "büro.local:52345"), ("Anna’s iPhone", nil), ("Mr. Smith", nil), ("Anna: office", nil),
        ("7", nil), ("desk 2.4", nil), ("desk:abc", nil), ("a:b", nil), ("desk/x:5000", nil), ("[lab] desk", nil),
        ("[desk]:1", nil), ("[desk", nil), ("desk.7", nil), ("0x7f.0x1", nil), ("-desk", nil), ("desk..v2", nil),
        ("...", nil), ("…", nil), (": desk", nil), ("desk: 5000", nil),
    ])
    func anythingElseIsAName(_ argument: String, _ address: String?) throws {
        let target = try WatchTarget(parsing: argument)
        #expect(target.kind == .name(argument, address: target.address))
        #expect(target.address?.description == address)
        #expect(target.doubt == nil)
    }

    /// A sentence says what such a name is not.
    @Test(arguments: [
        ("192.0.2", "IPv4"), ("2.0", "IPv4"), ("desk:99999", "port"), ("room:0", "port"), ("2001:db8:1", "IPv6"),
        ("10:30:45", "IPv6"),
    ])
    func whatResemblesAnAddressIsANameInDoubt(_ argument: String, _ words: String) throws {
        let target = try WatchTarget(parsing: argument)
        #expect(target.kind == .name(argument, address: nil))
        #expect(target.doubt?.contains(words) == true && target.doubt?.contains("“\(argument)”") == true)
    }

    @Test func hostsAreTheSameByNameOrAddress() throws {
        let pairs = [
            ("desk", "Desk", true), ("desk.local", "DESK.local:52345", true), ("desk", "desk:52345", true),
            ("desk", "desk:5000", false), ("192.0.2.7", "192.0.2.7:52345", true), ("Mr. Smith", "mr. smith", true),
            ("Mr. Smith", "Mr. Jones", false),
        ]
        for (one, other, isSame) in pairs {
            #expect(try WatchTarget(parsing: one).isSame(as: WatchTarget(parsing: other)) == isSame, "\(one), \(other)")
        }
    }

    /// Each with a part of the error's words.
    @Test(arguments: [
        ("", "192.0.2.7"), ("[::1", "bracket"), ("[::1]x", "port"), ("[::1]:0", "1 to 65535"),
        (":5000", "before the colon"), ("192.0.2.7:abc", "“abc”"), ("192.0.2.7:99999", "1 to 65535"),
        ("http://desk", "watch desk"), ("https://192.0.2.7:5000", "watch 192.0.2.7:5000"), ("999.1.1.1", "IPv4"),
        ("192.0.2.7.1:5000", "IPv4"), ("fe80::1", "fe80::1%eth0"), ("[fe80::1]:5000", "%eth0"),
        ("febf::1%", "%eth0"), ("2001:db8:::7", "IPv6"), ("ssh+x://desk", "watch desk"),
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
        #expect(try ShareCommand.parse([]).capture.chroma == .subsampled)
        #expect(try ShareCommand.parse(["--chroma", "444"]).capture.chroma == .full)
        for nonsense in ["4:4:4", "422", ""] {
            #expect(throws: (any Error).self, "\(nonsense)") { try ShareCommand.parse(["--chroma", nonsense]) }
        }
    }

    @Test func geometriesFollowX11() {
        #expect(PixelSize(argument: "1366x767") == PixelSize(width: 1366, height: 767))
        #expect(PixelRect(argument: "800x600+10+20") == PixelRect(x: 10, y: 20, width: 800, height: 600))
        for nonsense in ["", "x", "1x1", "9000x100", "800x600", "800x600+10", "800x600+-1+0", "800x600+10+20+30"] {
            #expect(PixelRect(argument: nonsense) == nil, "\(nonsense)")
        }
    }

    @Test func aWindowIsAnIDOrAPartOfATitle() {
        #expect(WindowChoice(argument: "0x1c00007") == .number(0x1c0_0007))
        // May be a title as well: the display tells.
        #expect(WindowChoice(argument: "29360135") == .text("29360135"))
        #expect(WindowChoice(argument: "Mozilla Firefox") == .text("Mozilla Firefox"))
        #expect(WindowChoice(argument: "0xyz") == .text("0xyz"))
        for nonsense in ["", "0x0", " ", "\u{1B}"] {
            #expect(WindowChoice(argument: nonsense) == nil, "\(nonsense)")
        }
    }

    @Test func controlCharactersDoNotReachTheTerminal() {
        #expect(Console.printable("a\u{1B}[31mb\u{7}") == "a\u{FFFD}[31mb\u{FFFD}")
        #expect(Console.printable("Zoë 📱\n") == "Zoë 📱\n")
    }
}
