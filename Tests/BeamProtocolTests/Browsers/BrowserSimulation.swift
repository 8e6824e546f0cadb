import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// An encoder, a stream and browsers in virtual time, one step a millisecond.
struct BrowserSimulation {
    /// The way to a browser and back.
    struct Link {
        var loss = 0.0
        var delay = Duration.milliseconds(3)
        /// Bits a second that it carries, with a queue of 100 ms; nil: any number.
        var rate: Double?
    }

    /// What the encoder makes.
    struct Source {
        var interval = 33
        /// Of a frame, in bytes, at the options' rate.
        var frameBytes = 12_000
        var keyframeBytes = 60_000
        var isOn = true
        var makesDisposable = false
        var hasSound = false
    }

    let configuration: BrowserStream.Configuration
    var stream: BrowserStream
    var source = Source()
    var browsers: [FakeBrowser] = []
    var links: [ConnectionID: Link] = [:]
    /// A page's units, and whether it acknowledges each at once.
    var units: [ConnectionID: [(time: MediaTime, unit: BrowserUnit)]] = [:]
    var acknowledges = true
    /// Nothing is encoded, whatever is asked for.
    var makesNothing = false
    private(set) var now = MediaTime.at(100)
    private(set) var keyframeRequests: [(time: MediaTime, layer: Int)] = []
    private(set) var demands: [(time: MediaTime, demand: StreamDemand, layer: Int)] = []
    private(set) var soundDemands: [SoundDemand] = []
    private(set) var events: [(time: MediaTime, event: BrowserStreamEvent)] = []
    /// Each packet with pictures that left: when, for whom, how many.
    private(set) var bursts: [(time: MediaTime, id: ConnectionID, count: Int, bytes: Int)] = []
    private(set) var framesMade = [0, 0]
    private(set) var errors: Set<String> = []
    /// What was wrong with the stream, and with what each browser decoded.
    var faults: [String] { errors.sorted() + browsers.flatMap { $0.errors + $0.decoder.errors } }

    private var random: SeededGenerator
    private var toBrowser: [(time: MediaTime, id: ConnectionID, bytes: [UInt8])] = []
    private var toHost: [(time: MediaTime, id: ConnectionID, bytes: [UInt8])] = []
    private var linkFree: [ConnectionID: MediaTime] = [:]
    private var demand = [StreamDemand(), StreamDemand()]
    private var needsKeyframe = [false, false]
    private var lastIndex: [UInt32?] = [nil, nil]
    private var nextIndex: UInt32 = 0
    private var isOdd = false
    private var ticks = 0
    private var lastFrame = [MediaTime.zero, .zero]
    private var memory = [UInt8](repeating: 0, count: BrowserBurst.longestPacket)

    init(
        seed: UInt64 = 1, bitRate: Int = 8_000_000, usesFullChroma: Bool = false, hasSound: Bool = false,
        hasReducedLayer: Bool = true
    ) {
        configuration = BrowserStream.Configuration(
            bitRate: bitRate, usesFullChroma: usesFullChroma, hasSound: hasSound, hasReducedLayer: hasReducedLayer)
        stream = BrowserStream(configuration: configuration, random: SeededGenerator(seed: seed))
        random = SeededGenerator(seed: seed &+ 99)
        source.hasSound = hasSound
    }

    mutating func add(_ id: UInt64, link: Link = Link()) {
        let browser = FakeBrowser(id, hasSound: configuration.hasSound)
        browsers.append(browser)
        links[browser.id] = link
        stream.admit(browser.id, form: .packets(browser.sources), now: now)
        drain()
    }

    mutating func addPage(_ id: UInt64, takesSound: Bool = false) {
        units[ConnectionID(id)] = []
        stream.admit(ConnectionID(id), form: .units(takesSound: takesSound), now: now)
        drain()
    }

    func figures(_ id: UInt64) -> BrowserFigures { stream.figures(of: ConnectionID(id)) ?? BrowserFigures() }

    mutating func run(_ seconds: Double) {
        for _ in 0..<Int(seconds * 1000) { step() }
    }

    mutating func restart(bitRate: Int) {
        lastIndex = [nil, nil]
        stream.restart(bitRate: bitRate, now: now)
        drain()
    }

    mutating func say(_ bytes: [UInt8], _ id: UInt64) {
        bytes.withUnsafeBytes { stream.handleControl($0, from: ConnectionID(id), now: now) }
        drain()
    }

    private mutating func step() {
        now = now + .milliseconds(1)
        ticks += 1
        for item in toHost where item.time <= now {
            item.bytes.withUnsafeBytes { stream.handleControl($0, from: item.id, now: now) }
            drain()
        }
        toHost.removeAll { $0.time <= now }
        for item in toBrowser where item.time <= now {
            guard let index = browsers.firstIndex(where: { $0.id == item.id }), !browsers[index].isAsleep else {
                continue
            }
            browsers[index].receive(item.bytes, now: now)
        }
        toBrowser.removeAll { $0.time <= now }
        for index in browsers.indices {
            let id = browsers[index].id
            let link = links[id] ?? Link()
            for bytes in browsers[index].says(now: now, roundTrip: link.delay * 2) where !random.chance(link.loss) {
                toHost.append((now + link.delay, id, bytes))
            }
        }
        encode()
        drain()
    }

    // MARK: The encoder

    private mutating func encode() {
        guard !makesNothing else { return }
        for layer in 0..<2 where demand[layer].isWatched {
            let isDue = source.isOn && ticks.isMultiple(of: source.interval)
            let isPauseOver = demand[layer].longestPause.map { now - lastFrame[layer] >= $0 } ?? false
            if isDue || needsKeyframe[layer] || isPauseOver && lastIndex[layer] != nil {
                make(layer, isRepeated: !isDue)
            }
        }
        if source.hasSound, ticks.isMultiple(of: 10) {
            stream.handleSound(
                EncodedSound(full: [1, 2, 3], reduced: [4, 5], time: now, begins: ticks == 10), now: now)
        }
    }

    private mutating func make(_ layer: Int, isRepeated: Bool) {
        let isKeyframe = needsKeyframe[layer] || lastIndex[layer] == nil
        needsKeyframe[layer] = false
        let share = min(1, Double(demand[layer].bitRate ?? configuration.bitRate) / Double(configuration.bitRate))
        let length = isKeyframe ? source.keyframeBytes : isRepeated ? 60 : source.frameBytes
        isOdd.toggle()
        let isDisposable = source.makesDisposable && isOdd && !isKeyframe && !isRepeated
        var frame = TestFrame.make(
            nextIndex, reference: isKeyframe ? nil : lastIndex[layer], bytes: max(60, Int(Double(length) * share)),
            time: now)
        if isDisposable {
            frame.unit.isDisposable = true
            frame.unit.bytes[4] = 0x01
        } else {
            lastIndex[layer] = nextIndex
        }
        frame.layer = layer
        frame.isRepeated = isRepeated
        nextIndex += 1
        framesMade[layer] += 1
        lastFrame[layer] = now
        stream.handleFrame(frame, now: now)
        drain()
    }

    // MARK: Outputs

    mutating func drain() {
        for _ in 0..<100_000 {
            switch stream.pollOutput(now: now) {
            case .packets(let id, let burst): send(burst, to: id)
            case .control(let id, let bytes): transmit(bytes, to: id)
            case .unit(let id, let unit): receive(unit, id)
            case .requestKeyframe(let layer):
                keyframeRequests.append((now, layer))
                needsKeyframe[layer] = true
            case .demand(let demand, let layer):
                if demand.isHeld { errors.insert("the encoder is held") }
                demands.append((now, demand, layer))
                self.demand[layer] = demand
                if !demand.isWatched { lastIndex[layer] = nil }
            case .soundDemand(let demand): soundDemands.append(demand)
            case .event(let event): events.append((now, event))
            case .wait(let time):
                if time <= now { errors.insert("it waits for the past") }
                return
            }
        }
        errors.insert("it doesn't come to rest")
    }

    private mutating func send(_ burst: BrowserBurst, to id: ConnectionID) {
        if !burst.isSound { bursts.append((now, id, burst.count, burst.payloadBytes)) }
        for index in 0..<burst.count {
            let length = memory.withUnsafeMutableBytes { burst.write(index, to: $0) }
            transmit(Array(memory[..<length]), to: id)
        }
    }

    private mutating func transmit(_ bytes: [UInt8], to id: ConnectionID) {
        let link = links[id] ?? Link()
        guard !random.chance(link.loss) else { return }
        var time = now
        if let rate = link.rate {
            let free = max(now, linkFree[id] ?? now)
            guard free - now < .milliseconds(100) else { return }
            time = free + .seconds(Double(bytes.count * 8) / rate)
            linkFree[id] = time
        }
        toBrowser.append((time + link.delay, id, bytes))
    }

    private mutating func receive(_ unit: BrowserUnit, _ id: ConnectionID) {
        units[id]?.append((now, unit))
        guard acknowledges, unit.kind != .sound else { return }
        stream.acknowledged(unit.number, by: id, now: now)
    }
}

/// All of a simulation in a failure's message would be megabytes.
extension BrowserSimulation: CustomTestStringConvertible {
    var testDescription: String { "the simulation at \(now.seconds) s" }
}
