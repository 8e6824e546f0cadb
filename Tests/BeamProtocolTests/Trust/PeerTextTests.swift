import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Names that peers send, before a person sees them.
struct PeerTextTests {
    @Test(arguments: [
        ("Anna’s iPhone", "Anna’s iPhone"), ("Küche", "Küche"), ("会議室", "会議室"), ("Ζωή", "Ζωή"),
        // Line ends, cursor movements, colours.
        ("desk\nroot", "desk root"), ("desk\r\u{1B}[2Jroot", "desk [2Jroot"), ("a\u{85}b\u{2028}c\u{2029}d", "a b c d"),
        // Bidirectional controls and invisible characters.
        ("\u{202E}ksed\u{202C}", "ksed"), ("a\u{2066}b\u{2069}c\u{200F}d\u{061C}e", "abcde"),
        ("de\u{200B}sk\u{FEFF}\u{2060}\u{00AD}", "desk"), ("a\u{200D}b\u{200C}c", "abc"),
        // Joiners stay in captions and notes only.
        ("می\u{200C}خواهم", "میخواهم"), ("👩\u{200D}🚀", "👩🚀"),
        ("a\u{3164}b\u{115F}c", "abc"),
        ("\u{E000}x\u{F8FF}", "x"), ("\u{E0041}\u{E0042}x", "x"),
        // Blanks that push the rest away.
        ("desk                         (192.0.2.1)", "desk (192.0.2.1)"), (" \u{3000}\u{2003}desk\u{A0} ", "desk"),
        ("\u{2800}\u{2800}desk\u{2800}", "desk"),
        // The quotation marks that our messages use.
        ("desk” is let in. “", "desk' is let in. '"), ("„a“ «b» \"c\"", "'a' 'b' 'c'"),
        // Combining marks without a base, and too many of them.
        ("\u{301}desk", "desk"), ("e\u{301}\u{302}\u{303}\u{304}\u{305}x", "e\u{301}\u{302}x"),
        ("", "unnamed"), ("\u{200B}\u{202E}", "unnamed"), ("   ", "unnamed"),
    ])
    func namesAreCleanedForDisplay(raw: String, shown: String) {
        #expect(PeerText.name(raw) == shown)
        #expect(!PeerText.sentence(raw).unicodeScalars.contains { $0 == "\u{200C}" || $0 == "\u{200D}" })
        #expect(PeerText.name(PeerText.name(raw)) == shown, "a cleaned name doesn't change again")
    }

    @Test func longNamesAreTruncated() {
        #expect(PeerText.name(String(repeating: "a", count: 32)) == String(repeating: "a", count: 32))
        #expect(PeerText.name(String(repeating: "a", count: 33)) == String(repeating: "a", count: 31) + "…")
        #expect(PeerText.name(String(repeating: "字", count: 16)) == String(repeating: "字", count: 16))
        let wide = PeerText.name(String(repeating: "字", count: 17))
        #expect(wide == String(repeating: "字", count: 15) + "…" && PeerText.columns(wide) <= 32)
        #expect(PeerText.columns(PeerText.name(String(repeating: "😀", count: 200))) <= 32)
        #expect(PeerText.columns(PeerText.sentence(String(repeating: "no ", count: 200))) <= 160)
    }

    /// Marks have no width, but files take names of 255 bytes only.
    @Test func namesAreShortInBytesToo() {
        let marked = String(repeating: "a\u{20D0}\u{20D1}", count: 31) + "ab"
        #expect(marked.utf8.count > 200)
        let name = PeerText.name(marked)
        #expect(name.utf8.count <= 128 && name.hasSuffix("…") && PeerText.name(name) == name)
        let device = DeviceNames.marked(marked, .viewer) { _ in true }
        #expect(device.utf8.count <= 128 + 19, "a mark has up to sixteen digits")
    }

    @Test func anyTextBecomesShortAndPlain() {
        for seed in 1...3000 {
            var random = SeededGenerator(seed: UInt64(seed))
            let scalars = (0..<Int.random(in: 0...80, using: &random)).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 0...(random.chance(0.5) ? 0x2FFF : 0x10FFFF), using: &random))
            }
            let shown = PeerText.name(String(String.UnicodeScalarView(scalars)))
            #expect(!shown.isEmpty && PeerText.columns(shown) <= PeerText.nameColumns, "seed \(seed)")
            let isPlain = shown.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
                default: !scalar.properties.isDefaultIgnorableCodePoint && scalar != "“" && scalar != "”"
                }
            }
            #expect(isPlain, "seed \(seed): \(shown.debugDescription)")
        }
    }
}

/// Names that belong to other devices.
struct DeviceNameTests {
    @Test func aKnownDeviceKeepsItsName() {
        var book = TrustBook(remembered: [.host: "desk", .made(1): "eve"])
        #expect(book.pair(.made(1), name: "desk") == "eve")
        #expect(book.pair(.made(2), name: "Desk") == "Desk (0202)")
        #expect(book.pair(.made(2), name: "other") == "Desk (0202)")
        #expect(book.isTaken("desk", butBy: .made(1)) && !book.isTaken("desk", butBy: .host))
        #expect(DeviceNames.isVariant("Desk (0202)", of: "desk", .made(2)))
        #expect(!DeviceNames.isVariant("eve", of: "desk", .made(1)))
    }

    /// A host that this machine knows as “eve” is found under another name: its key says who it is.
    @Test func aKnownHostUnderAnotherNameIsWatchedAndNamed() {
        var configuration = ViewerSession.Configuration.secure(knows: true)
        configuration.trust.known = [.host: "eve"]
        configuration.trust.chosenName = "desk"
        var viewer = ViewerBench(configuration)
        viewer.handle(.controlSecured(.host))
        #expect(!viewer.takeMessages().isEmpty)
        let nonce = [UInt8](repeating: 1, count: PairingContext.nonceLength)
        viewer.say(.welcome(SecureMessage.Welcome(isTrusted: true, methods: [], nonce: nonce, name: "desk")))
        #expect(viewer.events.contains(.hostCallsItself("desk", known: "eve", wasChosen: true)))
        // The name belongs to another known host.
        configuration.trust.known[.made(9)] = "desk"
        configuration.trust.required = [.made(9)]
        var refusing = ViewerBench(configuration)
        refusing.handle(.controlSecured(.host))
        let other = ViewerRefusal.OtherKey(key: .host, expected: ["desk"], place: .name)
        #expect(refusing.events.contains(.refused(.otherKey(other))))
        #expect(refusing.takeMessages().isEmpty)
        configuration.trust.required = nil
        // Discovery appends numbers to equal names.
        for name in ["EVE", "eve #2", "eve"] {
            configuration.trust.chosenName = name
            var other = ViewerBench(configuration)
            other.handle(.controlSecured(.host))
            #expect(!other.takeMessages().isEmpty, "\(name)")
        }
    }

    @Test func anotherKeyAtAKnownAddressIsRefused() {
        var configuration = ViewerSession.Configuration.secure(knows: false)
        configuration.trust.known = [.host: "desk"]
        configuration.trust.required = [.host]
        configuration.trust.chosenAddress = "192.0.2.7:52345"
        var viewer = ViewerBench(configuration)
        viewer.handle(.controlSecured(.made(9)))
        let other = ViewerRefusal.OtherKey(key: .made(9), expected: ["desk"], place: .address("192.0.2.7:52345"))
        #expect(viewer.events.contains(.refused(.otherKey(other))))
    }

    @Test func aKnownHostThatChangesItsNameKeepsTheKnownOne() throws {
        var viewer = ViewerBench(.secure(knows: true))
        viewer.handle(.controlSecured(.host))
        let welcome = SecureMessage.Welcome(
            isTrusted: true, methods: [], nonce: [UInt8](repeating: 5, count: 32), name: "bank\u{202E}")
        viewer.say(.welcome(welcome))
        #expect(viewer.events.last == .hostCallsItself("bank", known: "host", wasChosen: false))
        var random = SeededGenerator(seed: 1)
        let key = SealingKey(number: 1, random: &random)
        viewer.say(
            .session(
                SecureMessage.Session(
                    id: [UInt8](repeating: 1, count: 16), mediaPort: 5, isBroadcasting: true, viewerKey: key,
                    mediaKey: key)))
        let names = viewer.events.compactMap { event -> String? in
            if case .paired(_, let name, _, _) = event { name } else { nil }
        }
        #expect(names == ["host"])
        #expect(viewer.events.contains(.hostReached(.host)))
    }
}
