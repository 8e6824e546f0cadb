import Foundation
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The documentation of version 2's wire names the same messages and numbers as the program.
struct MessageKindTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/beamroom/beamroom.docc/WireVersion2.md")

    /// The cells of each row of the table below the line that begins with `heading`.
    private func rows(below heading: String) throws -> [[String]] {
        let lines = try String(contentsOf: Self.page, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix(heading) }, "no line begins with \(heading)")
        return lines[start...].dropFirst(2).prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test func controlMessagesMatchTheDocumentation() throws {
        let written = try rows(below: "| kind | message |").map { "\($0[0]) \($0[1])" }
        let known = SecureMessage.Kind.allCases.map {
            "0x" + (($0.rawValue < 16 ? "0" : "") + String($0.rawValue, radix: 16).uppercased()) + " \($0)"
        }
        #expect(written == known)
    }

    @Test func datagramsMatchTheDocumentation() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let known = SealedHeader.Kind.allCases.map { "0x" + String($0.rawValue, radix: 16).uppercased() + " \($0)" }
        #expect(text.contains("| 0 | u8 kind: " + known.joined(separator: ", ") + " |"))
        for kind in SealedHeader.Kind.allCases {
            #expect(text.lowercased().contains("**\(kind)** (\(kind.sender))"), "who sends \(kind)")
        }
    }

    @Test func itemsMatchTheDocumentation() throws {
        #expect(try rows(below: "| state | item |").map { $0[0] } == StreamState.Item.allCases.map { "\($0.rawValue)" })
        #expect(try rows(below: "| feedback | item |").map { $0[0] } == Feedback.Item.allCases.map { "\($0.rawValue)" })
    }

    @Test func everyControlMessageIsWrittenAndReadByItsKind() throws {
        for kind in SecureMessage.Kind.allCases {
            // Too short for messages with fields: the error must name that kind, not an unknown one.
            do {
                let message = try SecureMessage([kind.rawValue])
                #expect(message.bytes == [kind.rawValue])
            } catch {
                #expect(error == .truncated(kind: kind.rawValue))
            }
        }
        #expect(try SecureMessage([0x7F, 1]) == .unknown(0x7F))
    }
}
