import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// Whole pictures for pages that decode them themselves, in virtual time.
struct BrowserUnitTests {
    @Test func aPageGetsWholeUnits() throws {
        var simulation = BrowserSimulation(hasSound: true)
        simulation.addPage(1, takesSound: true)
        simulation.run(2)
        let units = try #require(simulation.units[ConnectionID(1)]).map(\.unit)
        let pictures = units.filter { $0.kind != .sound }
        #expect(
            pictures.count == simulation.framesMade[0] && pictures.map(\.number) == Array(0..<UInt32(pictures.count)))
        guard case .keyframe(.some(let description)) = pictures[0].kind else {
            Issue.record("\(pictures[0].kind)")
            return
        }
        #expect(description.codec == "avc1.4d001f")
        let sounds = units.filter { $0.kind == .sound }
        #expect(sounds.count > 190 && sounds.map(\.number) == Array(0..<UInt32(sounds.count)))
        // The next keyframe of the same stream needs no description.
        simulation.addPage(2)
        simulation.run(1)
        let second = try #require(simulation.units[ConnectionID(1)]).map(\.unit.kind).filter { $0 == .keyframe(nil) }
        #expect(second.count == 1)
    }

    /// A page that stops to acknowledge gets nothing more after a second, and a keyframe when it does again.
    @Test func aPageThatDoesNotAcknowledgeIsBounded() throws {
        var simulation = BrowserSimulation(hasSound: true)
        simulation.addPage(1, takesSound: true)
        simulation.add(2)
        simulation.run(2)
        simulation.acknowledges = false
        simulation.run(5)
        let id = ConnectionID(1)
        let stopped = try #require(simulation.units[id]).count
        simulation.run(4)
        #expect(try #require(simulation.units[id]).count == stopped)
        #expect(simulation.events.contains { $0.event == .behind(id) })
        simulation.acknowledges = true
        let last = try #require(simulation.units[id]?.last { $0.unit.kind != .sound }).unit.number
        simulation.stream.acknowledged(last, by: id, now: simulation.now)
        simulation.drain()
        simulation.run(0.7)
        let next = try #require(simulation.units[id]).dropFirst(stopped).first { $0.unit.kind != .sound }
        guard case .keyframe = try #require(next).unit.kind else {
            Issue.record("it doesn't begin with a keyframe")
            return
        }
        #expect(simulation.events.contains { $0.event == .caughtUp(id) })
        #expect(simulation.figures(2).skipped == 0)
        #expect(simulation.faults == [])
    }

    @Test func aPageThatAcknowledgesNothingIsOver() {
        var simulation = BrowserSimulation()
        simulation.addPage(1)
        simulation.acknowledges = false
        simulation.run(32)
        #expect(simulation.events.last?.event == .evict(ConnectionID(1), reason: .noAcknowledgements))
        #expect(simulation.stream.browsers.isEmpty)
    }

    /// While nothing is sent there is nothing to acknowledge.
    @Test func aPageOfAStillScreenStays() {
        var simulation = BrowserSimulation()
        simulation.addPage(1)
        simulation.run(1)
        simulation.source.isOn = false
        simulation.run(100)
        #expect(simulation.stream.figures(of: ConnectionID(1)) != nil && simulation.errors == [])
    }

    @Test func acknowledgementsOfWhatWasNotSentDoNothing() {
        var simulation = BrowserSimulation()
        simulation.addPage(1)
        simulation.acknowledges = false
        simulation.run(0.5)
        for number in [UInt32.max, 1000, 0x8000_0000] {
            simulation.stream.acknowledged(number, by: ConnectionID(1), now: simulation.now)
        }
        #expect(simulation.stream.browsers[0].units?.isIdle == false)
        simulation.stream.acknowledged(0, by: ConnectionID(9), now: simulation.now)
        simulation.drain()
        #expect(simulation.errors == [])
    }
}
