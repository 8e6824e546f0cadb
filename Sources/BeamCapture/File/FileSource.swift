import BeamClock
import BeamMedia
import Synchronization

/// A video file as a source: any format that libavformat opens, played in a loop at its own frame rate.
///
/// Pictures are I420, with the file's colour description. Playback starts at the first picture when somebody watches
/// and pauses while nobody does. No picture is skipped: a source that is more than a second late shifts its schedule
/// instead. A file of one picture delivers it each time somebody begins to watch. When the video's size changes, the
/// pictures' size changes with it.
public final class FileSource: PictureSource {
    public let info: SourceInfo
    private let path: String
    private let control = SourceControl()
    /// The recording that `init` opened; `run` takes it.
    private let opened: Mutex<Recording?>

    /// Opens the file and decodes its first picture.
    ///
    /// - Throws: `unreadableFile`.
    public init(path: String) throws(CaptureError) {
        self.path = path
        let recording = try Recording(path: path, control: control)
        let name = path.split(separator: "/").last.map(String.init) ?? path
        info = SourceInfo(
            description: "the recording \(name)", size: recording.first.buffer.size,
            frameRate: max(1, min(240, recording.frameRate)), warnings: recording.warnings)
        opened = Mutex(recording)
    }

    public func run(deliver: (Picture) -> Void) throws(CaptureError) {
        guard let recording = try takeOpened() else { return }
        var clock = RecordingClock(frameRate: recording.frameRate)
        var upcoming = recording.first
        var number: UInt64 = 0
        while let activation = control.waitUntilActive() {
            clock.restart(upcoming.timestamp, at: .now)
            var due: MediaTime
            repeat {
                // The file says nothing about capture time, so latency is measured from here.
                deliver(Picture(buffer: upcoming.buffer, colour: upcoming.colour, time: .now, number: number))
                number += 1
                // Decode the next picture now, so that it is ready when it is due.
                switch try recording.next() {
                case .picture(let next):
                    upcoming = next
                    due = clock.advance(next.timestamp, beginsAgain: next.beginsAgain, now: .now)
                case .still:
                    due = .distantFuture
                case .stopped:
                    return
                }
            } while control.wait(until: due, in: activation)
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
