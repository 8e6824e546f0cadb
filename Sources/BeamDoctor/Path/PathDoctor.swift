import BeamClock
import BeamMedia
import BeamNetwork
import BeamTrust
import BeamViewer
import BeamWire
import Glibc

/// Measures the path from this machine to another one.
///
/// Nothing is sent to anybody but that machine, except the questions that find it by its name. All ends within
/// `longest`; about 1 MB is sent.
public enum PathDoctor {
    /// Of an examination, whatever the network does.
    static let longest = Duration.seconds(15)
    /// For the name: Avahi knows all hosts of a network within two seconds or so.
    private static let searching = Duration.seconds(4)
    /// The resolver of the system may wait for a server that doesn't answer.
    private static let longestSearch = Duration.seconds(6)
    /// Of a TCP connection, and of the first echoes.
    private static let connecting = Duration.milliseconds(1500)
    private static let securing = Duration.seconds(2)

    /// - Parameters:
    ///   - text: the target as the person has typed it.
    ///   - isWanted: asked several times a second; if it is false, the examination ends.
    ///   - found: called for each finding as soon as it is there, on the calling thread.
    public static func examine(
        _ target: ViewerOptions.Target, named text: String, while isWanted: @escaping () -> Bool,
        _ found: (Finding) -> Void
    ) {
        let end = MediaTime.now + longest
        let lookup: Result<HostLookup, HostLookup.Failure>? = Bounded.run(within: longestSearch) {
            do throws(HostLookup.Failure) {
                return .success(try HostLookup.find(target, store: try? TrustStore(), within: searching))
            } catch {
                return .failure(error)
            }
        }
        let place: HostLookup
        switch lookup ?? .failure(.unknown) {
        case .success(let lookup): place = lookup
        case .failure(let failure):
            return found(
                PathReach.unknown(text, failure, seconds: Int((lookup == nil ? longestSearch : searching).inSeconds)))
        }
        var reach = PathReach(
            text: text, address: place.address, way: place.way, problem: place.problem,
            route: NetworkRoute.to(place.address.ip))
        found(reach.name)
        found(reach.routeFinding)
        guard reach.route != nil else { return }

        let runner = knock(&reach, end: end, while: isWanted)
        guard isWanted() else { return }
        for finding in [reach.pingFinding, reach.portFinding] + [reach.keptApart].compactMap({ $0 }) { found(finding) }
        if let runner, reach.ping == .answered {
            measure(reach, runner, while: isWanted, found)
        } else if reach.port.isAnswer {
            let trips = PortProbe.roundTrips(
                to: reach.address, count: 20, every: .milliseconds(50), until: end, while: isWanted)
            if let trips {
                for finding in [PathVerdicts.roundTrip(trips, byTCP: true), PathVerdicts.jitter(trips)] {
                    found(finding)
                }
            }
        }
    }

    /// Looks whether anything answers. Nil: no echoes can be sent.
    private static func knock(
        _ reach: inout PathReach, end: MediaTime, while isWanted: @escaping () -> Bool
    ) -> EchoRunner? {
        var runner: EchoRunner?
        do throws(EchoSocket.Failure) {
            let echoes = EchoRunner(try EchoSocket(to: reach.address.ip), end: end, while: isWanted)
            reach.ping = answers(echoes) ? .answered : .unanswered
            runner = echoes
        } catch {
            reach.ping =
                switch error {
                case .forbidden: .forbidden
                case .system(let code): .failed(code)
                }
        }
        guard isWanted() else { return nil }
        reach.port = PortProbe.connect(to: reach.address, until: min(end, .now + connecting)).state
        if reach.port == .open, isWanted() {
            reach.answer = HostProbe.ask(reach.address, within: min(securing, max(.milliseconds(1), end - .now)))
        }
        // What was asked meanwhile has been answered, or has not.
        if let route = reach.route, route.gateway == nil { reach.neighbour = route.neighbour(reach.address.ip) }
        return runner
    }

    /// One of several echoes has come back. A machine that sleeps, or a Wi-Fi that saves power, may lose the first ones.
    private static func answers(_ runner: EchoRunner) -> Bool {
        for patience in [500, 700] {
            let plan = (0..<3).map { EchoRunner.Planned(after: .milliseconds(100 * $0), size: 84) }
            if runner.run(plan, patience: .milliseconds(patience)).contains(where: { $0.arrived != nil }) {
                return true
            }
        }
        return false
    }

    // MARK: What is measured by echoes

    private static func measure(
        _ reach: PathReach, _ runner: EchoRunner, while isWanted: () -> Bool, _ found: (Finding) -> Void
    ) {
        let plan = (0..<100).map { EchoRunner.Planned(after: .milliseconds(20 * $0), size: 84) }
        let echoes = runner.run(plan, patience: .seconds(1))
        guard isWanted() else { return }
        guard let trips = RoundTrips(echoes) else {
            return found(
                Finding("loss", .broken, "It answered some echoes at first, and none of \(plan.count) afterwards."))
        }
        for finding in [
            PathVerdicts.roundTrip(trips, byTCP: false), PathVerdicts.jitter(trips), PathVerdicts.loss(trips),
        ] { found(finding) }
        let mtu = mtu(reach, runner, trips, while: isWanted)
        guard isWanted() else { return }
        let interface = reach.route?.interface ?? ""
        found(
            mtu.map { PathVerdicts.mtu($0, isV6: reach.address.ip.isV6, interface: interface) }
                ?? PathVerdicts.unfinished("mtu"))
        let (rate, trains) = rate(runner, size: max(mtu?.size ?? 0, 576), while: isWanted)
        if isWanted() { found(trains > 0 ? PathVerdicts.rate(rate) : PathVerdicts.unfinished("rate")) }
    }

    /// How long an echo may be away: by far longer than those before were, and than a busy machine is late.
    private static func patience(_ trips: RoundTrips) -> Duration {
        .milliseconds(min(1000, max(500, 4 * trips.p95)))
    }

    /// Nil: the time was over before.
    private static func mtu(
        _ reach: PathReach, _ runner: EchoRunner, _ trips: RoundTrips, while isWanted: () -> Bool
    ) -> PathMTU? {
        var search = MTUSearch()
        // At 5 % loss, three echoes of one size are all lost once in 8000 times; at 20 %, five once in 3000.
        let copies = trips.loss > 0.05 ? 5 : 3
        for _ in 0..<6 {
            let reported = EchoSocket.reportedMTU(reach.address.ip)
            let sizes = search.sizes(reported: reported)
            guard !sizes.isEmpty else { return PathMTU(search, reported: reported) }
            let all = (0..<copies).flatMap { _ in sizes }
            let plan = all.enumerated().map { EchoRunner.Planned(after: .milliseconds(2 * $0), size: $1) }
            let echoes = runner.run(plan, patience: patience(trips))
            guard !runner.isOver, isWanted() else { return nil }
            search.note(
                echoes.compactMap { echo -> (size: Int, outcome: MTUSearch.Outcome)? in
                    if echo.isTooLong { return (echo.size, .tooLong) }
                    return echo.sent.map { _ in (echo.size, echo.arrived == nil ? .lost : .passed) }
                })
        }
        return nil
    }

    /// And how many trains were sent.
    ///
    /// - Parameter size: of the largest packets that pass.
    private static func rate(
        _ runner: EchoRunner, size: Int, while isWanted: () -> Bool
    ) -> (rate: TrainRate?, trains: Int) {
        let begun = MediaTime.now
        var rates: [TrainRate] = []
        var trains = 0
        // Ten trains, or as many as a slow path takes in three seconds.
        while trains < 10, MediaTime.now - begun < .seconds(3), !runner.isOver, isWanted() {
            // Some systems answer 250 echoes a second and no more: this is below.
            let rest = (begun + .milliseconds(150 * trains) - .now).inNanoseconds / 1000
            if rest > 0 { usleep(UInt32(clamping: rest)) }
            let plan = (0..<32).map { _ in EchoRunner.Planned(after: .zero, size: size) }
            if let rate = TrainRate(runner.run(plan, patience: .seconds(1), quiet: .milliseconds(200))) {
                rates.append(rate)
            }
            trains += 1
        }
        return (TrainRate(median: rates), trains)
    }
}
