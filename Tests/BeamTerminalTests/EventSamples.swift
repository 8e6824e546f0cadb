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

/// The cases of a part of `ProgramEvent`, by name. A new case of the event doesn't compile without one here (`init`), which
/// doesn't without samples.
protocol SampleKind: CaseIterable, Equatable {
    associatedtype Event: Sendable
    init(_ event: Event)
    /// With all fields that the case can have, and with as few as it can have.
    var samples: [Event] { get }
}

enum Sample {
    static let key = DeviceKey([UInt8](repeating: 1, count: 32))!
    static let visitor = Visitor(address: .v4(0xC000_0207), name: "sofa")
    static let nameless = Visitor(address: .v4(0xC000_0207), name: nil)
    static let size = PixelSize(width: 1280, height: 720)
    static let door = Endpoint(host: "192.0.2.7", port: 52345)
    static let member = ProgramEvent.Room.Member(key, "sofa")
    static let latency = LatencyHistogram.Summary(median: 1, p95: 2, max: 3)

    static let facts = HostDescription(
        name: "desk", source: "the screen", size: size, frameRate: 60, bitRate: 8_000_000, encoder: "libx264",
        bindAddress: nil, controlPort: 52345, mediaPort: 52346)

    static func report(isFull: Bool) -> HostReport {
        var statistics = HostStatistics()
        if isFull { statistics.pathRate = 1_000_000 }
        return HostReport(
            time: .zero, session: statistics, viewers: [], captured: 1, encoded: 1, replaced: 0, size: size,
            layers: [HostReport.Layer(isWatched: true)], soundPackets: isFull ? 7 : nil,
            recording: isFull ? .init(path: "a.mkv") : nil,
            capture: isFull ? latency : nil, encode: nil)
    }

    static func watched(isFull: Bool) -> ViewerReport {
        var statistics = ViewerStatistics()
        if isFull {
            (statistics.estimatedRate, statistics.usedRate) = (1_000_000, 900_000)
            (statistics.roundTrip, statistics.clockError) = (.milliseconds(1), .milliseconds(1))
        }
        return ViewerReport(
            session: statistics, decoded: 1, shown: 1, replaced: 0, size: isFull ? size : nil,
            decoder: isFull ? "software" : nil, patches: isFull ? 1 : nil,
            exactness: isFull ? Exactness(share: 1) : nil,
            framesPerSecond: 30, bitsPerSecond: 1e6,
            sound: isFull ? SoundFigures() : nil, times: isFull ? [.capture: latency] : [:])
    }

    static func line(_ content: LogContent) -> LogLine {
        LogLine(
            author: key, name: "sofa", isOwn: false, isKeepers: false, isClaim: true, content: content,
            time: .seconds(1),
            age: .zero)
    }

    static var factsWithBrowsers: HostDescription {
        var facts = facts
        facts.web = HostDescription.Web(
            port: 52347, mediaPort: 52348, packetsUnavailable: nil, fingerprint: (0..<32).map { $0 })
        return facts
    }

    static let limit = PictureLimit(full: size, sent: size, bounds: PictureBounds(sides: size, area: 921_600))
    static let camera = OutputPath(kind: .camera, path: "/dev/video10")
    static let files = [OutputPath.Kind.recording, .frames, .transcript, .sound].map { OutputPath(kind: $0, path: "f") }
}

enum PairingSample: SampleKind {
    case asked, wrongCode, comparisonFailed, refused, connectionsRefused, unknownPeers, codeChanged, devicePaired, letIn
    case getsPicture, left, sentAway, listening, webCodeChanged

    init(_ event: ProgramEvent.Pairing) {
        switch event {
        case .asked: self = .asked
        case .wrongCode: self = .wrongCode
        case .comparisonFailed: self = .comparisonFailed
        case .refused: self = .refused
        case .connectionsRefused: self = .connectionsRefused
        case .unknownPeers: self = .unknownPeers
        case .codeChanged: self = .codeChanged
        case .devicePaired: self = .devicePaired
        case .letIn: self = .letIn
        case .getsPicture: self = .getsPicture
        case .left: self = .left
        case .sentAway: self = .sentAway
        case .listening: self = .listening
        case .webCodeChanged: self = .webCodeChanged
        }
    }

    var samples: [ProgramEvent.Pairing] {
        let visitors = [Sample.visitor, Sample.nameless]
        return switch self {
        case .asked: visitors.map { .asked($0) }
        case .wrongCode: [.wrongCode(Sample.visitor, pauseSeconds: 3), .wrongCode(Sample.nameless, pauseSeconds: nil)]
        case .comparisonFailed: visitors.map { .comparisonFailed($0, reason: "r", failures: 1) }
        case .refused: visitors.map { .refused($0, reason: "r") }
        case .connectionsRefused: [.connectionsRefused(count: 2, addresses: 1)]
        case .unknownPeers: [.unknownPeers(what: "visits", count: 2, addresses: 1, seconds: 10)]
        case .codeChanged:
            [
                .codeChanged(
                    CodeChange(
                        code: nil, service: .everybody, reason: .byMember, member: Sample.key, left: .seconds(600))),
                .codeChanged(CodeChange(code: nil, service: .everybody, reason: .used, left: nil)),
            ]
        case .devicePaired: [.devicePaired(name: "sofa", isRemembered: true)]
        case .letIn: visitors.map { .letIn($0, session: "s", isResumed: false) }
        case .getsPicture: [.getsPicture(NetworkAddress(ip: .v4(1), port: 2), session: "s")]
        case .left: visitors.map { .left($0, session: "s", reason: "r") }
        case .sentAway: [.sentAway(name: "sofa", isForGood: false)]
        case .listening: [.listening(failure: "r"), .listening(failure: nil)]
        case .webCodeChanged:
            [.seconds(600), nil].map { left in
                .webCodeChanged(CodeChange(code: nil, service: .everybody, reason: .used, left: left))
            }
        }
    }
}

enum ShareSample: SampleKind {
    case ready, browserStarted, gateway, paused, sourceVisible, sound, soundFailed, layer, viewerLimited, overload
    case recording, recordingFailed
    case transcriptFailed, stats, summary

    init(_ event: ProgramEvent.Share) {
        switch event {
        case .ready: self = .ready
        case .paused: self = .paused
        case .sourceVisible: self = .sourceVisible
        case .sound: self = .sound
        case .soundFailed: self = .soundFailed
        case .browserStarted: self = .browserStarted
        case .gateway: self = .gateway
        case .layer: self = .layer
        case .viewerLimited: self = .viewerLimited
        case .overload: self = .overload
        case .recording: self = .recording
        case .recordingFailed: self = .recordingFailed
        case .transcriptFailed: self = .transcriptFailed
        case .stats: self = .stats
        case .summary: self = .summary
        }
    }

    var samples: [ProgramEvent.Share] {
        let rate = StreamRate(Sample.report(isFull: true), in: 1)
        return switch self {
        case .ready: [.ready(Sample.facts), .ready(Sample.factsWithBrowsers, metricsPort: 9464)]
        case .browserStarted:
            [nil, "wss://a"].map { .browserStarted(session: "s", milliseconds: 70, gateway: $0) }
        case .gateway:
            [
                .gateway("wss://g", .ready(again: false)), .gateway("wss://g", .problem(.silent)),
                .gateway("wss://g", .viewers(3)),
            ]
        case .paused: [.paused(true)]
        case .sourceVisible: SourceVisibility.allCases.map { .sourceVisible($0) }
        case .sound:
            [
                .sound(.capturing(name: "d")), .sound(.noServer(reason: "r")), .sound(.noDevice(name: nil)),
                .sound(.onlyMonitor(name: "d")), .sound(.lost),
            ]
        case .soundFailed: [.soundFailed(reason: "r")]
        case .layer:
            [.layer(session: "s", isReduced: true, why: .size), .layer(session: "s", isReduced: false, why: .wish)]
        case .viewerLimited: [.viewerLimited(session: "s", Sample.limit), .viewerLimited(session: "s", nil)]
        case .overload: [.overload(.rate, viewers: 2)]
        case .recording: [.recording(path: "f")]
        case .recordingFailed: [.recordingFailed(reason: "r")]
        case .transcriptFailed: [.transcriptFailed(reason: "r")]
        case .stats: [true, false].map { .stats(Sample.report(isFull: $0), rate, []) }
        case .summary: [true, false].map { .summary(Sample.report(isFull: $0), rate) }
        }
    }
}

enum WatchSample: SampleKind {
    case searching, connecting, connection, asking, codeNeeded, refused, letIn, firstFrame, pictureLimited, quality
    case sourceVisible, broadcast, stalled, resumed, retrying, mediaReconnecting, controlLost, controlRestored,
        hostEnded
    case sound, soundIsOwn, screenshotSaved, screenshotFailed, writing, fileBehind, fileCaughtUp, fileFailed, stats,
        summary

    init(_ event: ProgramEvent.Watch) {
        switch event {
        case .searching: self = .searching
        case .connecting: self = .connecting
        case .connection: self = .connection
        case .asking: self = .asking
        case .codeNeeded: self = .codeNeeded
        case .refused: self = .refused
        case .letIn: self = .letIn
        case .firstFrame: self = .firstFrame
        case .pictureLimited: self = .pictureLimited
        case .quality: self = .quality
        case .sourceVisible: self = .sourceVisible
        case .broadcast: self = .broadcast
        case .stalled: self = .stalled
        case .resumed: self = .resumed
        case .retrying: self = .retrying
        case .mediaReconnecting: self = .mediaReconnecting
        case .controlLost: self = .controlLost
        case .controlRestored: self = .controlRestored
        case .hostEnded: self = .hostEnded
        case .sound: self = .sound
        case .soundIsOwn: self = .soundIsOwn
        case .screenshot(.written): self = .screenshotSaved
        case .screenshot(.failed): self = .screenshotFailed
        case .writing: self = .writing
        case .fileBehind: self = .fileBehind
        case .fileCaughtUp: self = .fileCaughtUp
        case .fileFailed: self = .fileFailed
        case .stats: self = .stats
        case .summary: self = .summary
        }
    }

    var samples: [ProgramEvent.Watch] {
        switch self {
        case .searching: [.searching(name: "desk"), .searching(name: nil)]
        case .connecting: [.connecting(attempt: 1)]
        case .connection: [.connection(.stable)]
        case .asking: [.asking(name: "desk")]
        case .codeNeeded: [.codeNeeded(CodeQuestion(host: "desk"))]
        case .refused: [.refused(.wrongCode)]
        case .letIn:
            [
                .letIn(session: "s", name: "desk", isNew: true, isEncrypted: true),
                .letIn(session: "s", name: nil, isNew: true, isEncrypted: false),
            ]
        case .firstFrame: [.firstFrame(milliseconds: 1, Sample.size)]
        case .pictureLimited: [.pictureLimited(Sample.size), .pictureLimited(nil)]
        case .quality:
            [
                .quality(QualityWish(maxSize: 1280, bitRate: 2_000_000, frameRate: 15), isTaken: true),
                .quality(.any, isTaken: false),
            ]
        case .sourceVisible: SourceVisibility.allCases.map { .sourceVisible($0) }
        case .broadcast: [.broadcast(true)]
        case .stalled: [.stalled(.seconds(1), .loss)]
        case .resumed: [.resumed]
        case .retrying: [.retrying(after: .seconds(1), reason: "r")]
        case .mediaReconnecting: [.mediaReconnecting]
        case .controlLost: [.controlLost(reason: "r")]
        case .controlRestored: [.controlRestored]
        case .hostEnded: [.hostEnded(reason: "r"), .hostEnded(reason: nil)]
        case .sound:
            [
                .sound(.playing(name: nil)), .sound(.noSuchDevice(name: "d", names: ["e"])),
                .sound(.noOutput(reason: "r")), .sound(.lost),
            ]
        case .soundIsOwn: [.soundIsOwn]
        case .screenshotSaved: [.screenshot(.written(path: "/p/BeamRoom.png", Sample.size))]
        case .screenshotFailed: [.screenshot(.failed(reason: "r"))]
        case .writing: (Sample.files + [Sample.camera]).map { .writing($0) }
        case .fileBehind: Sample.files.map { .fileBehind($0) }
        case .fileCaughtUp: Sample.files.map { .fileCaughtUp($0, leftOut: 1) }
        case .fileFailed: (Sample.files + [Sample.camera]).map { .fileFailed($0, reason: "r") }
        case .stats: [true, false].map { .stats(Sample.watched(isFull: $0)) }
        case .summary: [true, false].map { .summary(Sample.watched(isFull: $0)) }
        }
    }
}

enum WordsSample: SampleKind {
    case began, history, otherVersion, partial, caption, note, alert, share, message, delivered, undelivered, slowed
    case unwritten, badMessage, badLine

    init(_ event: ProgramEvent.Words) {
        switch event {
        case .began: self = .began
        case .history: self = .history
        case .otherVersion: self = .otherVersion
        case .partial: self = .partial
        case .caption: self = .caption
        case .note: self = .note
        case .alert: self = .alert
        case .share: self = .share
        case .message: self = .message
        case .delivered: self = .delivered
        case .undelivered: self = .undelivered
        case .slowed: self = .slowed
        case .unwritten: self = .unwritten
        case .badMessage: self = .badMessage
        case .badLine: self = .badLine
        }
    }

    var samples: [ProgramEvent.Words] {
        let line = Sample.line(.note("text"))
        return switch self {
        case .began:
            [.began(completeSince: .zero, takesNotes: true), .began(completeSince: nil, takesNotes: true)]
        case .history: [.history(completeSince: .zero)]
        case .otherVersion: [.otherVersion(name: "desk")]
        case .partial:
            [
                .partial(author: Sample.key, name: "sofa", LogPartial(text: "t", speaker: "Anna")),
                .partial(author: Sample.key, name: "sofa", nil),
            ]
        case .caption: [.caption(line, text: "t", speaker: "Anna")]
        case .note: [.note(line, text: "t")]
        case .alert: [.alert(line, .batteryLow(percent: 3)), .alert(line, .paused)]
        case .share: [.share(line, isOn: true)]
        case .message:
            [
                .message(
                    LogIncomingMessage(
                        from: Sample.key, name: "sofa", id: "1", json: Array("{}".utf8), isForAll: true))
            ]
        case .delivered: [.delivered(id: "1", count: 1)]
        case .undelivered: [.undelivered(id: "1", .nobody)]
        case .slowed: [.slowed(true)]
        case .unwritten: [.unwritten(.note("t"), .notesOff)]
        case .badMessage: [.badMessage(from: Sample.key)]
        case .badLine: [.badLine(1, id: "1", reason: "r"), .badLine(1, id: nil, reason: "r")]
        }
    }
}

enum RoomSample: SampleKind {
    case whichRoom, codeNotTaken, refused, letIn, ready, nearRooms, otherRoom, moving, people, changed, shareBegan
    case shareEnded, putOut, notPutOut, putOutBy, wasPutOut, notIn, notAdmitted, forked, otherVersion, violated
    case linkRefused, relayAsked, relayWithdrawn, relayed, stats, summary

    init(_ event: ProgramEvent.Room) {
        switch event {
        case .whichRoom: self = .whichRoom
        case .codeNotTaken: self = .codeNotTaken
        case .refused: self = .refused
        case .letIn: self = .letIn
        case .ready: self = .ready
        case .nearRooms: self = .nearRooms
        case .otherRoom: self = .otherRoom
        case .moving: self = .moving
        case .people: self = .people
        case .changed: self = .changed
        case .shareBegan: self = .shareBegan
        case .shareEnded: self = .shareEnded
        case .putOut: self = .putOut
        case .notPutOut: self = .notPutOut
        case .putOutBy: self = .putOutBy
        case .wasPutOut: self = .wasPutOut
        case .notIn: self = .notIn
        case .notAdmitted: self = .notAdmitted
        case .forked: self = .forked
        case .otherVersion: self = .otherVersion
        case .violated: self = .violated
        case .linkRefused: self = .linkRefused
        case .relayAsked: self = .relayAsked
        case .relayWithdrawn: self = .relayWithdrawn
        case .relayed: self = .relayed
        case .stats: self = .stats
        case .summary: self = .summary
        }
    }

    var samples: [ProgramEvent.Room] {
        let (key, member) = (Sample.key, Sample.member)
        return switch self {
        case .whichRoom:
            [
                .whichRoom(
                    name: "study",
                    [ProgramEvent.Room.Candidate(members: 1, address: Sample.door, keys: [key], known: ["sofa"])])
            ]
        case .codeNotTaken: [.codeNotTaken(at: Sample.door, why: "wrong")]
        case .refused: [.refused(.wrongCode)]
        case .letIn: [.letIn(by: key)]
        case .ready:
            [nil, Sample.factsWithBrowsers.web].map {
                .ready(
                    room: "study", name: "sofa", key: key, port: 1, isProved: true, web: $0,
                    metricsPort: $0.map { _ in 9464 })
            }
        case .nearRooms: [.nearRooms(room: "study", near: ["studi"])]
        case .otherRoom:
            [
                .otherRoom(name: "study", members: 1, address: Sample.door),
                .otherRoom(name: "study", members: 1, address: nil),
            ]
        case .moving: [.moving(to: "study"), .moving(to: nil)]
        case .people: [.people([], own: key)]
        case .changed: ProgramEvent.Room.Change.allCases.map { .changed(member, $0) }
        case .shareBegan: [.shareBegan(Sample.facts)]
        case .shareEnded: [.shareEnded(reason: "r"), .shareEnded(reason: nil)]
        case .putOut: [.putOut(member, alsoLetIn: true)]
        case .notPutOut: [.notPutOut(name: "sofa", reason: "r")]
        case .putOutBy: [.putOutBy("desk", member)]
        case .wasPutOut: [.wasPutOut(reason: "r")]
        case .notIn: [.notIn(reason: "r")]
        case .notAdmitted: [.notAdmitted(key, reason: "r")]
        case .forked: [.forked(member)]
        case .otherVersion: [.otherVersion(key)]
        case .violated: [.violated(key, reason: "r")]
        case .linkRefused: [.linkRefused(by: member, reason: "r", seconds: 1)]
        case .relayAsked: [.relayAsked(member, through: member)]
        case .relayWithdrawn: [.relayWithdrawn(member)]
        case .relayed: [.relayed(member, through: member), .relayed(member, through: nil)]
        case .stats:
            [
                .stats(here: 2, sharing: 1, own: StreamRate(Sample.report(isFull: true), in: 1), viewers: 1),
                .stats(here: 2, sharing: 1, own: nil, viewers: 0, browsers: 1),
            ]
        case .summary: [.summary(seconds: 1)]
        }
    }
}

enum ReceiverSample: SampleKind {
    case waiting, awaited, showing, ended, busy, receiver

    init(_ event: ProgramEvent.Receiver) {
        switch event {
        case .waiting: self = .waiting
        case .awaited: self = .awaited
        case .showing: self = .showing
        case .ended: self = .ended
        case .busy: self = .busy
        case .receiver: self = .receiver
        }
    }

    var samples: [ProgramEvent.Receiver] {
        let sender = StationSession.Sender(device: Sample.key, name: "sofa", address: .v4(0xC000_0207))
        return switch self {
        case .waiting: [.waiting(name: "Hall", port: 52349, takesCode: true)]
        case .awaited: [.awaited(sender)]
        case .showing: [.showing(sender)]
        case .ended: [.ended(sender, .person), .ended(sender, .refused(reason: "r"))]
        case .busy: [.busy(sender)]
        case .receiver: [.receiver(.found, device: Sample.key, name: "Hall")]
        }
    }
}
