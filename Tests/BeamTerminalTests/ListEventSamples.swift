import Foundation

@testable import BeamDiscovery
@testable import BeamHost
@testable import BeamIdentity
@testable import BeamLog
@testable import BeamMedia
@testable import BeamNetwork
@testable import BeamSession
@testable import BeamSound
@testable import BeamTerminal
@testable import BeamTrust
@testable import BeamViewer
@testable import BeamWire

/// Events of the commands that list something, or measure it.
enum ListSample: SampleKind {
    case host, receiver, room, device, guest, renamed, forgotten, finding, diagnosis, settingsFile, setting, status,
        done, refused

    init(_ event: ProgramEvent.List) {
        switch event {
        case .host: self = .host
        case .receiver: self = .receiver
        case .room: self = .room
        case .device: self = .device
        case .guest: self = .guest
        case .renamed: self = .renamed
        case .forgotten: self = .forgotten
        case .finding: self = .finding
        case .diagnosis: self = .diagnosis
        case .status: self = .status
        case .done: self = .done
        case .refused: self = .refused
        case .settingsFile: self = .settingsFile
        case .setting: self = .setting
        }
    }

    var samples: [ProgramEvent.List] {
        func host(_ addresses: [String]) -> DiscoveredHost {
            DiscoveredHost(
                name: "desk", hostName: "desk.local", port: 1, addresses: addresses, txt: [:], isLocal: false)
        }
        func device(_ places: [String]) -> RememberedDevice {
            RememberedDevice(name: "sofa", key: Sample.key, roles: [.viewer], pairedAt: Date(), places: places)
        }
        let identities: [Guest.Identity] = [.device(Sample.key), .address(.v4(1)), .browser(session: "B")]
        return switch self {
        case .host: [["192.0.2.7"], []].map { .host(host($0)) }
        case .receiver: [["192.0.2.7"], []].map { .receiver(host($0)) }
        case .room: [.room(name: "study", members: 1, doors: [Sample.door])]
        case .device: [["192.0.2.7:52345"], []].map { .device(device($0), isWatching: false) }
        case .guest: identities.map { .guest(Guest(identity: $0, name: nil)) }
        case .renamed: [.renamed(device([]), to: "couch")]
        case .forgotten:
            identities.map {
                .forgotten(TrustStore.Eviction(name: "sofa", identity: $0, wasRemembered: true, wasWatching: true))
            }
        case .finding:
            [
                .finding(subject: "screen", verdict: "good", text: "This is display :0."),
                .finding(
                    subject: "rate", verdict: "good", text: "It carries it.",
                    figures: [
                        "address": .string("192.0.2.7"), "interface": .string("eth0"), "rttMs": .number(0.4),
                        "rttP95Ms": .number(0.9), "jitterMs": .number(0.5), "loss": .number(0), "mbit": .number(940),
                        "atLeast": .bool(true), "mtu": .integer(1500),
                    ]),
            ]
        case .diagnosis: [.diagnosis(verdict: "good", counts: ["good": 14])]
        case .status:
            [
                RunningStatus(
                    .room, name: "sofa", room: ("study", ["sofa"]),
                    stream: RunningStatus.Stream(
                        Sample.factsWithBrowsers, isPaused: false, rate: StreamRate(Sample.report(isFull: true), in: 1)),
                    asking: []),
                RunningStatus(.relay, name: "sofa", stream: nil, asking: ["“tablet” (192.0.2.8)"]),
            ].map { .status($0.fields(seconds: 1)) }
        case .done: [.done]
        case .refused: [.refused(reason: "no viewer is called “sofa”")]
        case .settingsFile: [.settingsFile(path: "/home/ada/.config/beamroom/config.toml", isThere: true)]
        case .setting:
            [
                .setting(command: "share", name: "bind", value: nil, from: "built-in", line: nil, profile: nil),
                .setting(
                    command: "share", name: "source", value: .string("pattern"), from: "file", line: 3, profile: "talk"),
            ]
        }
    }
}

enum MeasureSample: SampleKind {
    case result, comparison, report

    init(_ event: ProgramEvent.Measure) {
        switch event {
        case .result: self = .result
        case .comparison: self = .comparison
        case .report: self = .report
        }
    }

    var samples: [ProgramEvent.Measure] {
        switch self {
        case .result: [.result([:])]
        case .comparison: [.comparison(cell: "c", against: "old.jsonl", figures: [:])]
        case .report: [.report(results: "results.jsonl", path: "report.html")]
        }
    }
}
