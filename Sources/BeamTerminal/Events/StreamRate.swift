import BeamClock
import BeamHost
import BeamMedia
import BeamSession

/// Frames and bits a second of a stream.
public struct StreamRate: Sendable {
    public var framesPerSecond: Double
    public var bitsPerSecond: Double

    /// Between two of the stream's totals. `previous` nil: there was nothing before. Totals that are smaller than before
    /// have begun anew: those of a browser whose socket was lost, and that comes again.
    init(_ total: (frames: UInt64, bytes: UInt64), since previous: (frames: UInt64, bytes: UInt64)?, seconds: Double) {
        framesPerSecond = Double(Self.growth(total.frames, since: previous?.frames)) / seconds
        bitsPerSecond = Double(Self.growth(total.bytes, since: previous?.bytes)) * 8 / seconds
    }

    private static func growth(_ total: UInt64, since previous: UInt64?) -> UInt64 {
        guard let previous, previous <= total else { return total }
        return total - previous
    }

    /// Of all that a host sends. `previous` nil: this is the first second.
    public init(_ report: HostReport, since previous: HostReport?) {
        self.init(
            (report.session.frames, report.session.bytes),
            since: previous.map { ($0.session.frames, $0.session.bytes) }, seconds: Self.seconds(report, previous))
    }

    /// Of all that it has sent in so many seconds.
    init(_ report: HostReport, in seconds: Double) {
        self.init((report.session.frames, report.session.bytes), since: nil, seconds: seconds)
    }

    fileprivate static func seconds(_ report: HostReport, _ previous: HostReport?) -> Double {
        previous.map { max(0.001, (report.time - $0.time).inSeconds) } ?? 1
    }

    var fields: [String: any EventField] { ["fps": framesPerSecond, "kbps": bitsPerSecond / 1000] }

    static func kilobits(_ bitsPerSecond: Int?) -> Double? { bitsPerSecond.map { Double($0) / 1000 } }
}

/// One viewer's rates in the last second, for `stats` and for the terminal.
public struct ViewerRate: Sendable {
    let viewer: ViewerFigures
    let rate: StreamRate

    /// Of each viewer of a report.
    public static func all(_ report: HostReport, since previous: HostReport?) -> [ViewerRate] {
        let seconds = StreamRate.seconds(report, previous)
        let earlier = Dictionary((previous?.viewers ?? []).map { ($0.session, $0) }, uniquingKeysWith: { $1 })
        return report.viewers.map { viewer in
            let before = earlier[viewer.session]
            return ViewerRate(
                viewer: viewer,
                rate: StreamRate(
                    (viewer.frames, viewer.bytes), since: before.map { ($0.frames, $0.bytes) }, seconds: seconds))
        }
    }

    var fields: [String: any EventField] {
        rate.fields.merging([
            "name": viewer.name, "address": "\(viewer.address)", "session": viewer.session,
            "encrypted": viewer.isEncrypted, "watching": viewer.isWatching, "gateway": viewer.gateway,
            "layer": viewer.isReduced ? 1 : 0,
            "loss": viewer.loss, "rttMs": viewer.roundTrip?.inMilliseconds,
            "pathKbps": StreamRate.kilobits(viewer.pathRate), "skipped": viewer.skipped,
            "retransmitted": viewer.retransmissions, "seconds": (MediaTime.now - viewer.since).inSeconds,
        ]) { $1 }
    }
}
