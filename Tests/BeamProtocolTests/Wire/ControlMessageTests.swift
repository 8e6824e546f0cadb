import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The control plane's lines in version 1, written by hand.
struct ControlMessageTests {
    static let golden: [(ControlMessage, String)] = [
        (
            .handshake(ControlMessage.Handshake(app: "beamroom", version: 1, role: "viewer", code: "482913")),
            #"{"app":"beamroom","ver":1,"role":"viewer","code":"482913"}"#
        ),
        (
            .reply(
                ControlMessage.Reply(
                    isAccepted: true, session: "0E984725-C51C-4BF4-9960-E1C80E27ABA0", mediaPort: 52346)),
            #"{"ok":true,"sessionID":"0E984725-C51C-4BF4-9960-E1C80E27ABA0","udpPort":52346,"message":null}"#
        ),
        (
            .reply(ControlMessage.Reply(isAccepted: true, session: "S", message: "Already paired")),
            #"{"ok":true,"sessionID":"S","message":"Already paired"}"#
        ),
        (
            .reply(ControlMessage.Reply(isAccepted: true, session: "S", mediaPort: 1, deviceName: "Ann's \"box\"")),
            #"{"ok":true,"sessionID":"S","udpPort":1,"message":null,"deviceName":"Ann's \"box\""}"#
        ),
        (
            .reply(ControlMessage.Reply(isAccepted: false, message: "Declined")),
            #"{"ok":false,"message":"Declined"}"#
        ),
        (.mediaPort(52346), #"{"udpPort":52346}"#),
        (.broadcast(true), #"{"on":true}"#),
        (.broadcast(false), #"{"on":false}"#),
        (.heartbeat, #"{"hb":1}"#),
        (.mediaSource(40123), #"{"mediaSource":40123}"#),
    ]

    @Test func messagesAreWrittenAndRead() throws {
        for (message, text) in Self.golden {
            #expect(String(decoding: message.line, as: UTF8.self) == text + "\n")
            #expect(try ControlMessage(line: Array(text.utf8)[...]) == message)
        }
    }

    private func read(_ text: String) throws -> ControlMessage { try ControlMessage(line: Array(text.utf8)[...]) }

    @Test func keysAreReadInTheProtocolsOrder() throws {
        #expect(try read(#"{"app":"beamroom","hb":1,"udpPort":7,"ok":true,"on":false}"#) == .broadcast(false))
        #expect(
            try read(#"{"app":"beamroom","hb":1,"udpPort":7,"ok":false}"#)
                == .reply(ControlMessage.Reply(isAccepted: false, mediaPort: 7)))
        #expect(try read(#"{"app":"beamroom","hb":1,"udpPort":7}"#) == .mediaPort(7))
        #expect(try read(#"{"app":"beamroom","hb":1}"#) == .heartbeat)
        #expect(try read(#"{"on":null,"hb":1}"#) == .heartbeat)
    }

    @Test(arguments: [
        "", "   ", "{}", "[]", "3", "null", #""on""#, #"{"future":{"on":true}}"#, #"[{"on":true}]"#, #"{"On":true}"#,
        #"{"mediaSource":null}"#,
    ])
    func unknownMessagesAreIgnored(_ text: String) throws {
        #expect(try read(text) == .unknown)
    }

    @Test func unknownKeysAreIgnored() throws {
        #expect(try read(#"{"hb":1,"load":0.5,"nested":{"a":[1,2]}}"#) == .heartbeat)
        #expect(
            try read(#" { "ver" : 1 , "app" : "beamroom" } "#)
                == .handshake(ControlMessage.Handshake(app: "beamroom", version: 1, role: nil, code: nil)))
        #expect(try read(#"{"app":"b\u00e9\ud83d\ude00"}"#).line == Array("{\"app\":\"bé😀\"}\n".utf8))
    }

    @Test(arguments: [
        (#"{"on":1}"#, "on"), (#"{"on":"true"}"#, "on"), (#"{"ok":"yes"}"#, "ok"), (#"{"udpPort":0}"#, "udpPort"),
        (#"{"udpPort":65536}"#, "udpPort"), (#"{"udpPort":-1}"#, "udpPort"), (#"{"udpPort":1.5}"#, "udpPort"),
        (#"{"udpPort":"52346"}"#, "udpPort"), (#"{"udpPort":1e99}"#, "udpPort"), (#"{"hb":"x"}"#, "hb"),
        (#"{"app":7}"#, "app"), (#"{"app":"beamroom","ver":"1"}"#, "ver"),
        (#"{"app":"beamroom","ver":99999999999999999999}"#, "ver"), (#"{"ok":true,"sessionID":5}"#, "sessionID"),
        (#"{"ok":true,"udpPort":0}"#, "udpPort"), (#"{"mediaSource":0}"#, "mediaSource"),
    ])
    func wrongValuesOfKnownKeysAreRefused(_ text: String, key: String) {
        #expect(throws: ControlMessageError.value(key: key)) { try read(text) }
    }

    @Test(arguments: ["{", "}", #"{"on":true"#, #"{"on":tru}"#, "nonsense", #"{"on" true}"#, "\u{0}{}"])
    func malformedLinesAreRefused(_ text: String) {
        #expect(throws: ControlMessageError.notJSON) { try read(text) }
    }

    @Test func onlyUTF8IsRead() {
        let utf16 = Array(#"{"on":true}"#.utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        for bytes in [utf16, [0xFF, 0xFE] + utf16, [0x22, 0xC3, 0x28, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] {
            #expect(throws: ControlMessageError.notJSON) { try ControlMessage(line: bytes[...]) }
        }
    }

    @Test func deepNestingDoesNoHarm() {
        for bracket in ["[", #"{"a":"#] {
            let text = String(repeating: bracket, count: 4096 / bracket.utf8.count)
            #expect(throws: ControlMessageError.notJSON) { try read(text) }
            #expect(throws: ControlMessageError.notJSON) { try read(#"{"on":"# + text.dropLast(8)) }
        }
        let closed = String(repeating: "[", count: 2040) + String(repeating: "]", count: 2040)
        #expect(throws: ControlMessageError.notJSON) { try read(closed) }
    }

    @Test func controlCharactersAreEscaped() throws {
        let reply = ControlMessage.reply(ControlMessage.Reply(isAccepted: false, message: "a\n\t\\\u{1}b"))
        #expect(
            String(decoding: reply.line, as: UTF8.self)
                == "{\"ok\":false,\"message\":\"a\\u000a\\u0009\\\\\\u0001b\"}\n")
        #expect(try ControlMessage(line: reply.line.dropLast()) == reply)
    }

    @Test func codesAreSixDigits() {
        #expect(PairingCode("000000")?.description == "000000")
        for text in ["", "12345", "1234567", "12345a", "１２３４５６", " 12345", "-12345"] {
            #expect(PairingCode(text) == nil)
        }
        var random = SeededGenerator(seed: 5)
        let codes = (0..<200).map { _ in PairingCode.random(using: &random) }
        #expect(codes.allSatisfy { PairingCode($0.description) == $0 })
        #expect(Set(codes).count > 190)
        #expect(Set(codes.compactMap(\.description.first)).count == 10)
    }
}
