import BeamMedia
import Crypto
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What is signed for one log, byte by byte.
struct LogScopeTests {
    private static let room = [UInt8](repeating: 7, count: 16)
    private static let author = LogAuthor(device: .made(3), run: 0x0102)
    private static let run: [UInt8] = [0, 0, 0, 0, 0, 0, 1, 2]

    @Test(arguments: [nil, DeviceKey.made(9)]) func goldenBytes(keeper: DeviceKey?) {
        let scope = LogScope(room: Self.room, keeper: keeper)
        let kind = keeper == nil ? "of equals" : "of a host"
        let rest = [0] + Self.room + (keeper?.bytes ?? [])
        #expect(
            EntryChain.start(scope, author: Self.author)
                == Array(
                    SHA256.hash(data: Array("BeamRoom 2 log \(kind)".utf8) + rest + Self.author.device.bytes + Self.run)
                ))
        let digest = [UInt8](repeating: 5, count: 32)
        #expect(
            EntryChain.signed(digest, number: 258, of: Self.author, in: scope)
                == Array("BeamRoom 2 entry \(kind)".utf8) + rest + Self.author.device.bytes + Self.run + digest
                + [0, 0, 1, 2])
        #expect(
            LogMessage.Partial.signed(scope, run: 0x0102, after: 3, counter: 4, body: [6])
                == Array("BeamRoom 2 partial \(kind)".utf8) + rest + Self.run + [0, 0, 0, 3, 0, 0, 0, 4, 6])
    }

    /// What a member of a room of equals writes counts in no host's log, whatever ID that has, and the other way round.
    @Test func wordsOfOneLogCountInNoOther() {
        let (signing, device) = LogSigning.simulated(1)
        let author = LogAuthor(device: device, run: 1)
        var logs = [nil, DeviceKey.made(9), .made(10)].map {
            LogStore(room: Self.room, keeper: $0, signing: signing)
        }
        for index in logs.indices {
            _ = logs[index].append(LogEntry(kind: .note, milliseconds: 1, body: [0x61]), by: author, age: .zero)
            guard let batch = logs[index].batch(from: 0, has: [:], isFor: { _, _, _ in true }).outgoing?.batch else {
                Issue.record("no batch")
                continue
            }
            for keeper in [nil, DeviceKey.made(9), .made(10)] {
                var other = LogStore(room: Self.room, keeper: keeper, signing: signing)
                let isTaken = (try? other.take(batch, age: .zero, isAuthor: { _ in true }, keeps: { _ in true })) != nil
                #expect(isTaken == (keeper == logs[index].scope.keeper))
            }
        }
    }
}
