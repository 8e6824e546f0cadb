import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What a relay tells of its host, and when it asks it for keyframes.
struct RelayConditionTests {
    private static let paired = ViewerEvent.paired(
        session: "1", deviceName: "desk", isNewSession: true, isEncrypted: true)

    private func line(
        _ content: LogContent, own: Bool = false, keepers: Bool = false, history: Bool = false
    ) -> ViewerEvent {
        var line = LogLine(
            author: .host, name: "Anna", isOwn: own, isKeepers: keepers, content: content, time: .zero, age: .zero)
        line.isHistory = history
        return .room(.lines([line]))
    }

    @Test func itTellsWhatHidesThePictureOnce() {
        var condition = RelayCondition()
        #expect(condition.handle(Self.paired) == [])
        #expect(condition.handle(.sourceVisibility(.screenLocked)) == [.visibility(.screenLocked)])
        #expect(condition.handle(.stalled(.seconds(2), .nothingArrives)) == [.visibility(.hostLost)])
        #expect(condition.handle(.stalled(.seconds(3), .nothingArrives)) == [])
        #expect(condition.handle(.mediaResumed) == [.visibility(.screenLocked)])
        #expect(condition.handle(.stalled(.seconds(2), .loss)) == [])
        #expect(condition.handle(.hostEnded(says: "bye")) == [.visibility(.hostEnded)])
        #expect(condition.handle(.stalled(.seconds(2), .nothingArrives)) == [])
        // Another run of the host, whose screen isn't locked.
        #expect(condition.handle(Self.paired) == [.visibility(.visible)])
        #expect(condition.handle(.broadcast(false)) == [.visibility(.hostEnded)])
        #expect(condition.handle(.broadcast(true)) == [.visibility(.visible)])
        #expect(condition.handle(.stalled(.seconds(2), .nothingArrives)) == [.visibility(.hostLost)])
        #expect(condition.frameArrived() == [.visibility(.visible)])
        #expect(condition.frameArrived() == [])
    }

    @Test func pausesAndWordsGoThrough() {
        var condition = RelayCondition()
        #expect(condition.handle(line(.alert(.paused), keepers: true, history: true)) == [.paused(true)])
        #expect(condition.handle(line(.alert(.paused), keepers: true)) == [])
        #expect(condition.handle(line(.alert(.resumed), keepers: true)) == [.paused(false)])
        // A viewer's alert is none of the share.
        #expect(condition.handle(line(.alert(.paused))) == [])
        #expect(
            condition.handle(line(.caption(text: "hello", speaker: "Anna")))
                == [.write(.caption(text: "hello", speaker: "Anna"))])
        #expect(condition.handle(line(.note("hello"))) == [.write(.note("Anna: hello"))])
        #expect(condition.handle(line(.note("hello"), own: true)) == [])
        #expect(condition.handle(line(.note("hello"), history: true)) == [])
        #expect(
            condition.handle(.room(.partial(author: .host, name: "desk", LogPartial(text: "hel", speaker: nil))))
                == [.write(.partial(text: "hel", speaker: nil))])
        #expect(
            condition.handle(.room(.partial(author: .host, name: "desk", nil)))
                == [.write(.partial(text: "", speaker: nil))])
        #expect(condition.handle(line(.alert(.paused), keepers: true)) == [.paused(true)])
        #expect(condition.handle(.room(.began(completeSince: .zero, takesNotes: true))) == [.paused(false)])
    }

    @Test func whatWasHalfSaidIsTakenBackWhenNobodyCanEndIt() {
        let half = ViewerEvent.room(.partial(author: .host, name: "desk", LogPartial(text: "hel", speaker: nil)))
        let silence = RelayCondition.Change.write(.partial(text: "", speaker: nil))
        let ends: [(ViewerEvent, [RelayCondition.Change])] = [
            (.stalled(.seconds(2), .nothingArrives), [.visibility(.hostLost), silence]),
            (.hostEnded(says: nil), [.visibility(.hostEnded), silence]),
            (.room(.began(completeSince: .zero, takesNotes: true)), [silence]),
        ]
        for (event, changes) in ends {
            var condition = RelayCondition()
            _ = condition.handle(Self.paired)
            _ = condition.handle(half)
            #expect(condition.handle(event) == changes)
            #expect(condition.handle(event) == [], "once")
        }
    }

    @Test func lateSoundIsLeftOutAndAnotherRunOfTheHostIsNotLate() {
        var order = RelayedSoundOrder()
        let packets: [(number: UInt32, begins: Bool, isTaken: Bool)] = [
            (60000, false, true), (60002, false, true), (60001, false, false), (60002, false, false),
            // Another run counts anew.
            (50, false, true), (51, false, true), (50, false, false), (3, true, true),
            // The numbers wrap around.
            (.max, true, true), (0, false, true),
        ]
        for packet in packets {
            let isTaken = order.takes(packet.number, begins: packet.begins)
            #expect(isTaken == packet.isTaken, "\(packet)")
        }
    }

    /// A note of full length stays one with its author's name before it, and whole characters are cut.
    @Test func aNoteWithItsAuthorIsNoLongerThanANote() {
        let note = RelayCondition.note(String(repeating: "é", count: LogLimits.note / 2), by: "Anna")
        #expect(note.utf8.count <= LogLimits.note && note.utf8.count > LogLimits.note - 4)
        #expect(note.hasPrefix("Anna: é") && note.hasSuffix("é"))
        let flag = "🏳️‍🌈"
        let flags = RelayCondition.note(String(repeating: flag, count: 200), by: "A\u{202E}nna")
        #expect(flags.utf8.count <= LogLimits.note && flags.hasSuffix(flag) && !flags.contains("\u{202E}"))
    }

    @Test func keyframesAreSpacedAndOneThatComesAnswers() {
        var keyframes = RelayedKeyframes()
        #expect(keyframes.wanted(now: .at(10)) == .ask)
        #expect(keyframes.wanted(now: .at(10.2)) == .wait(until: .at(11)))
        #expect(keyframes.wanted(now: .at(10.5)) == .nothing)
        #expect(keyframes.due(now: .at(11)) == true)
        #expect(keyframes.due(now: .at(11)) == false)
        #expect(keyframes.wanted(now: .at(11.1)) == .wait(until: .at(12)))
        keyframes.came()
        #expect(keyframes.due(now: .at(12)) == false)
        #expect(keyframes.wanted(now: .at(12)) == .ask)
    }

    @Test func whatIsntKnownOfATimeIsNotTold() {
        let unit = AccessUnit(
            bytes: [1], isKeyframe: false, parameterSets: nil, size: PixelSize(width: 2, height: 2))
        var frame = ReceivedFrame(unit: unit, number: 1, firstArrival: .at(5), lastArrival: .at(5), layer: 1)
        let repeated = EncodedFrame(relaying: frame, now: .at(6))
        #expect(repeated.isRepeated && repeated.captureTime == .at(6) && repeated.layer == 0)
        frame.captureTime = .at(4)
        let known = EncodedFrame(relaying: frame, now: .at(6))
        #expect(!known.isRepeated && known.captureTime == .at(4) && known.unit == unit)
    }

    @Test(arguments: 0...3) func theNumberOfRelaysIsInTheFeatures(count: Int) {
        let features = SecureMessage.Welcome.Features.relayed(count).union([.sound, .words])
        #expect(features.relays == count && features.isSuperset(of: [.sound, .words]))
        #expect(SecureMessage.Welcome.Features(rawValue: .max).relays == 3)
        #expect(SecureMessage.Welcome.Features.relayed(9).relays == 3)
        #expect(SecureMessage.Welcome.Features.relayed(-1).relays == 0)
    }
}
