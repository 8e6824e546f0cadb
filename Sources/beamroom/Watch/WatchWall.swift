import ArgumentParser
import BeamDisplay
import BeamLog
import BeamTerminal
import BeamTrust
import BeamViewer
import BeamWire
import Glibc
import Synchronization

/// `beamroom watch A B C …`: several hosts in one window.
extension WatchCommand {
    /// Which hosts were named, and what makes no sense with several.
    func checkHosts() throws {
        guard hosts.count > 1 else { return }
        guard hosts.count <= ViewerWall.mostHosts else {
            throw ValidationError(
                "Up to \(ViewerWall.mostHosts) hosts can be watched at once, and \(hosts.count) were named.")
        }
        for (index, host) in hosts.enumerated() {
            guard let first = hosts[..<index].first(where: { $0.isSame(as: host) }) else { continue }
            throw ValidationError(
                first.text == host.text
                    ? "“\(PeerText.name(host.text))” is named twice."
                    : "“\(PeerText.name(first.text))” and “\(PeerText.name(host.text))” are the same host.")
        }
        let single: [(option: String, isUsed: Bool, reason: String)] = [
            ("--record", record != nil, "a recording has one host's stream"),
            ("--frames", frames != nil, "the file has one host's pictures"),
            ("--sound", sound != nil, "the file has one host's sound"),
            ("--v4l2", camera.v4l2 != nil, "a camera has one host's pictures"),
            ("--camera", camera.camera != nil, "a camera has one host's pictures"),
            ("--transcript", transcript != nil, "a transcript is of one host's room"),
            ("--code", code.code != nil, "each host shows a code of its own, which is asked for"),
            ("--code-file", code.codeFile != nil, "each host shows a code of its own, which is asked for"),
            ("--new-host", newHost, "it accepts another machine at one address"),
        ]
        if let bad = single.first(where: \.isUsed) {
            throw ValidationError("\(bad.option) is for one host: \(bad.reason). Watch that host alone with it.")
        }
    }

    func watchSeveral(_ context: CommandContext, _ desk: QuestionDesk) throws {
        let parts = hosts.map { CommandContext(context, host: $0.text) }
        let reporters = parts.map { part in
            WatchReporter(
                part,
                WatchReporter.Purpose(
                    hasWindow: !playback.noWindow, isOneOfSeveral: true, files: 0, timeLimit: common.timeLimit),
                desk: desk)
        }
        endWithLast(parts, context.latch)
        let wall: ViewerWall
        do {
            let options = try hosts.map { host in (host.text, try self.options(for: host) { true }) }
            wall = try ViewerWall(options, window: windowOptions) { reporters[$0].handle($1) }
        } catch {
            return try context.conclude(.failed("\(error)"))
        }
        for (reporter, viewer) in zip(reporters, wall.viewers) { reporter.connect(to: viewer) }
        let viewers = Dictionary(
            zip(hosts.map(\.text), wall.viewers), uniquingKeysWith: { first, _ in first })
        context.actions.connect(
            ProgramActions.Handlers(
                write: { _ in },
                hosts: viewers.mapValues { viewer in { @Sendable (input: LogInput) in viewer.write(input) } },
                quality: { host, wish in host.flatMap { viewers[$0] }?.setQuality(wish) }))
        desk.readPrograms()
        let names = hosts.map { "“\(PeerText.name($0.text))”" }
        let rooms = hosts.map { RoomNameWatch($0) }
        defer { for room in rooms { room?.stop() } }
        let ticker = EverySecond {
            for (room, reporter) in zip(rooms, reporters) {
                if let words = room?.look(hasAnswered: reporter.hasAnswer) { context.say(words) }
            }
            let lines = zip(reporters, wall.viewers).map { $0.tick($1) }
            // Live lines would mix with what is typed.
            let isAsking = lines.contains { $0 == nil }
            context.console.live(isAsking ? [] : zip(names, lines).map { "\($0)   \($1 ?? "")" })
        }
        /// Ends what runs, and says how it went. On the thread that it is called on.
        @Sendable func finish(_ ending: Ending) throws {
            ticker.cancel()
            wall.stop()
            context.console.finish()
            for (reporter, viewer) in zip(reporters, wall.viewers) { reporter.summarise(viewer) }
            var worst = ending
            for (index, reporter) in reporters.enumerated() {
                let own = reporter.verdict(parts[index].latch.current ?? ending, wall.viewers[index])
                worst = worst.worse(parts[index].told(own))
            }
            try context.conclude(worst)
        }
        let ending = MainWindow(hasWindow: !playback.noWindow).run(
            context, prepare: { () throws(DisplayError) in try ViewerWindow.prepare(for: wall) },
            start: { wall.start() },
            open: { () throws(DisplayError) in
                let window = try ViewerWindow(wall) { context.endWithoutDisplay(finish) }
                if let words = window.unmetWish { context.say("Warning: \(words)") }
                return { window.run() }
            }, end: { wall.endWindow() })
        try finish(ending)
    }

    /// The program ends when nothing can come of any host any more.
    private func endWithLast(_ parts: [CommandContext], _ latch: EndingLatch) {
        let counter = Countdown(parts.count)
        for part in parts {
            part.latch.whenEnded { if counter.isLast() { latch.end(.done) } }
        }
    }
}

/// Counts down from any thread.
private final class Countdown: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) { left = Atomic(count) }

    /// Whether this was the last call of as many as there are.
    func isLast() -> Bool { left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}

extension CommandContext {
    /// Says why this host's part has ended, so that the rest of the program needn't.
    fileprivate func told(_ ending: Ending) -> Ending {
        switch ending {
        case .done, .timeLimit: return ending
        case .failed: return ending
        case .peerLost(let reason):
            if let reason { say(reason) }
            return .peerLost(nil)
        }
    }
}

extension Ending {
    /// The one of two that the exit status tells.
    fileprivate func worse(_ other: Ending) -> Ending { other.rank > rank ? other : self }

    private var rank: Int {
        switch self {
        case .done, .timeLimit: 0
        case .peerLost: 1
        case .failed: 2
        }
    }
}
