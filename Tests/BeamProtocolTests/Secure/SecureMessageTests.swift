import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Version 2's control messages, byte by byte.
struct SecureMessageTests {
    private static let nonce = (0..<32).map { UInt8($0) }
    private static let key = SealingKey(number: 0x0102, key: (16..<32).map { UInt8($0) }, salt: [1, 2, 3, 4])!

    /// Messages, and their bytes or the beginning of these.
    private static let golden: [(SecureMessage, [UInt8])] = [
        (
            .hello(SecureMessage.Hello(instance: 0x0102_0304_0506_0708, name: "Zoë")),
            [1, 0, 2, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 4, 0x5A, 0x6F, 0xC3, 0xAB]
        ),
        (
            .hello(
                SecureMessage.Hello(
                    features: .probes, instance: 1, name: "a",
                    bounds: PictureBounds(sides: PixelSize(width: 8192, height: 4352), area: 0x0100_0002))),
            [1, 0, 2, 0, 0, 0, 0x22, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x61, 0x20, 0, 0x11, 0, 1, 0, 0, 2]
        ),
        (
            .welcome(
                SecureMessage.Welcome(isTrusted: true, methods: [.code, .compare], nonce: nonce, name: "a")),
            [2, 0, 2, 0, 0, 0, 0, 1, 3] + nonce + [0, 1, 0x61]
        ),
        (.join, [3]),
        (
            .session(
                SecureMessage.Session(
                    id: Array(nonce[..<16]), mediaPort: 52346, isBroadcasting: true, viewerKey: key, mediaKey: key)),
            [4] + nonce[..<16] + [0xCC, 0x7A, 1] + [1, 2] + (16..<32).map { UInt8($0) } + [1, 2, 3, 4] + [1, 2]
                + (16..<32).map { UInt8($0) } + [1, 2, 3, 4]
        ),
        (.codeShare(nonce), [0x10] + nonce), (.codeConfirm(nonce + nonce), [0x11] + nonce + nonce),
        (.codeWait(8000), [0x12, 0, 0, 0x1F, 0x40]), (.compareCommit(nonce), [0x13] + nonce),
        (.compareNonce(nonce, digits: 9), [0x14] + nonce + [9]), (.compareReveal(nonce), [0x15] + nonce),
        (.paired(isRemembered: true), [0x16, 1]),
        (.mediaKey(key), [0x20, 1, 2] + (16..<32).map { UInt8($0) } + [1, 2, 3, 4]),
        (.mediaKeyReady(258), [0x21, 1, 2]), (.mediaPort(52346), [0x22, 0xCC, 0x7A]), (.broadcast(false), [0x23, 0]),
        (.sourceVisibility(.windowHidden), [0x24, 0, 0]), (.sourceVisibility(.monitorOff), [0x24, 0, 1]),
        (.sourceVisibility(.regionOutside), [0x24, 0, 2]), (.sourceVisibility(.visible), [0x24, 1, 0]),
        (.sourceVisibility(.screenLocked), [0x24, 0, 3]), (.sourceVisibility(.consentAwaited), [0x24, 0, 4]),
        (.sourceVisibility(.hostLost), [0x24, 0, 5]), (.sourceVisibility(.hostEnded), [0x24, 0, 6]),
        (.shownSize(width: 480, height: 270), [0x25, 1, 0xE0, 1, 0x0E]),
        (.patchTakers([]), [0x29, 0]), (.patchTakers([.exact, .video]), [0x29, 3]),
        (.patchTakers([.exact, .losing]), [0x29, 5]),
        (.qualityWanted(.any), [0x28, 0, 0, 0, 0, 0, 0, 0, 0]),
        (
            .qualityWanted(QualityWish(maxSize: 1280, bitRate: 2_000_000, frameRate: 29.97)),
            [0x28, 5, 0, 0, 0x1E, 0x84, 0x80, 0x0B, 0xB5]
        ),
        (.fullSize(width: 7680, height: 2160), [0x27, 0x1E, 0, 8, 0x70]),
        (.ping(1), [0x30, 0, 0, 0, 0, 0, 0, 0, 1]),
        (.pong(256, clock: 1), [0x31, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        (.refused(.wrongCode, "no"), [0x3E, 0, 3, 0, 2, 0x6E, 0x6F]), (.bye("end"), [0x3F, 0, 3, 0x65, 0x6E, 0x64]),
    ]

    @Test func goldenBytes() throws {
        for (message, bytes) in Self.golden {
            #expect(message.bytes == bytes)
            #expect(try SecureMessage(bytes) == message)
        }
    }

    /// A viewer that takes no pixel is refused, and so is one whose bounds are cut off.
    @Test func boundsOfPicturesAreChecked() {
        let hello: [UInt8] = [1, 0, 2, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x61]
        for bounds: [UInt8] in [
            [], [0x20, 0, 0x11], [0, 0, 0x11, 0, 1, 0, 0, 2], [0x20, 0, 0, 0, 1, 0, 0, 2],
            [0x20, 0, 0x11, 0, 0, 0, 0, 0],
        ] {
            #expect(throws: SecureMessageError.self) { try SecureMessage(hello + bounds) }
        }
        #expect(throws: Never.self) { try SecureMessage(hello + [0, 1, 0, 1, 0, 0, 0, 1]) }
    }

    /// Bits of later versions are left out.
    @Test func takersOfPatchesAreThoseThatAreKnown() throws {
        #expect(try SecureMessage([0x29, 0xF9]) == .patchTakers(.exact))
        #expect(try SecureMessage([0x29, 0xFD]) == .patchTakers([.exact, .losing]))
        #expect(throws: SecureMessageError.truncated(kind: 0x29)) { try SecureMessage([0x29]) }
    }

    /// Whatever a viewer wishes is bounded where it is read.
    @Test func wishesAreBounded() throws {
        let cases: [([UInt8], QualityWish)] = [
            (
                [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
                QualityWish(maxSize: 8192, bitRate: 1_000_000_000, frameRate: 240)
            ),
            ([0, 1, 0, 0, 0, 1, 0, 1], QualityWish(maxSize: 16, bitRate: 128_000, frameRate: 1)),
        ]
        for (fields, wish) in cases { #expect(try SecureMessage([0x28] + fields) == .qualityWanted(wish)) }
        for count in 0..<8 {
            #expect(throws: SecureMessageError.self) {
                try SecureMessage([0x28] + [UInt8](repeating: 1, count: count))
            }
        }
        #expect(
            QualityWish(maxSize: .min, bitRate: .max, frameRate: .nan)
                == QualityWish(maxSize: 16, bitRate: 1_000_000_000))
        #expect(QualityWish(frameRate: -.infinity).frameRate == 1 && QualityWish(frameRate: .infinity).frameRate == 240)
    }

    @Test func bytesOfALaterVersionAreIgnored() throws {
        for (message, bytes) in Self.golden { #expect(try SecureMessage(bytes + [1, 2, 3]) == message) }
        #expect(try SecureMessage([0x7F, 1, 2]) == .unknown(0x7F))
    }

    @Test(arguments: [[], [7], [0xFF]] as [[UInt8]])
    func withoutAKnownReasonAWindowIsHidden(rest: [UInt8]) throws {
        #expect(try SecureMessage([0x24, 0] + rest) == .sourceVisibility(.windowHidden))
        #expect(try SecureMessage([0x24, 1] + rest) == .sourceVisibility(.visible))
    }

    @Test func truncatedMessagesAreRefused() {
        for (_, bytes) in Self.golden {
            // The reason why something is hidden came later: older programs leave it out.
            for count in 1..<max(1, bytes.count) where (bytes[0], count) != (0x24, 2) {
                #expect(throws: SecureMessageError.truncated(kind: bytes[0])) {
                    try SecureMessage(Array(bytes[..<count]))
                }
            }
        }
        #expect(throws: SecureMessageError.empty) { try SecureMessage([]) }
    }

    @Test func invalidValuesAreRefused() {
        for bytes: [UInt8] in [
            [0x22, 0, 0], [0x23, 2], [0x24, 2], [0x25, 1, 0xE0, 1], [0x16, 0xFF], [0x3F, 0, 1, 0x07],
            [0x3F, 0, 1, 0xFF],
            [0x3F, 0, 1, 0x0A],
            [0x3F, 1, 0] + [UInt8](repeating: 0x61, count: 256),
        ] {
            #expect(throws: SecureMessageError.self) { try SecureMessage(bytes) }
        }
    }

    @Test func textsAreTruncatedAndCleaned() throws {
        let long = String(repeating: "ä", count: 200)
        guard case .bye(let text) = try SecureMessage(SecureMessage.bye("a\n\u{1B}[2J" + long).bytes) else { return }
        #expect(text.hasPrefix("a[2Jä") && text.utf8.count <= 255)
    }

    @Test func descriptionsHaveNoSecrets() {
        var text = ""
        dump(Self.key, to: &text)
        #expect(!"\(Self.key) \(String(reflecting: Self.key)) \(text)".contains("16, 17"))
    }
}
