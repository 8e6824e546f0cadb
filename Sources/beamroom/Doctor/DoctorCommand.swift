import ArgumentParser
import BeamDoctor
import BeamTerminal

/// `beamroom doctor`.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Looks whether this machine can share and watch, or how well it reaches another one.",
        discussion: """
            Without a host it looks at this machine. With one it measures the path to that: round trip, jitter, loss, MTU and
            what the path carries, in at most 15 s, with about 1 MB of echoes (ICMP) and two connections, about which nobody
            there is asked.

            Each line says good, could be better, or doesn't work, and what to do. The exit status is 1 if something doesn't
            work, else 0. Nothing is changed.
            """.inParagraphs)

    @Argument(
        help: ArgumentHelp(
            "The machine to which the path is measured: a host's name, address or address:port, as for `watch`.",
            valueName: "host"),
        transform: WatchTarget.init(parsing:))
    var host: WatchTarget?
    @Flag(help: "Write one JSON object a line on standard output.")
    var json = false

    func run() throws {
        let context = CommandContext(json: json)
        defer { context.close() }
        if !json { context.endWithReader() }
        if let doubt = host?.doubt { context.say(doubt) }
        var counts: [Finding.Verdict: Int] = [:]
        examine(while: { context.latch.current == nil }) { finding in
            counts[finding.verdict, default: 0] += 1
            context.events.write(
                .list(
                    .finding(
                        subject: finding.subject, verdict: finding.verdict.rawValue, text: finding.text,
                        figures: finding.figures.fields)))
            if !json { Console.list(DoctorText.line(finding.subject, finding.verdict, finding.text)) }
        }
        let worst = counts.keys.max() ?? .good
        context.events.write(.list(.diagnosis(verdict: worst.rawValue, counts: counts.mapKeys(\.rawValue))))
        if !json { Console.list(DoctorText.conclusion(counts)) }
        if worst == .broken { throw ExitStatus(1) }
    }

    private func examine(while isWanted: @escaping () -> Bool, _ found: (Finding) -> Void) {
        switch host?.kind {
        case nil: Doctor.examine(found)
        case .endpoint(let endpoint)?:
            PathDoctor.examine(.endpoint(endpoint), named: host?.text ?? "", while: isWanted, found)
        case .name(let name, let address)?:
            PathDoctor.examine(.name(name, address: address), named: name, while: isWanted, found)
        }
    }
}

/// What the doctor's lines say.
enum DoctorText {
    static func verdict(_ verdict: Finding.Verdict) -> String {
        switch verdict {
        case .good: "good"
        case .improvable: "could be better"
        case .broken: "doesn't work"
        }
    }

    static func line(_ subject: String, _ verdict: Finding.Verdict, _ text: String) -> String {
        "\(subject): \(self.verdict(verdict)). \(text)"
    }

    static func conclusion(_ counts: [Finding.Verdict: Int]) -> String {
        let (broken, improvable) = (counts[.broken] ?? 0, counts[.improvable] ?? 0)
        if broken == 0, improvable == 0 { return "All is good." }
        let parts = [
            broken == 0 ? nil : "\(broken) \(broken == 1 ? "thing doesn't" : "things don't") work",
            improvable == 0 ? nil : "\(improvable) could be better",
        ]
        return parts.compactMap { $0 }.joined(separator: ", ") + "."
    }
}

extension Dictionary {
    fileprivate func mapKeys<Other: Hashable>(_ change: (Key) -> Other) -> [Other: Value] {
        Dictionary<Other, Value>(uniqueKeysWithValues: map { (change($0.key), $0.value) })
    }
}
