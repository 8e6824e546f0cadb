import BeamClock
import BeamMedia
import BeamNetwork
import BeamSockets
import Foundation

/// All viewers on one event loop: with a thread each, the scheduler would be measured.
struct Crowd {
    let host: String
    let port: UInt16
    let population: Population
    let groups: [Group]
    let first: Int
    let sharesAddress: Bool

    /// How long after the end of measuring frames that were sent before may arrive.
    private static let grace = 0.5

    func run(begin: Double, seconds: Double) throws {
        let loop = NetworkLoop()
        defer { loop.shutdown() }
        let start = MediaTime.now
        Output.write(Moment(event: "started", time: start))
        var joins = groups.flatMap { group in (0..<group.count).map { (group, group.moment(of: $0)) } }
        joins.sort { $0.1 < $1.1 }
        // Keys are read before, so that this doesn't add to the time of joining.
        _ = try joins.indices.map { _ = try population.viewer(first + $0) }
        let measured = start + .seconds(clamping: begin)..<start + .seconds(clamping: begin + seconds)
        var told = 0
        func tell(until time: MediaTime) {
            for (event, moment) in [("begin", measured.lowerBound), ("end", measured.upperBound)].dropFirst(told)
            where moment <= time {
                Self.sleep(until: moment)
                Output.write(Moment(event: event, time: moment))
                told += 1
            }
        }
        var viewers: [LightViewer] = []
        for (index, (group, after)) in joins.enumerated() {
            let moment = start + .seconds(clamping: after)
            tell(until: moment)
            Self.sleep(until: moment)
            viewers.append(
                try LightViewer(
                    number: first + index, group: group.name, host: host, port: port, population: population,
                    options: ViewerClient.Options(
                        loop: loop, source: sharesAddress ? nil : Self.address(first + index), usesSystemTimes: true)))
        }
        tell(until: .distantFuture)
        Self.sleep(until: measured.upperBound + .seconds(clamping: Self.grace))
        let analysis = Analysis(
            viewers: viewers.map { viewer in
                let (state, statistics) = viewer.end()
                return Analysis.Viewer(viewer: viewer, state: state, statistics: statistics)
            }, measured: measured, start: start)
        Output.write(analysis.result())
    }

    /// Each viewer has an address of its own, as the machines of a room do.
    static func address(_ number: Int) -> String { "127.0.\(1 + number / 250).\(1 + number % 250)" }

    private static func sleep(until time: MediaTime) {
        let wait = (time - .now).inSeconds
        if wait > 0 { Thread.sleep(forTimeInterval: wait) }
    }

    struct Moment: Encodable {
        var event: String
        var time: Double

        init(event: String, time: MediaTime) {
            self.event = event
            self.time = time.inSeconds
        }
    }
}

extension MediaTime {
    /// Of CLOCK_MONOTONIC.
    var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

/// One JSON object a line.
enum Output {
    static func write(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("numbers that aren't finite have no JSON form")
        }
        FileHandle.standardOutput.write(data + [0x0A])
    }
}
