import Glibc
import Testing

@testable import BeamWeb
@testable import BeamWire

/// DTLS and SRTP, the host's side against a browser's side of our own, in memory.
struct DTLSTests {
    private final class Pair {
        let host: DTLSConnection
        let browser: DTLSConnection

        init(hostExpects: [UInt8]? = nil, browserExpects: [UInt8]? = nil) throws {
            let (one, other) = (try DTLSIdentity(), try DTLSIdentity())
            host = try #require(DTLSConnection(one, .server, peer: hostExpects ?? other.fingerprint))
            browser = try #require(DTLSConnection(other, .client, peer: browserExpects ?? one.fingerprint))
        }

        /// Carries datagrams until none is left; `isLost` drops some.
        func run(isLost: (_ number: Int) -> Bool = { _ in false }) {
            var number = 0
            browser.receive(UnsafeRawBufferPointer(start: nil, count: 0))
            for _ in 0..<200 {
                var isQuiet = true
                for (from, to) in [(browser, host), (host, browser)] {
                    var datagrams: [[UInt8]] = []
                    from.takeDatagrams { datagrams.append(Array($0)) }
                    for datagram in datagrams {
                        isQuiet = false
                        number += 1
                        #expect(datagram.count <= 1200)
                        if !isLost(number) { datagram.withUnsafeBytes { to.receive($0) } }
                    }
                }
                guard isQuiet else { continue }
                guard host.state == .handshaking || browser.state == .handshaking else { return }
                let waits = [host.timeout, browser.timeout].compactMap { $0 }
                guard let wait = waits.min() else { return }
                usleep(UInt32(clamping: wait.inNanoseconds / 1000 + 1000))
                for side in [host, browser] where (side.timeout ?? .seconds(1)) <= .zero { side.timeOut() }
            }
        }
    }

    @Test func bothProveTheirCertificates() throws {
        let pair = try Pair()
        pair.run()
        #expect(pair.host.state == .established && pair.browser.state == .established)
        // The host is told when the browser leaves.
        pair.browser.close()
        pair.browser.takeDatagrams { pair.host.receive($0) }
        #expect(pair.host.state == .closed)
    }

    @Test func anotherCertificateIsRefusedBeforeThereAreKeys() throws {
        let wrong = [UInt8](repeating: 7, count: 32)
        let pair = try Pair(hostExpects: wrong)
        pair.run()
        #expect(pair.host.state == .failed && pair.browser.state != .established)
        #expect(SRTPSession(pair.host) == nil)
        let other = try Pair(browserExpects: wrong)
        other.run()
        #expect(other.host.state != .established)
        #expect(DTLSConnection(try DTLSIdentity(), .server, peer: [1, 2]) == nil)
    }

    /// A third of all datagrams is lost, one or several of each flight.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func lostDatagramsAreSentAgain(_ seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        let pair = try Pair()
        pair.run { _ in Int.random(in: 0..<3, using: &random) == 0 }
        #expect(pair.host.state == .established && pair.browser.state == .established)
    }

    @Test func garbageDoesNotEndAHandshake() throws {
        let pair = try Pair()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let datagram = (0..<Int.random(in: 1...1500, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            datagram.withUnsafeBytes { pair.host.receive($0) }
            var answered = 0
            pair.host.takeDatagrams { answered += $0.count }
            #expect(answered <= 100)
        }
        pair.run()
        #expect(pair.host.state == .established || pair.host.state == .failed)
    }

    private func sessions() throws -> (host: SRTPSession, browser: SRTPSession, Pair) {
        let pair = try Pair()
        pair.run()
        return (try #require(SRTPSession(pair.host)), try #require(SRTPSession(pair.browser)), pair)
    }

    private func packet(_ sequence: UInt16, source: UInt32 = 77, count: Int = 500) -> [UInt8] {
        var bytes: [UInt8] = [0x80, 96, UInt8(sequence >> 8), UInt8(sequence & 0xFF), 0, 0, 0, 1]
        bytes.append(bigEndian: source)
        return bytes + (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    }

    private func protect(_ session: SRTPSession, _ kind: SRTPSession.Kind, _ clear: [UInt8]) throws -> [UInt8] {
        var memory = clear + [UInt8](repeating: 0, count: SRTPSession.overhead)
        let count = memory.withUnsafeMutableBytes { session.protect(kind, $0, count: clear.count) }
        return Array(memory[..<(try #require(count))])
    }

    private func open(_ session: SRTPSession, _ kind: SRTPSession.Kind, _ bytes: [UInt8]) -> [UInt8]? {
        var bytes = bytes
        return bytes.withUnsafeMutableBytes { session.open(kind, $0).map { Array($0) } }
    }

    @Test func packetsAreProtectedAndOpened() throws {
        let (host, browser, pair) = try sessions()
        #expect(host.usesGCM && browser.usesGCM)
        let clear = packet(5)
        let sealed = try protect(host, .media, clear)
        #expect(sealed.count == clear.count + 16 && !sealed[12...].starts(with: clear[12...]))
        #expect(open(browser, .media, sealed) == clear)
        // A second time it isn't taken; protected again, to be sent again, it is the same.
        #expect(open(browser, .media, sealed) == nil)
        #expect(try protect(host, .media, packet(6)) != sealed)
        #expect(try protect(host, .media, clear) == sealed)
        var forged = try protect(host, .media, packet(7))
        forged[20] ^= 1
        #expect(open(browser, .media, forged) == nil)
        withExtendedLifetime(pair) {}
    }

    @Test func reportsComeBack() throws {
        let (host, browser, pair) = try sessions()
        let report: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, 9]
        let sealed = try protect(browser, .control, report)
        #expect(open(host, .control, sealed) == report)
        #expect(open(host, .control, sealed) == nil)
        // Each source costs memory: not any number of them.
        var opened = 0
        for source in 0..<100 {
            let next = try protect(browser, .control, [0x80, 201, 0, 1, 1, 0, 0, UInt8(source)])
            if open(host, .control, next) != nil { opened += 1 }
        }
        #expect(opened == 7)
        withExtendedLifetime(pair) {}
    }
}
