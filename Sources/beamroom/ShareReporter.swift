import BeamHost
import BeamMedia
import BeamNetwork
import BeamProtocol
import Synchronization

/// Tells the person at the host, and whoever reads the JSON events, what happens.
final class ShareReporter: Sendable {
    private let context: CommandContext
    private let prompt: PairingPrompt
    private let last = Mutex<HostReport?>(nil)

    init(_ context: CommandContext, prompt: PairingPrompt) {
        self.context = context
        self.prompt = prompt
    }

    func ready(_ host: Host, acceptance: HostSession.Acceptance) {
        let facts = host.description
        for warning in host.warnings { context.console.say("Warning: \(warning)") }
        context.console.say(
            "Sharing \(facts.source), \(facts.size.width) × \(facts.size.height), "
                + "at most \(Self.number(facts.frameRate)) frames and \(Self.megabits(Double(facts.bitRate))) a second "
                + "(\(facts.encoder)).")
        let addresses = facts.bindAddress.map { [$0] } ?? LocalAddresses.list()
        let places = (addresses.isEmpty ? ["127.0.0.1"] : addresses).map { address in
            let endpoint = Endpoint(host: address, port: facts.controlPort)
            return endpoint.port == WatchTarget.defaultPort ? endpoint.host : endpoint.description
        }
        context.console.say(
            "To watch: `beamroom watch` on another machine, or "
                + places.map { "`beamroom watch \($0)`" }.joined(separator: " or ") + ".")
        switch acceptance {
        case .ask: context.console.say("You will be asked about each viewer. Ctrl-C ends.")
        case .all: context.console.say("Every viewer is let in. Ctrl-C ends.")
        case .none: context.console.say("No viewer is let in (--accept none). Ctrl-C ends.")
        }
        context.events.write(
            "ready",
            [
                "name": .string(facts.name), "port": .integer(Int(facts.controlPort)),
                "mediaPort": .integer(Int(facts.mediaPort)), "width": .integer(facts.size.width),
                "height": .integer(facts.size.height), "encoder": .string(facts.encoder),
                "source": .string(facts.source),
            ])
    }

    func handle(_ notice: HostNotice) {
        switch notice {
        case .session(let event): handle(event)
        case .announced(let name): context.console.say("Announced on the network as “\(name)”.")
        case .warning(let text): context.console.say("Warning: \(text)")
        case .resized(let size):
            context.console.say("The picture is \(size.width) × \(size.height) now.")
        case .ended(let reason): context.latch.end(.failed(reason))
        }
    }

    private func handle(_ event: HostEvent) {
        let console = context.console
        let events = context.events
        switch event {
        case .viewerAsks(let connection, let code, let address):
            events.write("pairing", ["address": .string("\(address)")])
            prompt.ask(connection, code: code, from: "\(address)")
        case .askWithdrawn(let connection):
            prompt.withdraw(connection)
        case .viewerPaired(let session, let address, let isResumed):
            console.say("\(address) \(isResumed ? "is connected again" : "is let in").")
            events.write(
                "paired",
                ["address": .string("\(address)"), "session": .string(session), "resumed": .bool(isResumed)])
        case .viewerRefused(let address, let reason):
            console.say("\(address) was refused: \(reason).")
            events.write("refused", ["address": .string("\(address)"), "reason": .string(reason)])
        case .connectionRefused(let address, let reason):
            console.say("A connection from \(address) was closed: \(reason).")
        case .mediaStarted(let session, let address):
            console.say("The picture goes to \(address).")
            events.write("viewer-joined", ["address": .string("\(address)"), "session": .string(session)])
        case .mediaStopped(_, let reason):
            console.say("The picture is held back from a viewer: \(reason).")
        case .controlLost:
            break
        case .viewerLeft(let session, let address, let reason):
            console.say("\(address) has left: \(reason).")
            events.write(
                "viewer-left",
                ["address": .string("\(address)"), "session": .string(session), "reason": .string(reason)])
        case .audience:
            break
        case .framesDropped(let count):
            console.say("\(count) frames were left out: the network takes less than is made. A lower -b helps.")
        }
    }

    func tick(_ host: Host) {
        let report = host.report()
        let previous = last.withLock { last in
            defer { last = report }
            return last
        }
        let frames = report.session.frames - (previous?.session.frames ?? 0)
        let bits = Double(report.session.bytes - (previous?.session.bytes ?? 0)) * 8
        let viewers = report.session.viewers
        context.console.live(
            "\(frames) frames/s   \(Self.megabits(bits))/s   \(viewers) \(viewers == 1 ? "viewer" : "viewers")")
        context.events.write("stats", fields(report, framesPerSecond: Double(frames), bitsPerSecond: bits))
    }

    func summarise(_ host: Host) {
        context.console.finish()
        let report = host.report(sinceStart: true)
        let seconds = max(0.001, context.events.millisecondsSinceStart / 1000)
        context.events.write(
            "summary",
            fields(
                report, framesPerSecond: Double(report.session.frames) / seconds,
                bitsPerSecond: Double(report.session.bytes) * 8 / seconds))
        context.console.say(
            "Ended after \(Self.number(seconds.rounded())) s: \(report.session.frames) frames, "
                + "\(Self.megabytes(report.session.bytes)) sent.")
    }

    private func fields(
        _ report: HostReport, framesPerSecond: Double, bitsPerSecond: Double
    ) -> [String: EventWriter.Value?] {
        [
            "fps": .milliseconds(framesPerSecond), "kbps": .milliseconds(bitsPerSecond / 1000),
            "frames": .count(report.session.frames), "bytes": .count(report.session.bytes),
            "viewers": .integer(report.session.viewers), "keyframes": .count(report.session.keyframes),
            "captured": .count(report.captured), "encoded": .count(report.encoded),
            "replaced": .count(report.replaced), "datagrams": .count(report.session.datagrams),
            "dropped": .count(report.session.dropped), "width": .integer(report.size.width),
            "height": .integer(report.size.height),
            "latencyMs": .latencies(["capture": report.capture, "encode": report.encode]),
        ]
    }

    /// `30`, `59.94`.
    static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : String((value * 100).rounded() / 100)
    }

    static func megabits(_ bits: Double) -> String { "\((bits / 100_000).rounded() / 10) Mbit" }

    private static func megabytes(_ bytes: UInt64) -> String { "\((Double(bytes) / 100_000).rounded() / 10) MB" }
}
