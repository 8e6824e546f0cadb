import BeamMedia
import BeamSession
import BeamWire
import Foundation
import Testing

@testable import BeamWeb

/// Pages' WebSockets by real sockets on loopback.
@Suite(.serialized)
struct SocketTests {
    private func close(_ told: Told) -> Bool { if case .closed = told { true } else { false } }

    @Test func aRightCodeGetsAnOffer() throws {
        let web = try TestWeb()
        let socket = try TestSocket(web.server.port)
        socket.send(hello())
        #expect(socket.message() == ["t": .string("in")])
        let offer = try #require(socket.message())
        #expect(offer["t"] == .string("offer"))
        let sdp = try #require(offer["sdp"]?.string)
        #expect(sdp.contains("m=video \(web.server.mediaPort) UDP/TLS/RTP/SAVPF 96") && sdp.contains("a=ice-lite"))
        guard case .opened(let id, let address)? = web.told.all.first,
            case .hello(let other, let hello)? = web.told.all.dropFirst().first
        else {
            Issue.record("\(web.told.all)")
            return
        }
        #expect(id == other && id.value > 1 << 62 && address == .v4(0x7F00_0001))
        #expect(hello == BrowserHello(code: PairingCode("482913"), kind: "Chrome on Linux"))
    }

    @Test func nothingIsOfferedBeforeTheCode() throws {
        let web = try TestWeb()
        let socket = try TestSocket(web.server.port)
        socket.send(hello(code: "000000"))
        #expect(socket.message() == ["t": .string("no")])
        socket.send(hello(code: "333333"))
        #expect(socket.message() == ["t": .string("no"), "pause": .number(2)])
        socket.send(hello(code: "482913"))
        #expect(socket.message()?["t"] == .string("in"))
        #expect(socket.message()?["t"] == .string("offer"))
    }

    @Test func aQuestionIsAnsweredLater() throws {
        let web = try TestWeb()
        let socket = try TestSocket(web.server.port)
        socket.send(hello(code: "111111"))
        #expect(socket.message() == ["t": .string("wait")])
        guard case .hello(let id, _)? = web.told.wait(for: { if case .hello = $0 { true } else { false } }) else {
            return
        }
        web.server.tell(.admitted(session: "s"), to: id)
        #expect(socket.message()?["t"] == .string("in"))
        #expect(socket.message()?["t"] == .string("offer"))
        // Sent away: the socket is closed, and the door is told once.
        web.server.tell(.refused(.sentAway, reason: "Away"), to: id)
        #expect(socket.message()?["t"] == .string("kicked"))
        #expect(socket.message() == nil)
        web.server.tell(.admitted(session: "s"), to: id)
        #expect(web.told.wait(for: close) != nil)
        #expect(web.server.figures.isEmpty)
        #expect(web.told.all.filter(close).count == 1)
    }

    @Test func aRefusalEndsTheSocket() throws {
        let web = try TestWeb()
        let socket = try TestSocket(web.server.port)
        socket.send(hello(code: "222222"))
        #expect(
            socket.message() == ["t": .string("refused"), "why": .string("declined"), "reason": .string("Declined")])
        #expect(socket.message() == nil)
        #expect(web.told.wait(for: close) != nil)
    }

    /// What isn't a page's gets no offer: the socket is closed, with a word or without.
    @Test(arguments: [
        "{}", "[", #"{"t":"answer","sdp":"v=0"}"#, #"{"t":"hello","v":2,"can":["webrtc"]}"#,
        #"{"t":"answer","sdp":1}"#, String(repeating: "[", count: 16384), #"{"t":"resume","token":"x"}"#,
    ])
    func otherMessagesAreRefused(_ text: String) throws {
        let web = try TestWeb()
        let socket = try TestSocket(web.server.port)
        socket.send(text)
        let message = socket.message()
        #expect(message?["why"] == .string("violation") || message?["t"] == .string("expired"))
        #expect(socket.message() == nil)
        #expect(web.told.all.allSatisfy { if case .hello = $0 { false } else { true } })
    }

    @Test func anUnknownDrawnNumberHasNoEffect() throws {
        let web = try TestWeb()
        let socket = try TestSocket(web.server.port)
        socket.send(#"{"t":"drawn","n":7}"#)
        socket.send(hello())
        #expect(socket.message()?["t"] == .string("in"))
    }

    @Test func framesThatNoBrowserSendsEndTheSocket() throws {
        let web = try TestWeb()
        let hello = Array(BeamWebTests.hello().utf8)
        let cases: [(String, (TestSocket) -> Void)] = [
            ("unmasked", { $0.send(first: 0x81, hello, isMasked: false) }),
            ("reserved bits", { $0.send(first: 0xC1, hello) }),
            ("binary", { $0.send(first: 0x82, hello) }),
            ("unknown opcode", { $0.send(first: 0x83, hello) }),
            ("continuation first", { $0.send(first: 0x80, hello) }),
            ("long", { $0.send(first: 0x81, [UInt8](repeating: 0x20, count: 16385)) }),
            ("huge length", { $0.connection.send([0x81, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) }),
            (
                "long in parts",
                { socket in
                    socket.send(first: 0x01, [UInt8](repeating: 0x20, count: 16384))
                    socket.send(first: 0x80, [0x20])
                }
            ),
            (
                "many empty parts",
                { socket in
                    socket.send(first: 0x01, [])
                    for _ in 0..<100 { socket.send(first: 0x00, []) }
                }
            ),
            (
                "a message within another",
                { socket in
                    socket.send(first: 0x01, [0x20])
                    socket.send(first: 0x81, hello)
                }
            ),
            ("a long ping", { $0.send(first: 0x89, [UInt8](repeating: 0, count: 126)) }),
            ("many", { socket in for _ in 0..<2000 { socket.send(#"{"t":"pong"}"#) } }),
        ]
        for (name, act) in cases {
            let socket = try TestSocket(web.server.port)
            act(socket)
            var isOver = false
            for _ in 0..<600 where !isOver { isOver = socket.next() == nil }
            #expect(isOver, "\(name)")
        }
        #expect(web.told.all.allSatisfy { if case .hello = $0 { false } else { true } })
    }

    @Test func aMessageMayComeInParts() throws {
        let web = try TestWeb()
        let socket = try TestSocket(web.server.port)
        let text = Array(hello().utf8)
        socket.send(first: 0x01, Array(text[..<5]))
        socket.send(first: 0x89, [1, 2, 3])
        socket.send(first: 0x00, Array(text[5..<9]))
        socket.send(first: 0x80, Array(text[9...]))
        #expect(socket.next() == TestSocket.Frame(opcode: 10, payload: [1, 2, 3]))
        #expect(socket.message()?["t"] == .string("in"))
    }

    @Test func aPageThatSaysGoodbyeHasLeft() throws {
        let web = try TestWeb()
        let socket = try TestSocket(web.server.port)
        socket.send(hello())
        #expect(socket.message()?["t"] == .string("in"))
        #expect(socket.message()?["t"] == .string("offer"))
        socket.send(first: 0x88, [0x03, 0xE9])
        #expect(socket.next()?.opcode == 8)
        #expect(web.told.wait(for: close) != nil)
    }

    @Test func theEndIsTold() throws {
        let web = try TestWeb()
        let socket = try TestSocket(web.server.port)
        socket.send(hello())
        #expect(socket.message()?["t"] == .string("in"))
        #expect(socket.message()?["t"] == .string("offer"))
        web.server.shutdown()
        #expect(socket.message()?["t"] == .string("ended"))
        #expect(socket.message() == nil)
    }

    @Test func unitsComeByTheSocket() throws {
        let web = try TestWeb(hasSound: true)
        let socket = try TestSocket(web.server.port)
        // Of this machine itself, which is a secure context without https.
        socket.send(hello(can: "codecs"))
        #expect(web.told.wait { if case .keyframe = $0 { true } else { false } } != nil)
        #expect(socket.message() == ["t": .string("in")])
        web.server.tellAll(.caption("Hello"))
        #expect(socket.message() == ["t": .string("caption"), "text": .string("Hello")])
        let frames = try CodedPictures(PixelSize(width: 322, height: 181)).frames(3)
        for frame in frames { web.server.submit(frame) }
        let stream = try #require(socket.message())
        #expect(stream["t"] == .string("stream") && stream["w"] == .number(322) && stream["h"] == .number(181))
        #expect(stream["codec"]?.string?.hasPrefix("avc1.") == true && stream["sound"] == .bool(true))
        for (number, frame) in frames.enumerated() {
            let unit = try #require(socket.next())
            #expect(unit.opcode == 2 && unit.payload[0] == (number == 0 ? 1 : 0) && unit.payload[4] == UInt8(number))
            #expect(unit.payload[13...].elementsEqual(frame.unit.avcc))
            socket.send(#"{"t":"drawn","n":\#(number)}"#)
        }
        #expect(web.server.figures.map(\.way) == [.units])
    }
}
