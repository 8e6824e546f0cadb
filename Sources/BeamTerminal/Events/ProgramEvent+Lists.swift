import BeamDiscovery
import BeamLog
import BeamMedia
import BeamNetwork
import BeamTrust
import BeamWire
import Foundation

extension ProgramEvent {
    /// What `hosts`, `devices`, `doctor`, `config` and `status` list and change.
    public enum List: Sendable {
        case host(DiscoveredHost)
        case receiver(DiscoveredHost)
        /// `doors`: at least one.
        case room(name: String, members: Int, doors: [Endpoint])
        case device(RememberedDevice, isWatching: Bool)
        /// A viewer that watches and isn't remembered.
        case guest(Guest)
        case renamed(RememberedDevice, to: String)
        case forgotten(TrustStore.Eviction)
        /// What the doctor has found of one thing. `figures`: what was measured of the path to another machine.
        case finding(subject: String, verdict: String, text: String, figures: [String: JSONValue] = [:])
        /// The worst verdict, and how often there was which.
        case diagnosis(verdict: String, counts: [String: Int])
        /// A running program's state, as it has told it: fields of `RunningStatus`.
        case status([String: JSONValue])
        /// What another program has asked for is done.
        case done
        /// It isn't. The reason has no full stop.
        case refused(reason: String)
        case settingsFile(path: String, isThere: Bool)
        /// What is in force for a command's option. `value`: nil: nothing. `line`, `profile`: where the file sets it.
        case setting(command: String, name: String, value: JSONValue?, from: String, line: Int?, profile: String?)

        var record: Record {
            switch self {
            case .host(let host): Record("host", host.fields)
            case .receiver(let receiver): Record("receiver-found", receiver.fields)
            case .room(let name, let members, let doors):
                Record(
                    "room-found",
                    [
                        "name": name, "here": members, "address": doors.first?.host,
                        "port": doors.first.map { Int($0.port) }, "addresses": doors.map(\.host),
                    ])
            case .device(let device, let isWatching):
                Record(
                    "device",
                    [
                        "name": device.name, "key": device.key.description,
                        "roles": device.roles.map(\.rawValue).sorted(),
                        "paired": device.pairedAt.formatted(.iso8601), "remembered": true, "watching": isWatching,
                        "places": device.places.isEmpty ? nil : device.places,
                    ])
            case .guest(let guest):
                Record(
                    "device",
                    guest.identity.fields(address: guest.shownName).merging([
                        "name": guest.shownName, "roles": ["viewer"], "remembered": false, "watching": true,
                    ]) { $1 })
            case .renamed(let device, let name):
                Record("renamed", ["name": name, "before": device.name, "key": device.key.description])
            case .forgotten(let eviction):
                Record(
                    "forgotten",
                    eviction.identity.fields(address: nil).merging([
                        "name": eviction.name, "remembered": eviction.wasRemembered,
                        "watching": eviction.wasWatching,
                    ]) { $1 })
            case .finding(let subject, let verdict, let text, let figures):
                Record(
                    "finding",
                    (figures as [String: any EventField]).merging([
                        "subject": subject, "verdict": verdict, "text": text,
                    ]) { $1 })
            case .diagnosis(let verdict, let counts):
                Record(
                    "diagnosis",
                    ["verdict": verdict, "counts": JSONValue.object(counts.mapValues { .number(Double($0)) })])
            case .status(let fields): Record("status", fields.filter { $0.key != "event" && $0.key != "t" })
            case .done: Record("done")
            case .refused(let reason): Record("error", ["what": "request", "reason": reason])
            case .settingsFile(let path, let isThere): Record("settings-file", ["path": path, "found": isThere])
            case .setting(let command, let name, let value, let origin, let line, let profile):
                Record(
                    "setting",
                    [
                        "command": command, "name": name, "value": value, "from": origin, "line": line,
                        "profile": profile,
                    ])
            }
        }
    }

    /// Of `measure`.
    public enum Measure: Sendable {
        /// A repetition, as it stands in results.jsonl.
        case result([String: JSONValue])
        /// A cell's ratios, or differences, by figure.
        case comparison(cell: String, against: String, figures: [String: JSONValue])
        case report(results: String, path: String)

        var record: Record {
            switch self {
            case .result(let fields): Record("result", fields)
            case .comparison(let cell, let against, let figures):
                Record("comparison", ["cell": cell, "against": against, "figures": JSONValue.object(figures)])
            case .report(let results, let path): Record("report", ["results": results, "report": path])
            }
        }
    }
}

extension Guest.Identity {
    /// The first digits of its key, or its address. `address`: as it is to be written; nil: as it is.
    fileprivate func fields(address text: String?) -> [String: any EventField] {
        switch self {
        case .device(let key): ["key": key.description]
        case .address(let address): ["address": text ?? "\(address)"]
        case .browser(let session): ["session": session]
        }
    }
}

extension DiscoveredHost {
    fileprivate var fields: [String: any EventField] {
        [
            "name": PeerText.name(name), "port": Int(port), "hostName": hostName, "address": addresses.first,
            "addresses": addresses,
        ]
    }
}
