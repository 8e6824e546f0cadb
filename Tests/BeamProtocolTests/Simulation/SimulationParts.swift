import BeamMedia

@testable import BeamProtocol

extension Simulation {
    /// A viewer's own way from the host, and to it.
    struct Links {
        var down: Link
        var up: Link
    }

    /// A viewer, its decoder, and its end of the network.
    struct Viewer {
        let device: DeviceKey
        /// Changes where its datagrams come from, without its knowing.
        var address: IPAddress
        var session: ViewerSession
        var deadline = MediaTime.zero
        /// Connections and sockets that are no longer the present one's are no longer listened to.
        var connection: ConnectionID?
        var localPort: UInt16?
        var lastPort: UInt16 = 40000
        var hostPort: UInt16 = 0
        var decoder = TestFrame.Decoder()
        var events: [(time: MediaTime, event: ViewerEvent)] = []
        /// `age`: since the screen looked like that, as far as the viewer knew.
        var frames: [(time: MediaTime, number: UInt32, isKeyframe: Bool, layer: Int, age: Duration?)] = []
        /// How old the frames were when they had arrived, before any buffer, as far as the viewer knew.
        var ages: [Duration] = []
        /// Nil: it shares the simulation's.
        var links: Links?
        /// What the host has sent to it, whether it arrived or not.
        var sent = (datagrams: 0, bytes: 0)

        /// The longest time without a frame between two times.
        func longestPause(from start: MediaTime, to end: MediaTime) -> Duration {
            let times = [start] + frames.map(\.time).filter { $0 > start && $0 < end } + [end]
            return zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .zero
        }
    }

    struct Source {
        var framesPerSecond = 30
        var frameBytes = 12_000
        var keyframeBytes = 60_000
        /// Nothing changes on the screen: only keyframes that were asked for.
        var isStill = false
        var encodes = Duration.milliseconds(5)
        /// What a keyframe takes at the least, in seconds of the rate that the paths carry.
        var keyframeShare = 0.25
    }
}

extension Simulation {
    /// A host and a viewer.
    static func pair(seed: UInt64 = 1, acceptance: HostSession.Acceptance = .all) -> Simulation {
        var simulation = Simulation(seed: seed)
        simulation.startHost(acceptance: acceptance)
        simulation.addViewer()
        return simulation
    }

    /// A host and a viewer that speak version 2, and were paired before unless `trust` says otherwise.
    static func securePair(
        seed: UInt64 = 1, acceptance: HostSession.Acceptance = .none,
        trust: HostTrust = HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none),
        viewer: ViewerSession.Configuration = .secure(knows: true)
    ) -> Simulation {
        var simulation = Simulation(seed: seed)
        simulation.startHost(acceptance: acceptance, trust: trust)
        simulation.addViewer(configuration: viewer)
        return simulation
    }

    /// One more viewer of version 2, with a device, an address and a link of its own. Answers its index.
    @discardableResult
    mutating func join(_ weather: Weather, back: Weather? = nil, decodesFullChroma: Bool = true) -> Int {
        let index = viewers.count
        var configuration = ViewerSession.Configuration.secure(
            knows: true, device: .made(UInt8(index + 1)), instance: UInt64(index + 1))
        configuration.decodesFullChroma = decodesFullChroma
        addViewer(from: .v4(0x0A00_0100 + UInt32(index)), configuration: configuration)
        setWeather(index, weather, back: back)
        return index
    }

    /// An honest viewer, and a liar whose own feedback is lost: the test says something else in its name (`liarSays`). Both have
    /// watched for two seconds.
    static func honestAndLiar(seed: UInt64, _ source: Source) -> Simulation {
        var simulation = Simulation(seed: seed)
        simulation.source = source
        let remembered = [DeviceKey.made(1): "honest", DeviceKey.made(2): "liar"]
        simulation.startHost(acceptance: .none, trust: HostTrust(own: .host, remembered: remembered, code: .none))
        let lan = Weather(delay: .milliseconds(1))
        simulation.join(lan)
        simulation.join(lan)
        simulation.drive(for: .seconds(2))
        simulation.setWeather(1, lan, back: Weather(isMuted: true))
        return simulation
    }

    /// What the liar says now, sealed with its own key; with a hello if `hello`.
    mutating func liarSays(_ feedback: Feedback?, hello: Bool) throws {
        let liar = viewers[1]
        guard let port = liar.localPort, let sealer = liar.session.membership?.sealing?.hellos else { return }
        let address = NetworkAddress(ip: liar.address, port: port)
        if let feedback, !feedback.isEmpty {
            datagram(try sealer.seal(.feedback, feedback.plaintext), from: address)
        }
        if hello { datagram(try sealer.seal(.hello, SealedHello(time: now).plaintext), from: address) }
    }
}
