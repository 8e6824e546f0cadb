import BeamClock
import BeamMedia
import Synchronization

/// A recording as a source: any video file that libavformat opens, in a loop, at its own rate.
///
/// Pictures are I420; their colours are described as the file describes them. It begins with its first picture when
/// somebody watches, stands still while nobody does, and goes on from there. No picture is left out: a source that is
/// more than a second late goes on later instead. A file of one picture shows it each time somebody begins to watch.
/// When the size changes in mid-stream, the pictures' size does.
public final class FileSource: PictureSource {
    public let info: SourceInfo
    private let path: String
    private let control = SourceControl()
    /// What was opened first, for the thread that runs it.
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
                // Without a moment of capture of its own, a picture is as old as its way from here on.
                deliver(Picture(buffer: upcoming.buffer, colour: upcoming.colour, time: .now, number: number))
                number += 1
                // Decoded ahead, so that it is ready when it is due.
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

    /// The recording, opened anew where it has been run before. Nil: stopped.
    private func takeOpened() throws(CaptureError) -> Recording? {
        let taken = opened.withLock { opened -> Recording? in
            defer { opened = nil }
            return opened
        }
        if let taken { return taken }
        return control.isStopped ? nil : try Recording(path: path, control: control)
    }
}
