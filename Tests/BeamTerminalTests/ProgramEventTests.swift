import BeamMetrics
import Foundation
import Testing

@testable import BeamTerminal

/// The page *Program events* and `ProgramEvent` say the same.
struct ProgramEventTests {
    /// The fields of an event: those that it always has, and those that it has sometimes.
    struct Fields: Equatable, CustomStringConvertible {
        var always: Set<String>
        var sometimes: Set<String>

        var description: String { "always \(always.sorted()), sometimes \(sometimes.sorted())" }
    }

    /// The page's tables of events: each section's, by the event's name.
    private static let page: [String: [String: Fields]] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/beamroom/beamroom.docc/ProgramEvents.md")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [:] }
        var sections: [String: [String: Fields]] = [:]
        var (section, isTable) = ("", false)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            if line.hasPrefix("| event | always | sometimes |") { isTable = true }
            if !line.hasPrefix("|") { isTable = false }
            guard isTable, line.hasPrefix("| `") else { continue }
            let cells = line.split(separator: "|", maxSplits: 4, omittingEmptySubsequences: false)
            let words = cells.map { $0.matches(of: /`([^`]+)`/).map { String($0.output.1) } }
            for name in words[1] {
                #expect(sections[section]?[name] == nil, "\(section): \(name) twice")
                sections[section, default: [:]][name] = Fields(always: Set(words[2]), sometimes: Set(words[3]))
            }
        }
        return sections
    }()

    private static let sections: [(title: String, samples: [ProgramEvent])] = [
        ("Every command", [.dropped(3), .metrics(MetricsAddress("9464")!)]),
        ("Who is let in", all(PairingSample.self).map { .pairing($0) }),
        ("What is shared", all(ShareSample.self).map { .share($0) }),
        ("What is watched", all(WatchSample.self).map { .watch($0) }),
        ("A receiver", all(ReceiverSample.self).map { .receiver($0) }),
        ("Words and messages", all(WordsSample.self).map { .words($0) }),
        ("A room of equals", all(RoomSample.self).map { .room($0) }),
        ("Lists", all(ListSample.self).map { .list($0) }),
        ("Measurements", all(MeasureSample.self).map { .measure($0) }),
    ]

    private static func all<Kind: SampleKind>(_ kind: Kind.Type) -> [Kind.Event] {
        kind.allCases.flatMap { kind in
            for sample in kind.samples { #expect(Kind(sample) == kind, "\(sample)") }
            return kind.samples
        }
    }

    @Test func thePageListsEachEventWithItsFields() throws {
        #expect(Set(Self.page.keys) == Set(Self.sections.map(\.title)))
        for (title, samples) in Self.sections {
            var seen: [String: [Set<String>]] = [:]
            for sample in samples {
                let record = sample.record
                seen[record.name, default: []].append(
                    Set(record.fields.keys).union(record.text.map { [$0.name] } ?? []))
            }
            let page = try #require(Self.page[title])
            #expect(Set(page.keys) == Set(seen.keys), "\(title)")
            for (name, variants) in seen {
                let always = variants.dropFirst().reduce(variants[0]) { $0.intersection($1) }
                let sometimes = variants.reduce(into: Set<String>()) { $0.formUnion($1) }.subtracting(always)
                #expect(page[name] == Fields(always: always, sometimes: sometimes), "\(title): \(name)")
            }
        }
    }

    /// `event` and `t` are the writer's; `host` and `from` may be added.
    @Test func noEventHasAFieldOfTheWriter() {
        for sample in Self.sections.flatMap(\.samples) {
            #expect(sample.record.fields["event"] == nil && sample.record.fields["t"] == nil, "\(sample)")
        }
    }
}
