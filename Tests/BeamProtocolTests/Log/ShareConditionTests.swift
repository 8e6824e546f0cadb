import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct ShareConditionTests {
    private static func line(_ content: LogContent, isKeepers: Bool = true) -> LogLine {
        LogLine(
            author: DeviceKey([UInt8](repeating: 7, count: 32))!, name: "desk", isOwn: false, isKeepers: isKeepers,
            content: content, time: .zero, age: .zero)
    }

    private static func lines(_ alerts: LogAlert..., isKeepers: Bool = true) -> LogEvent {
        .lines(alerts.map { line(.alert($0), isKeepers: isKeepers) })
    }

    @Test func eachAlertChangesItAndIsAnswered() {
        var condition = ShareCondition()
        let steps: [LogAlert] = [.paused, .locked, .batteryLow(percent: 14), .batteryLow(percent: 9)]
        for step in steps {
            let changes = condition.handle(Self.lines(step))
            #expect(changes == [step])
        }
        #expect(condition.isPaused && condition.isLocked && condition.lowBattery == 9)
        #expect(condition.warnings == [.locked, .batteryLow(percent: 9)])
        for step in [LogAlert.resumed, .unlocked, .batteryFine] {
            let changes = condition.handle(Self.lines(step))
            #expect(changes == [step])
        }
        #expect(condition == ShareCondition())
    }

    @Test func onlyWhatRemainsOfSeveralIsAnswered() {
        var condition = ShareCondition()
        let changes = condition.handle(Self.lines(.locked, .paused, .unlocked, .batteryLow(percent: 14), .resumed))
        #expect(changes == [.batteryLow(percent: 14)])
    }

    @Test func onlyTheKeeperSpeaksOfTheShare() {
        var condition = ShareCondition()
        let forged = Self.lines(.paused, .locked, isKeepers: false)
        let changes = condition.handle(forged)
        #expect(changes.isEmpty && condition == ShareCondition() && !ShareCondition.isConcerned(by: forged))
    }

    @Test func anotherRoomBeginsWithoutAny() {
        var condition = ShareCondition()
        _ = condition.handle(Self.lines(.paused, .locked))
        let changes = condition.handle(.began(completeSince: .zero, takesNotes: true))
        #expect(changes.isEmpty && condition == ShareCondition())
        #expect(!ShareCondition.isConcerned(by: .lines([Self.line(.note("hello"))])))
        #expect(ShareCondition.isConcerned(by: .began(completeSince: .zero, takesNotes: true)))
    }

    @Test func historyChangesNothingBeforeAllOfItHasCome() {
        var condition = ShareCondition()
        _ = condition.handle(.began(completeSince: .zero, takesNotes: true))
        for event: LogEvent in [
            .catchingUp, Self.lines(.paused, .locked), Self.lines(.batteryLow(percent: 9)), Self.lines(.resumed),
        ] {
            let changes = condition.handle(event)
            #expect(changes.isEmpty && !condition.isPaused && !condition.isLocked && condition.lowBattery == nil)
        }
        let changes = condition.handle(.caughtUp(host: "desk"))
        #expect(changes == [.locked, .batteryLow(percent: 9)])
        // The connection is lost, and comes back: what was known holds until then.
        for event: LogEvent in [.catchingUp, Self.lines(.unlocked), Self.lines(.paused), Self.lines(.resumed)] {
            let changes = condition.handle(event)
            #expect(changes.isEmpty && !condition.isPaused && condition.isLocked)
        }
        let changesAgain = condition.handle(.caughtUp(host: "desk"))
        #expect(changesAgain == [.unlocked])
    }
}
