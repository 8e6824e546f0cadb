import BeamMedia
import Testing

@testable import BeamWire

/// STUN against the test vectors of RFC 5769.
struct STUNTests {
    static let password = "VOkJxbRl1RmTxUk/WvJxBt"

    private static func joined(_ rows: [[UInt8]]) -> [UInt8] { Array(rows.joined()) }

    /// 2.1: a request from `evtj:h6vY`, with SOFTWARE, PRIORITY and ICE-CONTROLLED.
    static let request: [UInt8] = Self.joined([
        [0x00, 0x01, 0x00, 0x58, 0x21, 0x12, 0xA4, 0x42, 0xB7, 0xE7, 0xA7, 0x01, 0xBC, 0x34, 0xD6, 0x86],
        [0xFA, 0x87, 0xDF, 0xAE, 0x80, 0x22, 0x00, 0x10, 0x53, 0x54, 0x55, 0x4E, 0x20, 0x74, 0x65, 0x73],
        [0x74, 0x20, 0x63, 0x6C, 0x69, 0x65, 0x6E, 0x74, 0x00, 0x24, 0x00, 0x04, 0x6E, 0x00, 0x01, 0xFF],
        [0x80, 0x29, 0x00, 0x08, 0x93, 0x2F, 0xF9, 0xB1, 0x51, 0x26, 0x3B, 0x36, 0x00, 0x06, 0x00, 0x09],
        [0x65, 0x76, 0x74, 0x6A, 0x3A, 0x68, 0x36, 0x76, 0x59, 0x20, 0x20, 0x20, 0x00, 0x08, 0x00, 0x14],
        [0x9A, 0xEA, 0xA7, 0x0C, 0xBF, 0xD8, 0xCB, 0x56, 0x78, 0x1E, 0xF2, 0xB5, 0xB2, 0xD3, 0xF2, 0x49],
        [0xC1, 0xB5, 0x71, 0xA2, 0x80, 0x28, 0x00, 0x04, 0xE5, 0x7A, 0x3B, 0xCF],
    ])

    private static let responseHead: [UInt8] = Self.joined([
        [0x21, 0x12, 0xA4, 0x42, 0xB7, 0xE7, 0xA7, 0x01, 0xBC, 0x34, 0xD6, 0x86, 0xFA, 0x87, 0xDF, 0xAE],
        [0x80, 0x22, 0x00, 0x0B, 0x74, 0x65, 0x73, 0x74, 0x20, 0x76, 0x65, 0x63, 0x74, 0x6F, 0x72, 0x20],
    ])

    /// 2.2: its answer, for 192.0.2.1 port 32853.
    private static let response4: [UInt8] = Self.joined([
        [0x01, 0x01, 0x00, 0x3C],
        responseHead,
        [0x00, 0x20, 0x00, 0x08, 0x00, 0x01, 0xA1, 0x47, 0xE1, 0x12, 0xA6, 0x43, 0x00, 0x08, 0x00, 0x14],
        [0x2B, 0x91, 0xF5, 0x99, 0xFD, 0x9E, 0x90, 0xC3, 0x8C, 0x74, 0x89, 0xF9, 0x2A, 0xF9, 0xBA, 0x53],
        [0xF0, 0x6B, 0xE7, 0xD7, 0x80, 0x28, 0x00, 0x04, 0xC0, 0x7D, 0x4C, 0x96],
    ])

    /// 2.3: for 2001:db8:1234:5678:11:2233:4455:6677.
    private static let response6: [UInt8] = Self.joined([
        [0x01, 0x01, 0x00, 0x48],
        responseHead,
        [0x00, 0x20, 0x00, 0x14, 0x00, 0x02, 0xA1, 0x47, 0x01, 0x13, 0xA9, 0xFA, 0xA5, 0xD3, 0xF1, 0x79],
        [0xBC, 0x25, 0xF4, 0xB5, 0xBE, 0xD2, 0xB9, 0xD9, 0x00, 0x08, 0x00, 0x14, 0xA3, 0x82, 0x95, 0x4E],
        [0x4B, 0xE6, 0x7B, 0xF1, 0x17, 0x84, 0xC9, 0x7C, 0x82, 0x92, 0xC2, 0x75, 0xBF, 0xE3, 0xED, 0x41],
        [0x80, 0x28, 0x00, 0x04, 0xC8, 0xFB, 0x0B, 0x4C],
    ])

    static func parse(_ bytes: [UInt8]) throws -> STUNRequest { try bytes.withUnsafeBytes { try STUNRequest($0) } }

    static func isAuthentic(_ bytes: [UInt8], password: String = password) throws -> Bool {
        let request = try parse(bytes)
        return bytes.withUnsafeBytes { request.isAuthentic($0, password: password) }
    }

    @Test func theSampleRequestIsReadAndAuthentic() throws {
        #expect(Self.request.withUnsafeBytes { STUN.isMessage($0) })
        let request = try Self.parse(Self.request)
        #expect(request.name == "evtj" && !request.nominates)
        #expect(request.transaction == Array(Self.request[8..<20]))
        #expect(try Self.isAuthentic(Self.request))
        #expect(try !Self.isAuthentic(Self.request, password: "VOkJxbRl1RmTxUk/WvJxBu"))
    }

    /// The vectors' attributes are the same but for SOFTWARE, which isn't sent; integrity and fingerprint are made as there.
    @Test func theSampleAnswersAreMade() throws {
        let request = try Self.parse(Self.request)
        let v6 = NetworkAddress(
            ip: .v6(high: 0x2001_0DB8_1234_5678, low: 0x0011_2233_4455_6677, scope: 3), port: 32853)
        let v4 = NetworkAddress(ip: .v4(0xC000_0201), port: 32853)
        for (vector, address, length) in [(Self.response4, v4, 12), (Self.response6, v6, 24)] {
            var message = Array(vector.dropLast(32))
            STUN.seal(&message, password: Self.password)
            #expect(message == vector)
            let answer = request.answer(from: address, password: Self.password)
            #expect(answer[..<2] == [1, 1] && answer[4..<20] == vector[4..<20])
            #expect(Array(answer[20..<20 + length]) == Array(vector[36..<36 + length]))
            var bare = Array(answer.dropLast(32))
            STUN.seal(&bare, password: Self.password)
            #expect(bare == answer && answer.count <= Self.request.count)
        }
    }

    @Test func everyChangedBitIsNoticed() {
        // Without the fingerprint, so that it is the code that notices.
        var request = Array(Self.request.dropLast(8))
        request[3] -= 8
        for bit in 0..<request.count * 8 {
            var bytes = request
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect((try? Self.isAuthentic(bytes)) != true, "bit \(bit)")
        }
    }

    /// Without a fingerprint a request counts; what stands behind its code doesn't.
    @Test func whatIsBehindTheCodeDoesNotCount() throws {
        var bytes = Array(Self.request.dropLast(8))
        bytes[3] -= 8
        #expect(try Self.isAuthentic(bytes))
        // USE-CANDIDATE, added by somebody on the way.
        bytes += [0x00, 0x25, 0x00, 0x00]
        bytes[3] += 4
        #expect(try !Self.parse(bytes).nominates)
        #expect(try Self.isAuthentic(bytes))
    }

    @Test func otherMessagesAreRefused() {
        func change(_ body: (inout [UInt8]) -> Void) -> STUNRequest.Failure? {
            var bytes = Self.request
            body(&bytes)
            do {
                _ = try Self.parse(bytes)
                return nil
            } catch {
                return error as? STUNRequest.Failure
            }
        }
        #expect(change { $0[0] = 1 } == .notARequest)
        #expect(change { $0[4] = 0 } == .notARequest)
        #expect(change { $0.removeLast() } == .notARequest)
        #expect(
            change {
                $0 = Array($0[..<20]); $0[3] = 0
            } == .incomplete)
        // An attribute that is longer than the message; a name without a colon; a fingerprint that isn't the last.
        #expect(change { $0[23] = 0xFF } == .malformed)
        #expect(change { $0[68] = 0x20 } == .malformed)
        #expect(
            change {
                $0 += [0x80, 0x28, 0, 0]; $0[3] += 4
            } == .malformed)
        #expect(change { $0[107] ^= 1 } == .damaged)
        // An attribute that has to be understood.
        #expect(change { $0[40] = 0x7F } == .unknownAttribute(0x7F24))
        #expect(change { $0 = [] } == .notARequest)
    }
}
