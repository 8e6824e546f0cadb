import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct LineBufferTests {
    private func lines(_ chunks: [[UInt8]]) throws -> [String] {
        var buffer = LineBuffer()
        var lines: [String] = []
        for chunk in chunks { try buffer.append(chunk) { lines.append(String(decoding: $0, as: UTF8.self)) } }
        return lines
    }

    @Test func linesDoNotDependOnWhereTheBytesAreCut() throws {
        let text = Array("{\"on\":true}\n\n{\"hb\":1}\r\nrest".utf8)
        let expected = ["{\"on\":true}", "", "{\"hb\":1}"]
        #expect(try lines([text]) == expected)
        #expect(try lines(text.map { [$0] }) == expected)
        for cut in text.indices { #expect(try lines([Array(text[..<cut]), Array(text[cut...])]) == expected) }
    }

    @Test func aLineAtTheLimitPasses() throws {
        let line = [UInt8](repeating: 0x61, count: 4096)
        #expect(try lines([line + [0x0A]]) == [String(repeating: "a", count: 4096)])
        #expect(try lines([line, [0x0A]]).count == 1)
    }

    @Test func aLineAboveTheLimitIsRefused() {
        let line = [UInt8](repeating: 0x61, count: 4097)
        #expect(throws: LineBuffer.LineTooLong.self) { try lines([line]) }
        #expect(throws: LineBuffer.LineTooLong.self) { try lines([line + [0x0A]]) }
        #expect(throws: LineBuffer.LineTooLong.self) { try lines(line.map { [$0] }) }
        #expect(throws: LineBuffer.LineTooLong.self) { try lines([Array(line.prefix(4096)), [0x61, 0x0A]]) }
    }

    @Test func linesBeforeOneThatIsTooLongAreRead() {
        var buffer = LineBuffer()
        var count = 0
        #expect(throws: LineBuffer.LineTooLong.self) {
            try buffer.append(Array("a\nb\n".utf8) + [UInt8](repeating: 0, count: 5000)) { _ in count += 1 }
        }
        #expect(count == 2)
    }
}
