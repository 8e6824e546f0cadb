import BeamMedia
import Testing

@testable import BeamDoctor

/// Replies come from the network: whatever isn't the answer to what was asked is nothing.
struct EchoTests {
    /// What a machine answers, with IPv4's header or without.
    private func answer(_ request: [UInt8], isV6: Bool, header: [UInt8] = []) -> [UInt8] {
        var reply = request
        reply[0] = isV6 ? 129 : 0
        return header + reply
    }

    private func header(_ size: Int = 20, protocol number: UInt8 = 1) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: size)
        bytes[0] = 0x40 | UInt8(size / 4)
        bytes[9] = number
        return bytes
    }

    @Test(arguments: [false, true]) func aReplyIsRecognised(isV6: Bool) {
        let format = EchoFormat(isV6: isV6)
        let request = format.request(513, length: 100)
        #expect(request.count == 100 && request[0] == (isV6 ? 128 : 8))
        let reply = EchoFormat.Reply(sequence: 513, length: 100)
        #expect(format.reply(answer(request, isV6: isV6)[...], hasHeader: false) == reply)
        // The request itself isn't one, as a machine that asks itself receives it.
        #expect(format.reply(request[...], hasHeader: false) == nil)
    }

    @Test func theHeaderOfRawSocketsIsLeftOut() {
        let format = EchoFormat(isV6: false)
        let request = format.request(7, length: 64)
        for size in [20, 24, 60] {
            let bytes = answer(request, isV6: false, header: header(size))
            #expect(format.reply(bytes[...], hasHeader: true) == EchoFormat.Reply(sequence: 7, length: 64))
        }
        #expect(format.reply(answer(request, isV6: false, header: header(protocol: 17))[...], hasHeader: true) == nil)
    }

    @Test func othersRepliesAndBrokenOnesAreNothing() {
        let format = EchoFormat(isV6: false)
        let right = answer(format.request(7, length: 64), isV6: false, header: header())
        #expect(format.reply(right[...], hasHeader: true) != nil)
        for count in 0..<(20 + EchoFormat.leastLength) {
            #expect(format.reply(right[..<count], hasHeader: true) == nil)
        }
        // Version and length of IP's header; its protocol; type, code and identifier; the cookie.
        for place in [0, 9, 20, 21, 24, 25] + (28..<44) {
            var wrong = right
            wrong[place] ^= 0x41
            #expect(format.reply(wrong[...], hasHeader: true) == nil, "\(place)")
        }
        #expect(EchoFormat(isV6: false, identifier: format.identifier).reply(right[...], hasHeader: true) == nil)
    }

    @Test func theChecksumIsThatOfTheInternet() {
        // RFC 1071, 3: the sum of these is ddf2.
        #expect(EchoFormat.checksum([0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]) == (0x22, 0x0D))
        var request = EchoFormat(isV6: false).request(1, length: 65)
        // With its checksum in it, the sum is 0.
        #expect(EchoFormat.checksum(request) == (0, 0))
        request[40] ^= 1
        #expect(EchoFormat.checksum(request) != (0, 0))
    }
}
