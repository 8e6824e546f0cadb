import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A host, a relay that watches it, and the relay's viewers, in virtual time: two networks, joined as the program joins them.
struct RelayChain {
    var upper: Simulation
    var lower: Simulation
    private var keyframes = RelayedKeyframes()
    private var keyframeDue: MediaTime?
    private var requestsSeen = 0
    /// When the host was asked for a keyframe by the relay.
    private(set) var asked: [MediaTime] = []
    private(set) var condition = RelayCondition()
    private var eventsSeen = 0
    private var picture = RelayedPicture()
    private var (patchesSeen, demandsSeen, exactSeen) = (0, 0, 0)
    private(set) var shown: [SourceVisibility] = []

    init(seed: UInt64 = 1, upper conditions: LinkConditions, hasSound: Bool = false, hasPatches: Bool = false) {
        upper = Simulation(seed: seed)
        (upper.source.hasSound, upper.source.hasPatches) = (hasSound, hasPatches)
        upper.media.conditions = conditions
        upper.mediaBack.conditions = LinkConditions(delay: conditions.delay)
        var watching = ViewerSession.Configuration.secure(knows: true)
        (watching.buffer, watching.takesSound, watching.takesPatches) = (.zero, hasSound, true)
        upper.startHost(
            acceptance: .none, trust: HostTrust(own: .host, remembered: [.viewer: "relay"], code: .none))
        upper.addViewer(configuration: watching)
        upper.viewers[0].relayed = []
        upper.wish(0) { $0.patchTakers = [] }
        upper.handleAtViewer(0, .relayed([]))
        lower = Simulation(seed: seed &+ 77)
        lower.source.isElsewhere = true
        lower.source.hasSound = hasSound
        let known = (1...8).map { (DeviceKey.made($0), "viewer \($0)") }
        lower.startHost(
            acceptance: .none,
            trust: HostTrust(own: .host, remembered: Dictionary(known, uniquingKeysWith: { $1 }), code: .none),
            relays: 1)
    }

    /// A viewer of the relay that hears, too.
    mutating func joinWithSound() {
        var configuration = ViewerSession.Configuration.secure(knows: true, device: .made(1))
        configuration.takesSound = true
        lower.addViewer(from: .v4(0x0A00_0100), configuration: configuration)
        lower.setConditions(0, LinkConditions(delay: .milliseconds(1)))
    }

    /// A viewer of the relay with a window, perhaps. Answers its index.
    @discardableResult
    mutating func join(takesPatches: Bool) -> Int {
        let index = lower.viewers.count
        var configuration = ViewerSession.Configuration.secure(
            knows: true, device: .made(UInt8(index + 1)), instance: UInt64(index + 1))
        configuration.takesPatches = takesPatches
        lower.addViewer(from: .v4(0x0A00_0100 + UInt32(index)), configuration: configuration)
        lower.setConditions(index, LinkConditions(delay: .milliseconds(1)))
        return index
    }

    mutating func run(_ seconds: Double) {
        for _ in 0..<Int(seconds * 1000) { step() }
    }

    private mutating func step() {
        let now = upper.now + .milliseconds(1)
        upper.drive(until: now, or: nil)
        var changes: [RelayCondition.Change] = []
        for event in upper.viewer.events[eventsSeen...] { changes += condition.handle(event.event) }
        eventsSeen = upper.viewer.events.count
        let (frames, sounds) = upper.takeRelayed(0)
        for frame in frames {
            changes += condition.frameArrived()
            if frame.isKeyframe { keyframes.came() }
            lower.pass(picture.frame(frame, now: now))
        }
        for sound in sounds { lower.pass(EncodedSound(relaying: sound, now: now), number: sound.number) }
        for patch in upper.viewer.patches[patchesSeen...].compactMap(picture.patch) { lower.pass(patch) }
        patchesSeen = upper.viewer.patches.count
        for change in changes {
            switch change {
            case .visibility(let visibility):
                shown.append(visibility)
                lower.handleAtHost(.sourceVisibility(visibility))
            case .patches(let isSo): lower.handleAtHost(.passesPatches(isSo))
            default: break
            }
        }
        lower.drive(until: now, or: nil)
        passRequestsOn()
        for _ in lower.keyframeRequests[requestsSeen...] {
            switch keyframes.wanted(now: now) {
            case .ask: ask(now)
            case .wait(let time): keyframeDue = time
            case .nothing: break
            }
        }
        requestsSeen = lower.keyframeRequests.count
        if let due = keyframeDue, due <= now {
            keyframeDue = nil
            if keyframes.due(now: now) { ask(now) }
        }
    }

    /// Who watches at the relay, and what they haven't exactly.
    private mutating func passRequestsOn() {
        for (_, demand, layer) in lower.demands[demandsSeen...] where layer == 0 {
            upper.handleAtViewer(0, .relayed(PatchTakers(demand)))
        }
        for tiles in lower.exactWanted[exactSeen...] { upper.want(exact: tiles, by: 0) }
        (demandsSeen, exactSeen) = (lower.demands.count, lower.exactWanted.count)
    }

    private mutating func ask(_ now: MediaTime) {
        asked.append(now)
        upper.handleAtViewer(0, .keyframeWanted)
    }
}
