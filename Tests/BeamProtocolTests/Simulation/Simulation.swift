import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A host and viewers over a simulated network in virtual time. There is one host at a time, and any number of viewers.
/// Events happen in the order of their times, and in the same order for the same seed.
struct Simulation {
    private enum Event {
        case toHost(Door.Input)
        case connect(viewer: Int, ConnectionID, ViewerSession.Version)
        case bytesToHost(ConnectionID, [UInt8])
        case viewerCloses(ConnectionID)
        case datagramToHost([UInt8], from: NetworkAddress, port: UInt16)
        case toViewer(Int, ViewerSession.Input, ConnectionID?)
        case mediaOpened(viewer: Int, port: UInt16)
        case datagramToViewer([UInt8], NetworkAddress)
        case tick
        case soundTick
        /// The layer's last picture is encoded (again) as a keyframe.
        case keyframe(layer: Int)
        case encoded(EncodedFrame)
    }

    private(set) var now = MediaTime.zero
    private var queue: [(time: MediaTime, order: Int, generation: Int?, event: Event)] = []
    private var order = 0
    private var random: SeededGenerator
    private let seed: UInt64

    var host: HostSession?
    /// `host` is there: asking it for that would copy it.
    private var isHosting = false
    /// Counts hosts: events for an earlier host are dropped.
    private var generation = 0
    private var hostDeadline = MediaTime.zero
    /// How often the host's deadline has passed.
    private(set) var hostWakes = 0
    private var hostPort: UInt16 = 0
    private(set) var hostEvents: [(time: MediaTime, event: HostEvent)] = []
    private var lastConnection: UInt64 = 0
    private var open: [ConnectionID: Int] = [:]
    /// Connections of version 2.
    private var secure: Set<ConnectionID> = []
    /// The key that the host proves to hold.
    var hostKey = DeviceKey.host
    private(set) var demands: [(time: MediaTime, demand: StreamDemand, layer: Int)] = []
    /// When the host asked its encoders for keyframes.
    private(set) var keyframeRequests: [MediaTime] = []
    private(set) var soundDemand = SoundDemand()
    /// The tiles that the host's viewers have asked for.
    private(set) var exactWanted: [[PixelRect]] = []
    /// How often hashes were wanted of the host.
    private(set) var hashesWanted = 0
    /// Packets of sound that the host was given.
    private(set) var soundCount = 0
    private(set) var bursts: [(time: MediaTime, burst: MediaBurst)] = []

    var viewers: [Viewer] = []
    var source = Source()
    /// An encoder for each layer.
    private var encoders = [Encoder(), Encoder()]

    private struct Encoder {
        var frameIndex: UInt32 = 0
        var needsKeyframe = false
        /// The last frame that the next one may refer to, and whether the last frame was disposable.
        var reference: UInt32 = 0
        var wasDisposable = false
        var demand = StreamDemand()
        /// A picture came while the layer was held or its encoder was busy.
        var hasMissed = false
        var isBusy = false
        /// Pictures since the last coded one.
        var pictures = 0
    }

    /// Both directions for viewers without links of their own.
    var media: Link
    var mediaBack: Link
    var controlDelay = Duration.milliseconds(1)
    /// Control connections break, and new ones fail.
    private(set) var isControlCut = false

    init(seed: UInt64 = 1) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        media = Link(seed: seed &+ 1000)
        mediaBack = Link(seed: seed &+ 2000)
        schedule(.tick, at: .zero)
        schedule(.soundTick, at: .zero)
    }

    var viewer: Viewer { viewers[0] }

    // MARK: What tests call

    mutating func startHost(
        port: UInt16 = 52346, acceptance: Door.Acceptance = .all, pacing: Pacing = Pacing(),
        trust: HostTrust = HostTrust(own: .host, code: .none), usesFullChroma: Bool = false,
        bitRate: Int = 20_000_000, relays: Int = 0
    ) {
        generation += 1
        var configuration = HostSession.Configuration(
            door: Door.Configuration(acceptance: acceptance, trust: trust, allowsUnencrypted: true),
            broadcast: Broadcast.Configuration(
                pacing: pacing, bitRate: bitRate, usesFullChroma: usesFullChroma, hasSound: source.hasSound,
                hasPatches: source.hasPatches, hasPointer: source.hasPointer, hasReducedLayer: relays == 0))
        configuration.broadcast.hasHashes = source.hasHashes
        configuration.door.relays = relays
        soundDemand = SoundDemand()
        host = HostSession(configuration: configuration, random: SeededGenerator(seed: random.next()))
        isHosting = true
        hostPort = port
        // New encoders.
        for layer in encoders.indices {
            let next = encoders[layer].frameIndex + 1_000_000
            encoders[layer] = Encoder(frameIndex: next)
        }
        handleAtHost(.mediaPort(port))
        handleAtHost(.broadcast(true))
    }

    /// The host's process dies: its connections are reset, its media stop.
    mutating func killHost() {
        host = nil
        isHosting = false
        generation += 1
        breakConnections()
    }

    mutating func addViewer(from address: IPAddress = .v4(0x0A00_0002), code: String = "482913") {
        addViewer(from: address, configuration: .version1(code: code))
    }

    mutating func addViewer(
        from address: IPAddress = .v4(0x0A00_0002), configuration: ViewerSession.Configuration
    ) {
        viewers.append(
            Viewer(
                device: configuration.trust.own, address: address,
                session: ViewerSession(configuration: configuration, random: SeededGenerator(seed: random.next())),
                deadline: now, lastPort: 40000 + UInt16(viewers.count) * 1000))
        pumpViewer(viewers.count - 1)
    }

    /// Gives the viewer links of its own, under these conditions from now on.
    mutating func setConditions(_ index: Int, _ down: LinkConditions, back up: LinkConditions? = nil) {
        var links =
            viewers[index].links
            ?? Links(down: Link(seed: seed &+ 3000 &+ UInt64(index)), up: Link(seed: seed &+ 4000 &+ UInt64(index)))
        links.down.conditions = down
        links.up.conditions = up ?? LinkConditions(delay: down.delay)
        viewers[index].links = links
    }

    /// The viewer's machine changes its network.
    mutating func move(_ index: Int, to address: IPAddress) { viewers[index].address = address }

    /// A viewer's process dies.
    mutating func killViewer(_ index: Int) {
        viewers[index].localPort = nil
        viewers[index].deadline = .distantFuture
        viewers[index].session = ViewerSession(
            configuration: .version1(code: "000000"), random: SeededGenerator(seed: 1))
        if let connection = viewers[index].connection { close(connection) }
        viewers[index].connection = nil
    }

    mutating func handleAtHost(_ input: Door.Input) {
        host?.handle(input, now: now)
        pumpHost()
    }

    mutating func handleAtHost(_ input: HostSession.Input) {
        host?.handle(input, now: now)
        pumpHost()
    }

    mutating func handleAtViewer(_ index: Int, _ input: ViewerSession.Input) {
        viewers[index].session.handle(input, now: now)
        pumpViewer(index)
    }

    mutating func wish(_ index: Int, _ body: (inout ViewerWishes) -> Void) {
        body(&viewers[index].wishes)
        handleAtViewer(index, .wishes(viewers[index].wishes))
    }

    mutating func cutControl() {
        isControlCut = true
        breakConnections()
    }

    mutating func restoreControl() { isControlCut = false }

    /// Sends a datagram to the host's media port from any address.
    mutating func datagram(_ bytes: [UInt8], from address: NetworkAddress) {
        schedule(.datagramToHost(bytes, from: address, port: hostPort), at: now)
    }

    /// Sends a message of version 2 to the host in a viewer's name.
    mutating func say(_ message: SecureMessage, of index: Int) {
        guard let id = viewers[index].connection else { return }
        schedule(.bytesToHost(id, message.bytes), at: now + controlDelay)
    }

    mutating func drive(for duration: Duration) { drive(until: now + duration, or: nil) }

    /// Runs until `end`, or until the condition holds.
    mutating func drive(until end: MediaTime, or condition: ((Simulation) -> Bool)?) {
        while condition?(self) != true {
            var next = queue.first?.time ?? .distantFuture
            if isHosting { next = min(next, hostDeadline) }
            for viewer in viewers { next = min(next, viewer.deadline) }
            guard next <= end else {
                now = end
                return
            }
            now = max(now, next)
            if let first = queue.first, first.time <= now {
                queue.removeFirst()
                if first.generation == nil || first.generation == generation { perform(first.event) }
            }
            if isHosting, hostDeadline <= now {
                hostWakes += 1
                pumpHost()
            }
            for index in viewers.indices where viewers[index].deadline <= now { pumpViewer(index) }
        }
    }

    func times(of isIt: (ViewerEvent) -> Bool) -> [Double] {
        viewer.events.filter { isIt($0.event) }.map(\.time.seconds)
    }

    // MARK: Events

    private mutating func schedule(_ event: Event, at time: MediaTime, generation: Int? = nil) {
        order += 1
        // Most events are due after all that wait.
        var index = queue.endIndex
        while index > 0, queue[index - 1].time > time { index -= 1 }
        queue.insert((time, order, generation, event), at: index)
    }

    private mutating func perform(_ event: Event) {
        switch event {
        case .toHost(let input):
            handleAtHost(input)
        case .connect(let viewer, let id, let version):
            guard isHosting, !isControlCut else {
                schedule(.toViewer(viewer, .controlClosed(reason: "refused"), id), at: now + controlDelay)
                return
            }
            open[id] = viewer
            handleAtHost(.connectionOpened(id, from: viewers[viewer].address))
            if version == .version2 {
                secure.insert(id)
                handleAtHost(.connectionSecured(id, viewers[viewer].device))
            }
            schedule(
                .toViewer(viewer, version == .version2 ? .controlSecured(hostKey) : .controlConnected, id),
                at: now + controlDelay)
        case .bytesToHost(let id, let bytes):
            guard open[id] != nil else { break }
            handleAtHost(secure.contains(id) ? .connectionMessage(id, bytes) : .connectionBytes(id, bytes))
        case .viewerCloses(let id):
            if open.removeValue(forKey: id) != nil { handleAtHost(.connectionClosed(id)) }
        case .datagramToHost(let bytes, let address, let port):
            guard port == hostPort else { return }
            bytes.withUnsafeBytes { host?.handleDatagram($0, from: address, now: now) }
            pumpHost()
        case .toViewer(let index, let input, let connection):
            guard connection == nil || viewers[index].connection == connection else { return }
            if case .controlClosed = input { viewers[index].connection = nil }
            handleAtViewer(index, input)
        case .mediaOpened(let index, let port):
            guard viewers[index].localPort == port else { return }
            handleAtViewer(index, .mediaOpened(localPort: port))
        case .datagramToViewer(let bytes, let address):
            guard let index = viewer(at: address) else { return }
            bytes.withUnsafeBytes { viewers[index].session.handleDatagram($0, now: now) }
            pumpViewer(index)
        case .tick:
            schedule(.tick, at: now + .nanoseconds(1_000_000_000 / Int64(source.framesPerSecond)))
            if !source.isStill, !source.isElsewhere { for layer in encoders.indices { tick(layer) } }
        case .soundTick:
            schedule(.soundTick, at: now + SoundBlock.duration)
            playSound()
        case .keyframe(let layer):
            if encoders[layer].needsKeyframe || encoders[layer].hasMissed { capture(layer) }
        case .encoded(let frame):
            encoders[frame.layer].isBusy = false
            host?.handleFrame(frame, now: now)
            pumpHost()
        }
    }

    private mutating func playSound() {
        guard source.hasSound, !source.isElsewhere, isHosting else { return }
        defer { source.playedSound = source.playsSound }
        guard source.playsSound, soundDemand.isAny else { return }
        soundCount += 1
        host?.handleSound(
            EncodedSound(
                full: soundDemand.full ? [UInt8](repeating: 1, count: 160) : nil,
                reduced: soundDemand.reduced ? [UInt8](repeating: 2, count: 80) : nil, time: now,
                begins: !source.playedSound),
            now: now)
        pumpHost()
    }

    /// A new picture has come. Some of them may be left out.
    private mutating func tick(_ layer: Int) {
        encoders[layer].pictures += 1
        let demand = encoders[layer].demand
        let divisor = demand.frameRate.map { Int((Double(source.framesPerSecond) / $0).rounded(.up)) } ?? 1
        guard encoders[layer].pictures >= max(divisor, demand.frameDivisor) || encoders[layer].needsKeyframe else {
            return
        }
        encoders[layer].pictures = 0
        capture(layer)
    }

    private mutating func capture(_ layer: Int) {
        let demand = encoders[layer].demand
        guard demand.isWatched, !source.isElsewhere else { return }
        guard !demand.isHeld, !encoders[layer].isBusy else {
            encoders[layer].hasMissed = true
            return
        }
        let isKeyframe = encoders[layer].needsKeyframe
        encoders[layer].needsKeyframe = false
        encoders[layer].hasMissed = false
        encoders[layer].isBusy = true
        encoders[layer].frameIndex += 1
        let index = encoders[layer].frameIndex
        var bytes = isKeyframe ? source.keyframeBytes : source.frameBytes
        if let rate = demand.bitRate {
            let share = isKeyframe ? source.keyframeShare : 1 / Double(source.framesPerSecond)
            let least = isKeyframe ? source.leastKeyframeBytes : source.leastFrameBytes
            bytes = min(bytes, max(least, Int(Double(rate) / 8 * share)))
        }
        let isDisposable = demand.wantsTemporalLayers && !isKeyframe && !encoders[layer].wasDisposable
        var frame = TestFrame.make(
            index, reference: isKeyframe ? nil : encoders[layer].reference, bytes: bytes, time: now)
        frame.unit.isDisposable = isDisposable
        encoders[layer].wasDisposable = isDisposable
        if !isDisposable { encoders[layer].reference = index }
        frame.layer = layer
        schedule(.encoded(frame), at: now + source.encodes, generation: generation)
    }

    private mutating func breakConnections() {
        for id in open.keys.sorted(by: { $0.value < $1.value }) { close(id) }
    }

    /// Reports the close to both ends, to the other one a little later.
    private mutating func close(_ id: ConnectionID) {
        guard let viewer = open.removeValue(forKey: id) else { return }
        schedule(.toHost(.connectionClosed(id)), at: now, generation: generation)
        schedule(
            .toViewer(viewer, .controlClosed(reason: "the other side has closed the connection"), id),
            at: now + controlDelay)
    }

    // MARK: What the sessions decide

    mutating func pumpHost() {
        while let output = host?.pollOutput(now: now) {
            switch output {
            case .wait(let time, _):
                hostDeadline = time
                return
            case .send(let id, let bytes):
                guard let viewer = open[id] else { break }
                guard !secure.contains(id) else {
                    schedule(.toViewer(viewer, .controlMessage(bytes), id), at: now + controlDelay)
                    break
                }
                for part in cut(bytes) { schedule(.toViewer(viewer, .controlBytes(part), id), at: now + controlDelay) }
            case .close(let id):
                close(id)
            case .transmit(let burst):
                bursts.append(
                    (now, MediaBurst(bytes: [], range: burst.range, segmentSize: 1200, address: burst.address)))
                for start in stride(from: burst.range.lowerBound, to: burst.range.upperBound, by: burst.segmentSize) {
                    let bytes = Array(burst.bytes[start..<min(start + burst.segmentSize, burst.range.upperBound)])
                    carry(bytes, to: burst.address)
                }
            case .requestKeyframe(let layer):
                keyframeRequests.append(now)
                if source.isElsewhere { break }
                encoders[layer].needsKeyframe = true
                if source.isStill { schedule(.keyframe(layer: layer), at: now, generation: generation) }
            case .demand(let demand, let layer):
                let wasHeld = encoders[layer].demand.isHeld
                encoders[layer].demand = demand
                demands.append((now, demand, layer))
                if wasHeld, !demand.isHeld { schedule(.keyframe(layer: layer), at: now, generation: generation) }
            case .soundDemand(let demand): soundDemand = demand
            case .exactWanted(let tiles): exactWanted.append(tiles)
            case .hashesWanted: hashesWanted += 1
            // No browser comes.
            case .browser: break
            case .event(let event):
                hostEvents.append((now, event))
            }
        }
    }

    private func viewer(at address: NetworkAddress) -> Int? {
        viewers.firstIndex { $0.address == address.ip && $0.localPort == address.port }
    }

    /// Sends a host's datagram over the network.
    private mutating func carry(_ bytes: [UInt8], to address: NetworkAddress) {
        var times: [MediaTime]?
        if let index = viewer(at: address) {
            viewers[index].sent.datagrams += 1
            viewers[index].sent.bytes += bytes.count
            times = viewers[index].links?.down.arrivals(of: bytes.count, now: now)
        }
        for time in times ?? media.arrivals(of: bytes.count, now: now) {
            schedule(.datagramToViewer(bytes, address), at: time)
        }
    }

    mutating func pumpViewer(_ index: Int) {
        while true {
            switch viewers[index].session.pollOutput(now: now) {
            case .wait(let time, _):
                viewers[index].deadline = time
                return
            case .connectControl(let version):
                lastConnection += 1
                viewers[index].connection = ConnectionID(lastConnection)
                schedule(.connect(viewer: index, ConnectionID(lastConnection), version), at: now + controlDelay)
            case .sendControl(let bytes):
                guard let id = viewers[index].connection else { break }
                guard version(of: bytes) == .version1 else {
                    schedule(.bytesToHost(id, bytes), at: now + controlDelay)
                    break
                }
                for part in cut(bytes) { schedule(.bytesToHost(id, part), at: now + controlDelay) }
            case .closeControl:
                guard let id = viewers[index].connection else { break }
                viewers[index].connection = nil
                // After what was sent on the connection before.
                schedule(.viewerCloses(id), at: now + controlDelay, generation: generation)
            case .openMedia(let port):
                viewers[index].lastPort += 1
                viewers[index].localPort = viewers[index].lastPort
                viewers[index].hostPort = port
                schedule(.mediaOpened(viewer: index, port: viewers[index].lastPort), at: now)
            case .closeMedia:
                viewers[index].localPort = nil
            case .sendMedia(let bytes):
                guard let port = viewers[index].localPort else { break }
                let address = NetworkAddress(ip: viewers[index].address, port: port)
                let times =
                    viewers[index].links?.up.arrivals(of: bytes.count, now: now)
                    ?? mediaBack.arrivals(of: bytes.count, now: now)
                for time in times {
                    schedule(.datagramToHost(bytes, from: address, port: viewers[index].hostPort), at: time)
                }
            case .deliver(let frame):
                viewers[index].decoder.decode(frame)
                viewers[index].relayed?.append(frame)
                let age = frame.captureTime.map { now - $0 }
                viewers[index].frames.append((now, frame.number, frame.isKeyframe, frame.layer, age))
                if let capture = frame.captureTime { viewers[index].ages.append(frame.lastArrival - capture) }
            case .patch(let patch): viewers[index].patches.append(patch)
            case .hashes(let hashes): viewers[index].hashes.append(hashes)
            case .pointer(let pointer): viewers[index].pointers.append((now, pointer))
            case .sound(let sound):
                viewers[index].sounds.append(sound)
                viewers[index].relayedSound.append(sound)
            case .event(let event):
                viewers[index].events.append((now, event))
            }
        }
    }

    private func version(of bytes: [UInt8]) -> ViewerSession.Version {
        bytes.first == UInt8(ascii: "{") ? .version1 : .version2
    }

    /// TCP keeps the bytes' order, but not the bounds of writes.
    private mutating func cut(_ bytes: [UInt8]) -> [[UInt8]] {
        let middle = Int.random(in: 0...bytes.count, using: &random)
        return [Array(bytes[..<middle]), Array(bytes[middle...])].filter { !$0.isEmpty }
    }
}
