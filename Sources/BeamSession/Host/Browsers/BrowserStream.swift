import BeamMedia
import BeamWire

/// The stream to browsers: who gets which packets or units when, without I/O. It is a sink of the encoder beside the
/// broadcast, with a demand of its own, so that whatever browsers do, native viewers aren't disturbed: it never holds the
/// encoder, and never lowers a rate that others have.
///
/// After each call, `pollOutput` is to be called until it answers `.wait`. Time is an argument, and doesn't go back.
public struct BrowserStream: Sendable {
    private(set) var configuration: Configuration
    var random: any RandomNumberGenerator & Sendable
    var outputs = OutputQueue<Output>()
    var layers: [BrowserLayer]
    var browsers: [Browser] = []
    var sound: BrowserSound
    /// The browser that is looked at next; `browsers.count`: none.
    var turn = 0
    /// Whether demands may have changed.
    var isDirty = false

    /// `random` makes sequence numbers and timestamps: the system's generator, except in tests.
    public init(configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        var random = random
        layers = (0..<StreamDemand.layerCount).map { _ in BrowserLayer() }
        clock = RTPClock(rate: RTPClock.video, offset: random.next())
        sound = BrowserSound(offset: random.next())
        self.random = random
    }

    /// One for both layers, so that timestamps grow for a browser that changes layers, too.
    var clock: RTPClock
    /// Of all layers.
    private var framesTaken = 0

    // MARK: Browsers

    /// A browser's path is ready: DTLS is up and the certificate is verified, or the page can take units. It begins with a
    /// keyframe. The ID is new.
    public mutating func admit(_ id: ConnectionID, form: Form, now: MediaTime) {
        guard index(of: id) == nil else { return }
        var browser = Browser(id, form: form, configuration, random: &random, now: now)
        browser.wake = now
        browsers.append(browser)
        begin(browsers.count - 1, now: now)
        isDirty = true
        turn = 0
    }

    /// The browser has left.
    public mutating func remove(_ id: ConnectionID, now: MediaTime) {
        guard let index = index(of: id) else { return }
        browsers.remove(at: index)
        isDirty = true
        turn = 0
    }

    /// A browser's figures; nil if there is none of that ID.
    public func figures(of id: ConnectionID) -> BrowserFigures? { index(of: id).map { browsers[$0].allFigures } }

    func index(of id: ConnectionID) -> Int? { browsers.firstIndex { $0.id == id } }

    // MARK: The encoder

    /// Takes an encoded frame.
    public mutating func handleFrame(_ frame: EncodedFrame, now: MediaTime) {
        guard layers.indices.contains(frame.layer), browsers.contains(where: { $0.layer == frame.layer }) else {
            return
        }
        framesTaken += 1
        let position = layers[frame.layer].push(
            frame, timestamp: clock.next(frame.captureTime), order: framesTaken, now: now)
        for index in browsers.indices where browsers[index].layer == frame.layer {
            browsers[index].pushed(position, isKeyframe: frame.isKeyframe, now: now)
        }
        turn = 0
    }

    /// Takes 10 ms of sound.
    public mutating func handleSound(_ sound: EncodedSound, now: MediaTime) {
        guard configuration.hasSound, !browsers.isEmpty else { return }
        self.sound.push(sound)
        for index in browsers.indices {
            guard let output = browsers[index].sound(self.sound, now: now) else { continue }
            outputs.append(output)
        }
        turn = 0
    }

    /// Another encoder begins, which makes `bitRate` bits a second, or nothing comes for now: what earlier ones have made
    /// is dropped, and each browser begins with the next keyframe.
    public mutating func restart(bitRate: Int, now: MediaTime) {
        configuration.bitRate = bitRate
        for layer in layers.indices { layers[layer].removeAll() }
        for index in browsers.indices {
            browsers[index].restart(bitRate: bitRate, now: now)
            begin(index, now: now)
        }
        isDirty = true
        turn = 0
    }

    // MARK: What comes back

    /// Takes an authentic RTCP compound packet, in the clear. What is malformed, or means another source, has no effect.
    public mutating func handleControl(_ bytes: UnsafeRawBufferPointer, from id: ConnectionID, now: MediaTime) {
        guard let index = index(of: id), browsers[index].packets != nil else { return }
        control(bytes, from: index, now: now)
        turn = 0
    }

    /// The page has decoded, or left out for good, the picture of that number and all before it. A page that is hidden
    /// acknowledges, too. For units only; sound isn't acknowledged.
    public mutating func acknowledged(_ number: UInt32, by id: ConnectionID, now: MediaTime) {
        guard let index = index(of: id), browsers[index].units != nil else { return }
        acknowledge(number, by: index, now: now)
        turn = 0
    }

    /// The browser's person hears the sound, or not: pictures wait for it, or are shown at once. For packets only.
    public mutating func setHears(_ hears: Bool, by id: ConnectionID) {
        guard let index = index(of: id) else { return }
        browsers[index].packets?.playoutDelay = hears ? .forSound : .immediate
    }

    // MARK: What goes out

    /// The next thing to do; `.wait` when there is nothing more for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = outputs.popFirst() { return output }
            if requestKeyframes(now: now) { continue }
            if turn < browsers.count {
                if browsers[turn].wake <= now {
                    serve(turn, now: now)
                } else {
                    turn += 1
                }
            } else if !changeDemands(now: now) {
                turn = 0
                return .wait(until: nextWake(now: now))
            }
        }
    }
}
