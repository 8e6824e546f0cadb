import BeamClock
import BeamMedia
import Synchronization

/// A video file as a source: any format that libavformat opens, played in a loop at its own frame rate.
///
/// Pictures are I420, with the file's colour description. Playback starts at the first picture when somebody watches
/// and pauses while nobody does. No picture is skipped: a source that is more than a second late shifts its schedule
/// instead. A file of one picture delivers it each time somebody begins to watch. When the video's size changes, the
/// pictures' size changes with it. The file's sound plays in step, in a source of its own.
public final class FileSource: PictureSource {
    public let info: SourceInfo
    private let path: String
    private let control = SourceControl()
    /// The recording that `init` opened; `run` takes it.
    private let opened: Mutex<Recording?>
    private let recordedSound: RecordedSound?

    /// The file's sound, of its best track; nil if it has none that can be decoded. To be run on a thread of its own,
    /// beside `run`. It delivers blocks while somebody listens and the pictures play, 30 ms before their time.
    public var sound: (any SoundSource)? { recordedSound }

    /// Opens the file and decodes its first picture.
    ///
    /// - Throws: `unreadableFile`.
    public init(path: String) throws(CaptureError) {
        self.path = path
        let recording = try Recording(path: path, control: control)
        let name = path.split(separator: "/").last.map(String.init) ?? path
        var warnings = recording.warnings
        do throws(CaptureError) {
            recordedSound = try RecordedSound(path: path)
        } catch {
            recordedSound = nil
            if case .unreadableFile(_, let reason) = error {
                warnings.append("The recording is shared without its sound: \(reason).")
            }
        }
        info = SourceInfo(
            description: "the recording \(name)", size: recording.first.buffer.size,
            frameRate: max(1, min(240, recording.frameRate)), warnings: warnings)
        opened = Mutex(recording)
    }

    public func run(deliver: (Picture) -> Void) throws(CaptureError) {
        guard let recording = try takeOpened() else { return }
        var clock = RecordingClock(frameRate: recording.frameRate)
        var upcoming = recording.first
        var number: UInt64 = 0
        var place = SoundPlace(recording)
        defer { recordedSound?.follow(nil) }
        while let activation = control.waitUntilActive() {
            clock.restart(upcoming.timestamp, at: .now)
            var due = clock.due
            recordedSound?.follow(place.position(of: upcoming, due: due))
            repeat {
                // The file says nothing about capture time, so latency is measured from here.
                deliver(Picture(buffer: upcoming.buffer, colour: upcoming.colour, time: .now, number: number))
                number += 1
                // Decode the next picture now, so that it is ready when it is due.
                switch try recording.next() {
                case .picture(let next):
                    upcoming = next
                    due = clock.advance(next.timestamp, beginsAgain: next.beginsAgain, now: .now)
                    if next.beginsAgain { place.loop += 1 }
                    recordedSound?.follow(place.position(of: next, due: due))
                case .still:
                    recordedSound?.follow(place.position(of: upcoming, due: due, isStill: true))
                    // Its sound plays once, from the beginning each time.
                    place.loop += 1
                    due = .distantFuture
                case .stopped:
                    return
                }
            } while control.wait(until: due, in: activation)
            recordedSound?.follow(nil)
        }
    }

    public func setActive(_ active: Bool) { control.setActive(active) }

    public func stop() { control.stop() }

    /// The recording, opened again if an earlier `run` has used the first one. Nil: stopped.
    private func takeOpened() throws(CaptureError) -> Recording? {
        let taken = opened.withLock { opened -> Recording? in
            defer { opened = nil }
            return opened
        }
        if let taken { return taken }
        return control.isStopped ? nil : try Recording(path: path, control: control)
    }
}

/// Makes the positions that the sound follows.
private struct SoundPlace {
    /// How far the sound may be ahead of the pictures when they are held up.
    private static let most = RecordingClock.maxLateness

    var loop = 0
    private let first: Int64?

    init(_ recording: Recording) { first = recording.first.timestamp }

    /// Nil for pictures without times, which no sound can be in step with.
    func position(of picture: Recording.Entry, due: MediaTime, isStill: Bool = false) -> PicturePosition? {
        guard let first, let timestamp = picture.timestamp else { return nil }
        let offset = due - MediaTime(nanoseconds: timestamp)
        return PicturePosition(
            loop: loop, offset: offset, start: MediaTime(nanoseconds: first) + offset,
            limit: isStill ? .distantFuture : due + Self.most)
    }
}
