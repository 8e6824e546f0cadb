import BeamClock
import BeamCodec
import BeamMedia
import BeamNetwork
import BeamPlayout
import BeamSound
import Synchronization

/// The sound in a viewer's files: its packets as they came in the recording, and decoded in a sound file. On a thread of its
/// own, whether or not anything is played.
///
/// Packets are put in order, and missing ones are waited for as long as they may still come, which is longer than playing
/// waits for them. So files have sound that wasn't heard.
final class SoundFiles: ViewerSink {
    /// Packets that wait, 10 s: as many as the files themselves hold for a slow disk.
    private static let capacity = 1000
    /// After this many packets in a row that are missing, silence is better than what a decoder makes up.
    private static let mostConcealed = 6
    /// A packet whose time is further from its arrival has no time that makes sense: with it a host could fill the files
    /// with silence.
    private static let longestWay = Duration.seconds(10)

    private let queue = BoundedQueue<ReceivedSound>(capacity: capacity)
    private let recorder: BackgroundRecorder?
    private let file: BackgroundSoundFile?
    private let onFailure: @Sendable (SoundError) -> Void
    private let thread = Mutex<StageThread?>(nil)

    /// Nil if there is no such file. `onFailure`: sound can't be decoded; the recording has it all the same.
    init?(_ files: ViewerFiles, onFailure: @escaping @Sendable (SoundError) -> Void) {
        if files.recorder == nil, files.sound == nil { return nil }
        recorder = files.recorder
        file = files.sound
        self.onFailure = onFailure
    }

    func open() {
        let (queue, recorder, file, onFailure) = (self.queue, self.recorder, self.file, self.onFailure)
        thread.withLock { thread in
            thread =
                thread
                ?? StageThread("beam-sound-order") {
                    var writer = Writer(recorder: recorder, file: file)
                    do throws(SoundError) {
                        try writer.run(queue)
                    } catch {
                        onFailure(error)
                        // Nothing decodes, but the recording goes on.
                        var rest = Writer(recorder: recorder, file: nil)
                        try? rest.run(queue)
                    }
                }
        }
        file?.start()
    }

    /// The host may send sound. Before its first picture.
    func expectSound() { recorder?.expectSound() }

    func push(_ sound: ReceivedSound) { _ = queue.put(sound) }

    /// Returns when all that came is handed to the files, and the sound file is complete; the recording isn't.
    func close() {
        queue.close()
        thread.withLock { $0 }?.join()
        file?.stop()
    }

    /// Used by the thread.
    private struct Writer {
        let recorder: BackgroundRecorder?
        let file: BackgroundSoundFile?
        private var order = SoundOrder()
        private var decoder: SoundDecoder?
        private var isReduced = false
        private var offset: Duration?
        private var samples = [Float](repeating: 0, count: SoundBlock.length * SoundBlock.channelCount)

        init(recorder: BackgroundRecorder?, file: BackgroundSoundFile?) {
            self.recorder = recorder
            self.file = file
        }

        mutating func run(_ queue: BoundedQueue<ReceivedSound>) throws(SoundError) {
            while true {
                switch queue.take(until: order.deadline) {
                case .value(let sound): order.put(sound)
                case .nothing: break
                case .closed:
                    while let entry = order.take(now: .distantFuture) { try write(entry) }
                    return
                }
                while let entry = order.take(now: .now) { try write(entry) }
            }
        }

        private mutating func write(_ entry: SoundOrder.Entry) throws(SoundError) {
            switch entry {
            case .packet(let sound):
                offset = sound.clockOffset ?? offset
                // Until the host's clock is known, its place beside the pictures isn't.
                guard let time = sound.localTime,
                    (.zero - SoundFiles.longestWay...SoundFiles.longestWay).contains(sound.arrival - time)
                else { return }
                recorder?.addSound(sound.opus, at: time)
                try decode(sound, at: time)
            case .missing(_, let time, let count):
                // The recording's track fills gaps by itself.
                guard let file, let decoder, let offset else { return }
                for index in 0..<min(count, SoundFiles.mostConcealed) {
                    samples.withUnsafeMutableBufferPointer {
                        if let base = $0.baseAddress { decoder.conceal(into: base) }
                    }
                    file.push(samples, at: time + offset + SoundBlock.duration * index)
                }
            }
        }

        private mutating func decode(_ sound: ReceivedSound, at time: MediaTime) throws(SoundError) {
            guard let file else { return }
            let decoder: SoundDecoder
            if let present = self.decoder { decoder = present } else { decoder = try SoundDecoder() }
            self.decoder = decoder
            if sound.begins || sound.isReduced != isReduced { decoder.reset() }
            isReduced = sound.isReduced
            samples.withUnsafeMutableBufferPointer {
                guard let base = $0.baseAddress else { return }
                if !decoder.decode(sound.opus, into: base) { decoder.conceal(into: base) }
            }
            file.push(samples, at: time)
        }
    }
}
