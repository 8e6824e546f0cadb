import BeamMedia
import BeamProtocol
import Synchronization

/// Lets the network, which starts first, speak to the stages in front of it, which start last.
final class Relay: Sendable {
    private struct Stages {
        var capture: CaptureStage?
        var encode: EncodeStage?
        var lanes = (0..<StreamDemand.laneCount).map { _ in Lane() }

        var isWatched: Bool { lanes.contains { $0.demand.isWatched } }
    }

    private struct Lane {
        var demand = StreamDemand()
        /// Asked for before there was an encoder.
        var needsKeyframe = false
    }

    private let stages = Mutex(Stages())
    private let guests: GuestKeeper

    init(guests: GuestKeeper) {
        self.guests = guests
    }

    /// What was asked for before the stages stood is done now.
    func connect(capture: CaptureStage, encode: EncodeStage) {
        let stages = self.stages.withLock { stages in
            stages.capture = capture
            stages.encode = encode
            return stages
        }
        for (index, lane) in stages.lanes.enumerated() {
            encode.setDemand(lane.demand, lane: index)
            if lane.needsKeyframe { encode.requestKeyframe(lane: index) }
        }
        capture.setActive(stages.isWatched)
    }

    func disconnect() {
        stages.withLock { stages in
            stages.capture = nil
            stages.encode = nil
        }
    }

    func requestKeyframe(lane: Int) {
        let encode = stages.withLock { stages in
            stages.lanes[lane].needsKeyframe = stages.encode == nil
            return stages.encode
        }
        encode?.requestKeyframe(lane: lane)
    }

    /// What the viewers' paths carry now, and whether there are any. While nobody watches any lane, nothing is captured.
    func setDemand(_ demand: StreamDemand, lane: Int) {
        let (stages, wasWatched) = self.stages.withLock { stages in
            let wasWatched = stages.isWatched
            stages.lanes[lane].demand = demand
            return (stages, wasWatched)
        }
        stages.encode?.setDemand(demand, lane: lane)
        if stages.isWatched != wasWatched { stages.capture?.setActive(stages.isWatched) }
    }

    func handle(_ event: HostEvent) { guests.handle(event) }
}
