import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

extension SealingKey {
    /// The key of the golden bytes.
    static let golden = SealingKey(number: 0x0203, key: Array(0x10..<0x20), salt: [0xA0, 0xA1, 0xA2, 0xA3])!

    /// A key that is derived from its number and the seed.
    static func made(_ number: UInt16, seed: UInt64 = 0) -> SealingKey {
        var random = SeededGenerator(seed: seed &+ UInt64(number) &* 0x1_0001)
        return SealingKey(number: number, random: &random)
    }
}

/// A frame's version 2 datagrams, as separate arrays.
func sealedDatagrams(_ frame: EncodedFrame, _ sequence: UInt32, _ sealer: DatagramSealer) throws -> [[UInt8]] {
    let bytes = try Fragmenter.datagrams(of: frame, sequence: SequenceNumber(sequence), sealedBy: sealer)
    return stride(from: 0, to: bytes.count, by: 1200).map { Array(bytes[$0..<min($0 + 1200, bytes.count)]) }
}

/// The same for a frame that may follow a disposable one.
func sealedDatagrams(
    _ frame: EncodedFrame, _ sequence: UInt32, _ sealer: DatagramSealer, isAfterDisposable: Bool
) throws -> [[UInt8]] {
    let cutter = try FrameCutter(frame, as: .version2, isAfterDisposable: isAfterDisposable)
    return try (0..<cutter.partCount).map { part in
        var datagram = [UInt8](repeating: 0, count: cutter.length(ofPart: part))
        try datagram.withUnsafeMutableBytes {
            cutter.write(part: part, sequence: SequenceNumber(sequence), to: $0)
            try sealer.seal(.media, in: $0)
        }
        return datagram
    }
}

extension DatagramOpener {
    /// Opens `bytes`, and answers the plaintext with the header.
    mutating func open(
        _ bytes: [UInt8], from sender: SealedHeader.Sender = .host
    ) throws(SealedDatagramError) -> (opened: Opened, plaintext: [UInt8]) {
        var plaintext: [UInt8] = [1, 2, 3]
        var result: Result<Opened, SealedDatagramError>?
        bytes.withUnsafeBytes { bytes in
            do throws(SealedDatagramError) {
                result = .success(try open(try SealedDatagram(bytes, from: sender), into: &plaintext))
            } catch {
                result = .failure(error)
            }
        }
        return (try (result ?? .failure(.forged)).get(), plaintext)
    }
}

/// A viewer's sealed media plane: key ring and reassembler.
struct SealedReceiver {
    var keys = MediaKeyRing()
    var reassembler = Reassembler()
    var frames: [ReceivedFrame] = []
    var now = MediaTime.zero
    private var plaintext: [UInt8] = []

    /// Answers the error for `bytes`, if any.
    @discardableResult
    mutating func receive(_ bytes: [UInt8]) -> SealedDatagramError? {
        bytes.withUnsafeBytes { receive($0) }
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> SealedDatagramError? {
        do throws(SealedDatagramError) {
            _ = try keys.open(bytes, into: &plaintext, now: now)
        } catch {
            reassembler.refused(error, wireLength: bytes.count)
            return error
        }
        plaintext.withUnsafeBytes { plaintext in
            do throws(MediaDatagramError) {
                _ = reassembler.insert(try MediaDatagram(version2: plaintext), now: now)
            } catch {
                reassembler.refused(wireLength: bytes.count)
            }
        }
        while let frame = reassembler.nextFrame() { frames.append(frame) }
        return nil
    }
}

/// One layer and its senders without a session; each viewer's path is unbounded.
struct LayerBench {
    var layer: SimulcastLayer
    var senders: [Sender] = []
    var sealer: DatagramSealer
    var now = MediaTime.zero
    var parityShare = 0.0
    private(set) var bursts: [(time: MediaTime, burst: MediaBurst, begins: Bool)] = []
    private(set) var unsendable = 0
    private let pacing: Pacing
    private var turn = 0

    init(_ pacing: Pacing = Pacing(), key: SealingKey = .made(1)) {
        self.pacing = pacing
        layer = SimulcastLayer(0, limits: pacing)
        sealer = DatagramSealer(key: key)
    }

    mutating func add(_ form: MediaForm, at address: NetworkAddress) {
        var random = SeededGenerator(seed: UInt64(senders.count) + 1)
        var sender = Sender(
            AdmittedGuest(
                id: ViewerID(value: UInt64(senders.count)), session: SessionID(random: &random), address: address.ip,
                key: form == .version2 ? .made(9) : nil),
            limits: pacing, now: now)
        _ = sender.destination.hello(from: address, now: now)
        senders.append(sender)
    }

    mutating func use(_ key: SealingKey) { sealer = DatagramSealer(key: key) }

    mutating func send(_ frame: EncodedFrame, patience: Duration = .seconds(60)) {
        layer.push(frame, now: now)
        for index in senders.indices {
            stay(index)
            _ = senders[index].pushed(layer, patience: patience, now: now)
        }
        let next = senders.compactMap { if case .frame(let position) = $0.cursor.next { position } else { nil } }.min()
        if let next { _ = layer.drop(before: next) }
        _ = layer.release(before: senders.compactMap(\.cursor.needed).min(), now: now)
    }

    /// Keeps the viewer alive: it says hello.
    private mutating func stay(_ index: Int) {
        if let address = senders[index].destination.address {
            _ = senders[index].destination.hello(from: address, now: now)
        }
    }

    /// The next burst, each sender in turn. If none may leave now, advances the time. False when nothing is left to
    /// send.
    @discardableResult
    mutating func step() -> Bool {
        for _ in senders.indices {
            let index = turn % senders.count
            turn += 1
            switch senders[index].step(&layer, sealer: sealer, parityShare: parityShare, now: now) {
            case .send(let burst, let begins):
                bursts.append((now, burst, begins))
                return true
            case .unsendable:
                unsendable += 1
                return true
            case .fellBehind, .none: break
            }
        }
        guard let due = senders.map(\.wait.until).min(), due < now + .seconds(5) else { return false }
        now = max(now, due)
        for index in senders.indices {
            stay(index)
            _ = senders[index].deadlineReached(now: now)
        }
        return true
    }

    mutating func drain() { while step() {} }

    mutating func forgetBursts() { bursts.removeAll(keepingCapacity: true) }

    /// All datagrams to an address, in order.
    func datagrams(to address: NetworkAddress, from first: Int = 0) -> [[UInt8]] {
        bursts[first...].filter { $0.burst.address == address }.flatMap { entry in
            let range = entry.burst.range
            return stride(from: range.lowerBound, to: range.upperBound, by: 1200).map {
                Array(entry.burst.bytes[$0..<min($0 + 1200, range.upperBound)])
            }
        }
    }
}
