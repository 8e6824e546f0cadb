import BeamMedia
import Synchronization
import Testing

@testable import BeamTerminal

/// What another program says of the most that is to be sent here.
struct QualityLineTests {
    @Test(arguments: [
        ("{}", QualityWish.any), (#"{"maxSize":null,"bitRate":null}"#, .any),
        (
            #"{"maxSize":1280,"bitRate":2e6,"maxFps":29.97}"#,
            QualityWish(maxSize: 1280, bitRate: 2_000_000, frameRate: 29.97)
        ),
    ])
    func wishesAreRead(text: String, wish: QualityWish) throws {
        #expect(try QualityLine.wish(Array(text.utf8)) == wish)
    }

    @Test(arguments: [
        ("15", "takes an object"), ("[]", "takes an object"), (#"{"fps":15}"#, "no member `fps`"),
        (#"{"maxFps":0}"#, "`maxFps` takes a number from 1 to 240"), (#"{"maxFps":"15"}"#, "`maxFps` takes a number"),
        (#"{"bitRate":1e999}"#, "`bitRate` takes a number from 128000 to 1000000000"),
        (#"{"bitRate":-1}"#, "in bits a second, or null"),
        (#"{"maxSize":true}"#, "`maxSize` takes a number from 16 to 8192"),
    ])
    func othersAreRefused(text: String, reason: String) {
        let error = #expect(throws: ProgramActions.Refusal.self) { try QualityLine.wish(Array(text.utf8)) }
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    /// Lines reach the viewer that they are for, and a host has none.
    @Test func aLineIsForTheHostThatItNames() throws {
        let (told, actions) = (Told(), ProgramActions())
        actions.connect(
            ProgramActions.Handlers(
                write: { _ in }, hosts: ["red": { _ in }, "green": { _ in }],
                quality: { host, wish in told.take("\(host ?? "-") \(wish.maxSize ?? 0)") }))
        try actions.perform(Array(#"{"quality":{"maxSize":640},"host":"green"}"#.utf8))
        for line in [#"{"quality":{}}"#, #"{"quality":{},"host":"blue"}"#] {
            #expect(throws: ProgramActions.Refusal.self) { try actions.perform(Array(line.utf8)) }
        }
        actions.connect(ProgramActions.Handlers(write: { _ in }))
        let refusal = #expect(throws: ProgramActions.Refusal.self) {
            try actions.perform(Array(#"{"quality":{}}"#.utf8))
        }
        #expect(refusal?.reason.contains("only `watch`") == true)
        #expect(told.all == ["green 640"])
    }
}

private final class Told: Sendable {
    private let lines = Mutex([String]())
    var all: [String] { lines.withLock { $0 } }
    func take(_ line: String) { lines.withLock { $0.append(line) } }
}
