import BeamMedia
import Testing

@testable import BeamWire

/// Whether a browser receives what is sent to an address.
struct STUNCheckTests {
    private static let password = "abcdefghijklmnopqrstuvwx"
    private var generator = SeededGenerator(seed: 7)

    private func answer(to request: [UInt8], password: String = password) -> [UInt8] {
        var message: [UInt8] = [1, 1, 0, 0] + request[4..<20]
        message += [0, 0x20, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0]
        STUN.seal(&message, password: password)
        return message
    }

    private func isAnswered(_ check: STUNCheck, by bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { check.isAnswered(by: $0, password: Self.password) }
    }

    /// The browser reads it as any agent's request: its own name comes first (RFC 8445, 7.2.2).
    @Test mutating func theRequestIsOneThatABrowserReads() throws {
        let check = STUNCheck(random: &generator)
        for name in ["host", "h", "hos", "ho"] {
            let bytes = check.request(from: name, to: "browser", password: Self.password)
            let request = try STUNTests.parse(bytes)
            #expect(request.name == "browser" && !request.nominates)
            #expect(bytes.withUnsafeBytes { request.isAuthentic($0, password: Self.password) })
        }
    }

    @Test mutating func onlyItsOwnAnswerCounts() {
        let (check, other) = (STUNCheck(random: &generator), STUNCheck(random: &generator))
        let request = check.request(from: "host", to: "browser", password: Self.password)
        let right = answer(to: request)
        #expect(isAnswered(check, by: right))
        #expect(!isAnswered(other, by: right), "another transaction")
        #expect(!isAnswered(check, by: request), "the request itself")
        #expect(!isAnswered(check, by: answer(to: request, password: "another password 0123456")))
        #expect(!isAnswered(check, by: Array(right.dropLast(32))), "without a code")
        for bit in 0..<(right.count - 8) * 8 {
            var bytes = right
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!isAnswered(check, by: bytes), "bit \(bit)")
        }
        for count in 0..<right.count { #expect(!isAnswered(check, by: Array(right.prefix(count)))) }
    }
}
