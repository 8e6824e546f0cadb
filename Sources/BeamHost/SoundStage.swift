import BeamMedia
import BeamSound
import Synchronization

/// Runs a source of sound on a thread of its own, encodes what is heard, and hands it to the sinks.
///
/// The source is active while somebody wants sound and the host isn't paused. Each encoding is made only while somebody
/// wants it.
final class SoundStage: Sendable {
    /// Bits a second for viewers on slow paths.
    static let reducedBitRate = 64_000

    struct Report: Sendable, Hashable {
        /// Packets of 10 ms made, and those in which nothing was heard.
        var packets: UInt64 = 0
        var silent: UInt64 = 0
        var demand = SoundDemand()
    }

    private struct State {
        var isPaused = false
        /// What viewers and the recorder want.
        var demands: [Consumer: SoundDemand] = [:]
        var report = Report()

        var demand: SoundDemand {
            isPaused ? SoundDemand() : demands.values.reduce(SoundDemand()) { $0.union($1) }
        }
    }

    /// Who wants sound.
    enum Consumer: Hashable, Sendable { case viewers, browsers, gateways, recorder }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private let source: any SoundSource
    private let shared = Shared()
    private let thread: Mutex<StageThread?>
    private let body: @Sendable () -> Void

    /// `onFailure` is called when nothing can be encoded; sharing goes on without sound.
    init(
        _ source: any SoundSource, bitRate: Int, into sinks: [any FrameSink],
        onFailure: @escaping @Sendable (SoundError) -> Void
    ) {
        self.source = source
        thread = Mutex(nil)
        let shared = self.shared
        body = {
            ThreadPriority.raiseForSound()
            var encoders = SoundEncoders(bitRate: bitRate)
            var gate = SilenceGate()
            var hasFailed = false
            source.run { block in
                let demand = shared.state.withLock { $0.demand }
                guard !hasFailed, demand.isAny else { return gate.close() }
                guard case .send(let begins, let ends) = gate.take(block) else {
                    return shared.state.withLock { $0.report.silent += 1 }
                }
                do throws(SoundError) {
                    let sound = try encoders.encode(block, for: demand, begins: begins, ends: ends)
                    for sink in sinks { sink.push(sound) }
                    shared.state.withLock { $0.report.packets += 1 }
                } catch {
                    hasFailed = true
                    onFailure(error)
                }
            }
        }
    }

    /// Starts the source's thread. After the sinks are open.
    func start() { thread.withLock { $0 = $0 ?? StageThread("beam-sound", body: body) } }

    var report: Report {
        shared.state.withLock { state in
            var report = state.report
            report.demand = state.demand
            return report
        }
    }

    func want(_ demand: SoundDemand, by consumer: Consumer) { change { $0.demands[consumer] = demand } }

    func setPaused(_ isPaused: Bool) { change { $0.isPaused = isPaused } }

    /// The source is told outside the lock; again if the demand changed meanwhile.
    private func change(_ body: (inout State) -> Void) {
        shared.state.withLock { body(&$0) }
        var told: Bool?
        while true {
            let isActive = shared.state.withLock { $0.demand.isAny }
            guard isActive != told else { return }
            source.setActive(isActive)
            told = isActive
        }
    }

    /// Returns when the source's thread has ended.
    func stop() {
        source.stop()
        thread.withLock { $0 }?.join()
    }
}

/// The encoders of the sound: of the options' rate, and of the reduced one. Used by one thread.
private struct SoundEncoders {
    private let bitRate: Int
    private var full: SoundEncoder?
    private var reduced: SoundEncoder?

    init(bitRate: Int) { self.bitRate = bitRate }

    /// Encodes the block as it is wanted. After `begins` decoders begin anew.
    mutating func encode(
        _ block: SoundBlock, for demand: SoundDemand, begins: Bool, ends: Bool
    ) throws(SoundError) -> EncodedSound {
        if begins {
            full?.reset()
            reduced?.reset()
        }
        var sound = EncodedSound(time: block.time, begins: begins, ends: ends)
        sound.full = try Self.encode(block, with: &full, bitRate, isWanted: demand.full)
        sound.reduced = try Self.encode(
            block, with: &reduced, min(bitRate, SoundStage.reducedBitRate), isWanted: demand.reduced)
        // A decoder gives the input that much later.
        let lookahead = full?.lookahead ?? reduced?.lookahead ?? 0
        sound.time = block.time - SoundBlock.time(ofSamples: lookahead)
        return sound
    }

    /// An encoder that isn't wanted is given up: its state is of another time when it is wanted again.
    private static func encode(
        _ block: SoundBlock, with encoder: inout SoundEncoder?, _ bitRate: Int, isWanted: Bool
    ) throws(SoundError) -> [UInt8]? {
        guard isWanted else {
            encoder = nil
            return nil
        }
        let made: SoundEncoder
        if let encoder { made = encoder } else { made = try SoundEncoder(bitRate: bitRate) }
        encoder = made
        let packet = made.encode(block)
        return packet.isEmpty ? nil : packet
    }
}
