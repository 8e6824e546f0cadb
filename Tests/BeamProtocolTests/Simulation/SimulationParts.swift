import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

extension Simulation {
    /// A viewer's own links, one for each direction.
    struct Links {
        var down: Link
        var up: Link
    }

    /// A viewer with its decoder and its end of the network.
    /// A class, because without optimisation each look at a part of a struct in an array copies all of it.
    final class Viewer {
        let device: DeviceKey
        /// Its datagrams' source address; the viewer doesn't know it.
        var address: IPAddress
        var session: ViewerSession
        var wishes = ViewerWishes()
        var deadline = MediaTime.zero
        /// Events of earlier connections and sockets are ignored.
        var connection: ConnectionID?
        var localPort: UInt16?
        var lastPort: UInt16 = 40000
        var hostPort: UInt16 = 0
        var decoder = TestFrame.Decoder()
        var events: [(time: MediaTime, event: ViewerEvent)] = []
        /// `age`: time since the capture, as far as the viewer knows.
        var frames: [(time: MediaTime, number: UInt32, isKeyframe: Bool, layer: Int, age: Duration?)] = []
        /// The frames' ages on arrival, before the playout buffer, as far as the viewer knows.
        var ages: [Duration] = []
        var sounds: [ReceivedSound] = []
        var patches: [ReceivedPatch] = []
        var hashes: [ReceivedHashes] = []
        var pointers: [(time: MediaTime, pointer: ScreenPointer)] = []
        /// What was delivered, to be passed on; nil: it isn't.
        var relayed: [ReceivedFrame]?
        var relayedSound: [ReceivedSound] = []
        /// Nil: it uses the simulation's links.
        var links: Links?
        /// What the host sent to it, including what was lost.
        var sent = (datagrams: 0, bytes: 0)

        init(device: DeviceKey, address: IPAddress, session: ViewerSession, deadline: MediaTime, lastPort: UInt16) {
            self.device = device
            self.address = address
            self.session = session
            self.deadline = deadline
            self.lastPort = lastPort
        }

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
        /// The screen doesn't change: there are only requested keyframes.
        var isStill = false
        var encodes = Duration.milliseconds(5)
        /// The minimum size of a keyframe, in seconds of the rate that the paths carry.
        var keyframeShare = 0.25
        /// What the encoder can't go below, however low the rate.
        var leastFrameBytes = 200
        var leastKeyframeBytes = 200
        /// The host is a relay: its frames and its sound come from elsewhere.
        var isElsewhere = false
        /// The host may send sound; it plays some, a packet each 10 ms; it did before.
        var hasSound = false
        var playsSound = true
        var playedSound = false
        /// The host may send exact patches.
        var hasPatches = false
        /// The host tells hashes of its picture.
        var hasHashes = false
        /// The host may tell the pointer.
        var hasPointer = false
    }
}

extension Simulation {
    /// Gives the host a frame or sound from elsewhere: it is a relay (`Source.isElsewhere`).
    mutating func pass(_ frame: EncodedFrame) {
        let now = now
        host?.handleFrame(frame, now: now)
        pumpHost()
    }

    mutating func pass(_ sound: EncodedSound, number: UInt32) {
        let now = now
        host?.handleSound(sound, number: number, now: now)
        pumpHost()
    }

    mutating func pass(_ patch: ExactPatch) {
        let now = now
        host?.handlePatch(patch, now: now)
        pumpHost()
    }

    mutating func pass(_ hashes: PictureHashes) {
        let now = now
        host?.handleHashes(hashes, now: now)
        pumpHost()
    }

    mutating func pass(_ pointer: ScreenPointer) {
        let now = now
        host?.handlePointer(pointer, now: now)
        pumpHost()
    }

    /// A viewer asks for these tiles.
    mutating func want(exact tiles: [PixelRect], by index: Int) {
        let now = now
        viewers[index].session.handle(.exactWanted(tiles), now: now)
        pumpViewer(index)
    }

    /// A viewer wants to compare.
    mutating func wantHashes(by index: Int) {
        let now = now
        viewers[index].session.handle(.hashesWanted, now: now)
        pumpViewer(index)
    }

    /// What a viewer has got to pass on since the last call.
    mutating func takeRelayed(_ index: Int) -> (frames: [ReceivedFrame], sounds: [ReceivedSound]) {
        defer { (viewers[index].relayed, viewers[index].relayedSound) = ([], []) }
        return (viewers[index].relayed ?? [], viewers[index].relayedSound)
    }

    /// A host and a viewer.
    static func pair(seed: UInt64 = 1, acceptance: Door.Acceptance = .all) -> Simulation {
        var simulation = Simulation(seed: seed)
        simulation.startHost(acceptance: acceptance)
        simulation.addViewer()
        return simulation
    }

    /// A host and a viewer of version 2; they are paired unless `trust` says otherwise.
    static func securePair(
        seed: UInt64 = 1, acceptance: Door.Acceptance = .none,
        trust: HostTrust = HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none),
        viewer: ViewerSession.Configuration = .secure(knows: true)
    ) -> Simulation {
        var simulation = Simulation(seed: seed)
        simulation.startHost(acceptance: acceptance, trust: trust)
        simulation.addViewer(configuration: viewer)
        return simulation
    }

    /// Adds a viewer of version 2 with its own device, address and link. Answers its index.
    @discardableResult
    mutating func join(
        _ conditions: LinkConditions, back: LinkConditions? = nil, decodesFullChroma: Bool = true,
        bounds: PictureBounds? = .standard
    ) -> Int {
        let index = viewers.count
        var configuration = ViewerSession.Configuration.secure(
            knows: true, device: .made(UInt8(index + 1)), instance: UInt64(index + 1))
        configuration.decodesFullChroma = decodesFullChroma
        addViewer(from: .v4(0x0A00_0100 + UInt32(index)), configuration: configuration)
        wish(index) { $0.bounds = bounds }
        setConditions(index, conditions, back: back)
        return index
    }

    /// Adds a viewer of version 2 behind the bottleneck that all viewers without links of their own share. Answers its index.
    @discardableResult
    mutating func joinShared() -> Int {
        let index = viewers.count
        addViewer(
            from: .v4(0x0A00_0100 + UInt32(index)),
            configuration: .secure(knows: true, device: .made(UInt8(index + 1)), instance: UInt64(index + 1)))
        return index
    }

    /// An honest viewer, and a liar whose own feedback is lost: the test sends other feedback in its name (`liarSays`).
    /// Both have watched for 2 s.
    static func honestAndLiar(seed: UInt64, _ source: Source) -> Simulation {
        var simulation = Simulation(seed: seed)
        simulation.source = source
        let remembered = [DeviceKey.made(1): "honest", DeviceKey.made(2): "liar"]
        simulation.startHost(acceptance: .none, trust: HostTrust(own: .host, remembered: remembered, code: .none))
        let lan = LinkConditions(delay: .milliseconds(1))
        simulation.join(lan)
        simulation.join(lan)
        simulation.drive(for: .seconds(2))
        simulation.setConditions(1, lan, back: LinkConditions(isMuted: true))
        return simulation
    }

    /// Sends feedback sealed with the liar's key, and also a hello if `hello`.
    mutating func liarSays(_ feedback: Feedback?, hello: Bool) throws {
        let liar = viewers[1]
        guard let port = liar.localPort, let sealer = liar.session.receiver.keys?.own.sealer else { return }
        let address = NetworkAddress(ip: liar.address, port: port)
        if let feedback, !feedback.isEmpty {
            datagram(try sealer.seal(.feedback, feedback.plaintext), from: address)
        }
        if hello { datagram(try sealer.seal(.hello, SealedHello(time: now).plaintext), from: address) }
    }
}
