import BeamClock
import BeamMedia
import BeamSession
import Foundation
import Testing

@testable import BeamWeb
@testable import BeamWire

/// The UDP port by real sockets on loopback, against a browser of our own: ICE, DTLS, SRTP.
@Suite(.serialized)
struct MediaTests {
    @Test func picturesArriveAsTheyWereEncoded() throws {
        let web = try TestWeb()
        let browser = try MediaBrowser(web)
        try browser.connect()
        #expect(web.told.wait { if case .keyframe = $0 { true } else { false } } != nil)
        let pictures = try CodedPictures(PixelSize(width: 640, height: 360))
        let frames = try pictures.frames(20)
        for frame in frames {
            web.server.submit(frame)
            let expected = (frame.unit.parameterSets.map { $0.sps + $0.pps } ?? []) + frame.unit.nalUnits
            let arrived = try browser.picture()
            #expect(arrived == expected, "\(arrived.map(\.count)) instead of \(expected.map(\.count))")
        }
        #expect(web.server.figures.first?.way == .packetsGCM)
        #expect(web.server.figures.first?.stream?.frames == 20)
    }

    @Test func nothingUnauthenticIsAnswered() throws {
        let web = try TestWeb()
        let browser = try MediaBrowser(web)
        // A right name with a wrong password; a right request without an end; DTLS from somewhere.
        let port = try UDPPeer(web.server.mediaPort)
        var random = SystemRandomNumberGenerator()
        port.send(browser.request(password: "wrong"))
        port.send(Array(browser.request().dropLast(8)))
        var truncated = browser.request()
        truncated[20] ^= 1
        port.send(truncated)
        port.send([22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0])
        for _ in 0..<5000 {
            port.send(
                (0..<Int.random(in: 0...1400, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
        #expect(port.receive(milliseconds: 300) == nil)
        try browser.connect()
        #expect(web.told.wait { if case .keyframe = $0 { true } else { false } } != nil)
    }

    @Test func aBrowserWithAnotherCertificateGetsNothing() throws {
        let web = try TestWeb()
        let browser = try MediaBrowser(web, announces: [UInt8](repeating: 1, count: 32))
        #expect(throws: (any Error).self) { try browser.connect(seconds: 5) }
        #expect(browser.socket.message()?["t"] == .string("failed"))
        #expect(web.told.all.allSatisfy { if case .keyframe = $0 { false } else { true } })
    }

    @Test func lostPacketsAreSentAgainAndPicturesAskedFor() throws {
        let web = try TestWeb()
        let browser = try MediaBrowser(web)
        try browser.connect()
        let pictures = try CodedPictures(PixelSize(width: 640, height: 360))
        web.server.submit(try #require(try pictures.next()))
        _ = try browser.picture()
        let lost = try #require(browser.lastPacket)
        let sequence = UInt16(lost[2]) << 8 | UInt16(lost[3])
        // NACK (RFC 4585, 6.2.1), in a compound packet.
        browser.sendControl([0x81, 205, 0, 3], [UInt8(sequence >> 8), UInt8(sequence & 0xFF), 0, 0])
        #expect(try browser.packet(allowsRepeated: true) == lost)
        let before = web.told.all.count { if case .keyframe = $0 { true } else { false } }
        // PLI (6.3.1). The encoder isn't asked again within a second.
        usleep(1_200_000)
        browser.sendControl([0x81, 206, 0, 2], [])
        var seen = 0
        let asked = web.told.wait { told in
            if case .keyframe = told { seen += 1 }
            return seen > before
        }
        #expect(asked != nil)
    }

    @Test func packetsFollowTheBrowserToAnotherAddress() throws {
        let web = try TestWeb()
        let browser = try MediaBrowser(web)
        try browser.connect()
        let pictures = try CodedPictures(PixelSize(width: 320, height: 180))
        web.server.submit(try #require(try pictures.next()))
        _ = try browser.picture()
        try browser.move()
        web.server.submit(try #require(try pictures.next()))
        _ = try browser.picture()
    }

    /// Requests that only seem to come from another machine: nothing of the stream goes there.
    @Test func packetsGoNowhereThatTheBrowserDoesNotReceive() throws {
        let web = try TestWeb()
        let browser = try MediaBrowser(web)
        try browser.connect()
        let pictures = try CodedPictures(PixelSize(width: 320, height: 180))
        web.server.submit(try #require(try pictures.next()))
        _ = try browser.picture()
        let victim = try UDPPeer(web.server.mediaPort)
        for _ in 0..<5 { victim.send(browser.request()) }
        // Answers that know the transaction's length, but not the transaction.
        victim.send(browser.answer(to: [UInt8](repeating: 0, count: 40)))
        web.server.submit(try #require(try pictures.next()))
        _ = try browser.picture()
        var sizes: [Int] = []
        while let datagram = victim.receive(milliseconds: 300) {
            #expect(datagram[0] < 2, "only STUN goes there")
            sizes.append(datagram.count)
        }
        #expect(sizes.count == 10, "an answer and a request for each: \(sizes)")
    }

    /// Nor of the handshake, whose first flight is some kilobytes.
    @Test func noHandshakeGoesWhereTheBrowserDoesNotReceive() throws {
        let web = try TestWeb()
        let browser = try MediaBrowser(web)
        let victim = try UDPPeer(web.server.mediaPort)
        for _ in 0..<3 { victim.send(browser.request()) }
        browser.beginHandshake(from: victim)
        var sizes: [Int] = []
        while let datagram = victim.receive(milliseconds: 500) {
            #expect(datagram[0] < 2, "only STUN goes there")
            sizes.append(datagram.count)
        }
        // Those that came before the browser's answer get no request of the host's own but that at the answer.
        #expect((3...7).contains(sizes.count), "\(sizes)")
        #expect(sizes.reduce(0, +) < 800)
        try browser.connect()
        #expect(web.told.wait { if case .keyframe = $0 { true } else { false } } != nil)
    }

    /// A short request that brings a long one would be good for flooding others.
    @Test func aRequestOfAnotherBrowserNameIsNotAnswered() throws {
        let web = try TestWeb()
        let browser = try MediaBrowser(web)
        try browser.connect()
        let other = try UDPPeer(web.server.mediaPort)
        for name in ["", "a", "abce", "abcde"] { other.send(browser.request(as: name)) }
        #expect(other.receive(milliseconds: 300) == nil)
        other.send(browser.request())
        #expect(other.receive(milliseconds: 5000) != nil)
    }

    @Test func aBrowserThatLeavesIsForgotten() throws {
        let web = try TestWeb()
        let browser = try MediaBrowser(web)
        try browser.connect()
        browser.sayGoodbye()
        #expect(browser.socket.message()?["t"] == .string("failed"))
        #expect(web.told.wait { if case .closed = $0 { true } else { false } } != nil)
        #expect(web.server.figures.isEmpty)
    }
}

/// A UDP socket that is connected to the media port.
final class UDPPeer {
    let descriptor: Int32

    init(_ port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
        var size: Int32 = 4 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(4))
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) { _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    /// Nil if nothing comes in that time.
    func receive(milliseconds: Int32) -> [UInt8]? {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, milliseconds) > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count >= 0 ? Array(bytes[..<count]) : nil
    }
}

/// A browser of our own: the page's socket, ICE, DTLS as the client, SRTP.
final class MediaBrowser {
    struct Failure: Error, CustomStringConvertible { let description: String }

    let socket: TestSocket
    private var port: UDPPeer
    private let mediaPort: UInt16
    private let sdp: String
    private let connection: DTLSConnection
    private var session: SRTPSession?
    private var received: Set<UInt16> = []
    private var waiting: [[UInt8]] = []
    private(set) var lastPacket: [UInt8]?
    private var transaction: UInt8 = 0

    /// Enters, and answers the offer. - Parameter announces: a fingerprint in place of its own.
    init(_ web: TestWeb, announces: [UInt8]? = nil) throws {
        mediaPort = web.server.mediaPort
        socket = try TestSocket(web.server.port)
        socket.send(hello())
        #expect(socket.message()?["t"] == .string("in"))
        sdp = try #require(socket.message()?["sdp"]?.string)
        let identity = try DTLSIdentity()
        let theirs = try Self.line("a=fingerprint:sha-256 ", in: sdp).split(separator: ":").map {
            try #require(UInt8($0, radix: 16))
        }
        connection = try #require(DTLSConnection(identity, .client, peer: theirs))
        port = try UDPPeer(mediaPort)
        let own = (announces ?? identity.fingerprint).map { String(format: "%02X", $0) }.joined(separator: ":")
        let answer = """
            v=0
            o=- 2 2 IN IP4 127.0.0.1
            s=-
            t=0 0
            a=group:BUNDLE v
            m=video 9 UDP/TLS/RTP/SAVPF 96
            c=IN IP4 0.0.0.0
            a=ice-ufrag:abcd
            a=ice-pwd:abcdefghijklmnopqrstuvwx
            a=fingerprint:sha-256 \(own)
            a=setup:active
            a=mid:v
            a=recvonly
            a=rtcp-mux
            a=rtpmap:96 H264/90000

            """.replacing("\n", with: "\r\n")
        let message = try JSONEncoder().encode(["t": "answer", "sdp": answer])
        socket.send(String(decoding: message, as: UTF8.self))
    }

    private static func line(_ start: String, in sdp: String) throws -> String {
        let line = sdp.components(separatedBy: "\r\n").first { $0.hasPrefix(start) }
        return String(try #require(line).dropFirst(start.count))
    }

    /// A binding request (RFC 8445, 7.2) that nominates.
    func request(as own: String = "abcd", password: String? = nil) -> [UInt8] {
        transaction += 1
        let name = ((try? Self.line("a=ice-ufrag:", in: sdp)) ?? "") + ":" + own
        var message: [UInt8] = [0, 1, 0, 0]
        message.append(bigEndian: STUN.cookie)
        message += [UInt8](repeating: transaction, count: 12)
        message += [0, 6, 0, UInt8(name.utf8.count)] + Array(name.utf8)
        message += [UInt8](repeating: 0, count: -name.utf8.count & 3)
        message += [0, 0x25, 0, 0]
        STUN.seal(&message, password: password ?? (try? Self.line("a=ice-pwd:", in: sdp)) ?? "")
        return message
    }

    /// Until SRTP's keys are there.
    func connect(seconds: Double = 30) throws {
        port.send(request())
        try answerCheck()
        connection.receive(UnsafeRawBufferPointer(start: nil, count: 0))
        let end = Date(timeIntervalSinceNow: seconds)
        while connection.state == .handshaking, Date() < end {
            connection.takeDatagrams { port.send(Array($0)) }
            if let datagram = port.receive(milliseconds: 50) {
                datagram.withUnsafeBytes { connection.receive($0) }
            } else if (connection.timeout ?? .seconds(1)) <= .zero {
                connection.timeOut()
            }
        }
        connection.takeDatagrams { port.send(Array($0)) }
        guard connection.state == .established, let session = SRTPSession(connection) else {
            throw Failure(description: "the handshake has ended in \(connection.state)")
        }
        self.session = session
    }

    /// Sends the handshake's first message from another socket.
    func beginHandshake(from peer: UDPPeer) {
        connection.receive(UnsafeRawBufferPointer(start: nil, count: 0))
        connection.takeDatagrams { peer.send(Array($0)) }
    }

    func sayGoodbye() {
        connection.close()
        connection.takeDatagrams { port.send(Array($0)) }
    }

    /// Another address from now on: asks there, and answers what the host asks back.
    func move() throws {
        port = try UDPPeer(mediaPort)
        port.send(request())
        try answerCheck()
    }

    /// Waits for the host's request, and answers it.
    private func answerCheck() throws {
        while let datagram = port.receive(milliseconds: 10_000) {
            guard datagram[0] == 0, datagram[1] == 1 else { continue }
            return port.send(answer(to: datagram))
        }
        throw Failure(description: "the host doesn't ask whether the browser receives there")
    }

    /// A binding answer of the browser to a request of the host (RFC 8445, 7.3).
    func answer(to request: [UInt8]) -> [UInt8] {
        var message: [UInt8] = [1, 1, 0, 0] + request[4..<20]
        message += [0, 0x20, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0]
        STUN.seal(&message, password: "abcdefghijklmnopqrstuvwx")
        return message
    }

    /// A compound packet: an empty receiver report, and a feedback message (RFC 4585, 6.1) about the host's video.
    func sendControl(_ head: [UInt8], _ content: [UInt8]) {
        guard let source = (try? Self.line("a=ssrc:", in: sdp))?.split(separator: " ").first.flatMap({ UInt32($0) })
        else {
            return
        }
        var packet: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, 9] + head + [0, 0, 0, 9]
        packet.append(bigEndian: source)
        packet += content
        let count = packet.count
        packet += [UInt8](repeating: 0, count: SRTPSession.overhead)
        let length = packet.withUnsafeMutableBytes { session?.protect(.control, $0, count: count) } ?? 0
        port.send(Array(packet[..<length]))
    }

    /// The next RTP packet, in the clear.
    func packet(allowsRepeated: Bool = false) throws -> [UInt8] {
        while true {
            guard var datagram = port.receive(milliseconds: 20_000) else {
                throw Failure(description: "no packet arrives after \(received.sorted())")
            }
            guard datagram.count > 12, datagram[0] >> 6 == 2, !(192...223).contains(datagram[1]) else { continue }
            let sequence = UInt16(datagram[2]) << 8 | UInt16(datagram[3])
            // One that is sent again is the same, and libsrtp doesn't open it twice.
            if received.contains(sequence) {
                guard allowsRepeated, let lastPacket else { continue }
                return lastPacket
            }
            guard let session,
                let clear = datagram.withUnsafeMutableBytes({ session.open(.media, $0).map { Array($0) } })
            else { throw Failure(description: "a packet isn't authentic") }
            received.insert(sequence)
            lastPacket = clear
            return clear
        }
    }

    /// The NAL units of the next picture (RFC 6184: single ones, and FU-A).
    func picture() throws -> [[UInt8]] {
        var units: [[UInt8]] = []
        while true {
            let packet = try packet()
            var start = 12
            if packet[0] & 0x10 != 0 { start += 4 + (Int(packet[14]) << 8 | Int(packet[15])) * 4 }
            let payload = packet[start...]
            guard let first = payload.first else { continue }
            if first & 0x1F == 28 {
                let head = payload[payload.startIndex + 1]
                if head & 0x80 != 0 { units.append([first & 0xE0 | head & 0x1F]) }
                units[units.count - 1] += payload.dropFirst(2)
            } else {
                units.append(Array(payload))
            }
            if packet[1] & 0x80 != 0 { return units }
        }
    }
}

extension AccessUnit {
    var nalUnits: [[UInt8]] {
        var rest = avcc
        var units: [[UInt8]] = []
        while rest.count > 4 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            units.append(Array(rest.dropFirst(4).prefix(length)))
            rest = rest.dropFirst(4 + length)
        }
        return units
    }
}
