import Foundation
import Testing

@testable import BeamProtocol

/// The page about version 2 on the wire names the messages that the program knows, by the same numbers.
struct MessageKindTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/beamroom/beamroom.docc/WireVersion2.md")

    /// The page's lines from the one with `heading` to the end of the table there: the cells of each row.
    private func rows(below heading: String) throws -> [[String]] {
        let lines = try String(contentsOf: Self.page, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix(heading) }, "no line begins with \(heading)")
        return lines[start...].dropFirst(2).prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test func controlMessagesAreThoseOfThePage() throws {
        let written = try rows(below: "| kind | message |").map { "\($0[0]) \($0[1])" }
        let known = SecureMessage.Kind.allCases.map {
            "0x" + (($0.rawValue < 16 ? "0" : "") + String($0.rawValue, radix: 16).uppercased()) + " \($0)"
        }
        #expect(written == known)
    }

    @Test func datagramsAreThoseOfThePage() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let known = SealedHeader.Kind.allCases.map { "0x" + String($0.rawValue, radix: 16).uppercased() + " \($0)" }
        #expect(text.contains("| 0 | u8 kind: " + known.joined(separator: ", ") + " |"))
        for kind in SealedHeader.Kind.allCases {
            #expect(text.lowercased().contains("**\(kind)** (\(kind.sender))"), "who sends \(kind)")
        }
    }

    @Test func itemsAreThoseOfThePage() throws {
        #expect(try rows(below: "| state | item |").map { $0[0] } == StreamState.Item.allCases.map { "\($0.rawValue)" })
        #expect(try rows(below: "| feedback | item |").map { $0[0] } == Feedback.Item.allCases.map { "\($0.rawValue)" })
    }

    @Test func everyControlMessageGoesOutAndComesInByItsKind() throws {
        for kind in SecureMessage.Kind.allCases {
            // Too short for all that have fields: what is refused is a message of that kind, and none is unknown.
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
