import BeamLibAV
import BeamMedia
import Glibc

/// Writes the stream, without recoding, to a Matroska (`.mkv`) or MP4 (`.mp4`) file. The file is playable even after a
/// crash: what is older than about half a second is on the disk in complete clusters or fragments; of a picture at rest,
/// all but the last seconds.
///
/// A recording starts with the first keyframe. New parameter sets for the same size are written into the stream. For
/// another size the file ends and the recording continues in `NAME-2.mkv`, then `NAME-3.mkv`. Used by one thread.
///
/// Captions, if they are wanted, are a subtitle track beside the video: SubRip in Matroska, 3GPP Timed Text (`tx3g`) in MP4.
/// Sound is a track of the Opus packets as they came (RFC 7845). It has silence where none came, so that it is as long
/// as the video even if there never was any: programs play a silent track, but some take a track without samples for
/// damage.
///
/// The last picture of a file lasts until the recording ends, or goes on in the next file. While nothing comes, the
/// picture is repeated every 2 s (`passTime`).
///
/// In MP4 a picture is written when the next one tells how long it lasts; a crash loses the last one.
public final class StreamRecorder {
    /// More captions than these aren't shown at once.
    private static let mostShown = 8
    /// Packets of sound that the next file may begin with: 0.5 s.
    private static let mostRecent = 50

    private let path: String
    private let hasCaptions: Bool
    /// Files have a sound track. May be changed before the first one begins.
    var hasSound: Bool
    /// The last captions, which the next file may begin with.
    private var shown: [TimedCaption] = []
    /// The last packets of sound, of which those after a file's first picture belong into it: the picture may take
    /// longer to encode than the sound.
    private var recent: [(opus: [UInt8], time: MediaTime)] = []
    private let container: ContainerFile.Kind
    private var file: ContainerFile?
    /// The descriptor of the first file, which is created at once, until the stream starts.
    private var reserved: CInt?
    private var part = 1
    private var isFinished = false
    /// The path of the file being written.
    public private(set) var currentPath: String

    /// Creates the first file, which must not exist. With `captions`, files have a subtitle track, and with `sound`
    /// one for sound.
    ///
    /// - Throws: `unknownFileEnding`, `fileExists` or `cannotCreateFile`.
    public init(path: String, captions: Bool = false, sound: Bool = false) throws(CodecError) {
        guard let container = ContainerFile.Kind(rawValue: OutputFile.ending(path)) else {
            throw .unknownFileEnding(path: path, known: ContainerFile.Kind.allCases.map { ".\($0.rawValue)" })
        }
        // Load the library now, not in the middle of the recording.
        if let reason = LibAV.formatProblem { throw .cannotCreateFile(path: path, reason: reason) }
        self.path = path
        hasCaptions = captions
        hasSound = sound
        self.container = container
        currentPath = path
        reserved = try OutputFile.create(path)
    }

    /// Something was written.
    public var hasBegun: Bool { file != nil }

    deinit { discard() }

    /// Appends `unit`, to be shown at `time` on any clock. Times in the file count from its first keyframe; one that
    /// doesn't increase is moved behind the last one. Units before the first keyframe are dropped.
    ///
    /// - Throws: `cannotWriteFile` (a full disk, for instance), `fileExists` or `cannotCreateFile` (for a next file).
    public func write(_ unit: AccessUnit, at time: MediaTime) throws(CodecError) {
        guard !isFinished else { throw .cannotWriteFile(path: currentPath, reason: "the recording has ended already") }
        if unit.isKeyframe, let sets = unit.parameterSets {
            if let current = file, current.size != unit.size {
                let next = try OutputFile.next(path, after: part)
                try current.finish(at: time)
                file = nil
                part += 1
                currentPath = next
                reserved = try OutputFile.create(currentPath)
            }
            if file == nil {
                let started = try start(unit, sets, at: time)
                file = started
                try started.write(unit, at: time)
                for caption in shown { try started.write(caption) }
                for (opus, time) in recent { try started.writeSound(opus, at: time) }
                return
            }
        }
        try file?.write(unit, at: time)
    }

    /// Adds a caption of one or several lines to the subtitle track, to be shown from `time`, on the clock of the access
    /// units and not after the present, for `duration`. Does nothing without a subtitle track.
    ///
    /// Captions may overlap in Matroska; in MP4 the next one ends the one before, and up to three that begin within 0.1 s are
    /// shown together. Those that begin earlier than the one before begin with it. One that isn't over is shown at the
    /// beginning of the recording, and of its next file; one that was over 10 s before the last picture is left out. In MP4
    /// a caption is written when its end is known; a crash loses the one that is shown.
    ///
    /// - Throws: `cannotWriteFile`.
    public func addCaption(_ text: String, at time: MediaTime, for duration: Duration) throws(CodecError) {
        guard hasCaptions, !isFinished else { return }
        let caption = TimedCaption(text: text, time: time, duration: duration)
        if shown.count == Self.mostShown { shown.removeFirst() }
        shown.append(caption)
        try file?.write(caption)
    }

    /// Adds sound: an Opus packet of 10 ms in two channels, whose first decoded sample is heard at `time`, on the
    /// clock of the access units. Does nothing without a track for sound.
    ///
    /// `opus` and `time` may be anything. What was heard before the file's first picture is left out, and so is a
    /// packet that isn't 10 ms long, one whose place in the track was filled, 0.5 s behind the newest picture, and one
    /// that is 24 h ahead. Up to five missing packets are concealed by the program that plays the file; longer gaps
    /// are silent.
    ///
    /// - Throws: `cannotWriteFile`.
    public func writeSound(_ opus: [UInt8], at time: MediaTime) throws(CodecError) {
        guard hasSound, !isFinished, opus.count <= OpusPacket.longest else { return }
        if recent.count == Self.mostRecent { recent.removeFirst() }
        recent.append((opus, time))
        try file?.writeSound(opus, at: time)
    }

    /// Tells that nothing came up to `time`, on the clock of the access units: the last picture is repeated every 2 s
    /// if the stream allows it, and silence is written, as far as they are missing. What comes later with an earlier
    /// time is moved behind `time`, if it is a picture, or left out, if it is sound.
    ///
    /// - Throws: `cannotWriteFile`.
    public func passTime(until time: MediaTime) throws(CodecError) {
        guard !isFinished else { return }
        try file?.passTime(until: time)
    }

    /// Completes the file, whose last picture lasts until `end`, on the clock of the access units; nil: for 1/30 s.
    /// Nothing can be written afterwards.
    ///
    /// Without a keyframe the empty file is removed.
    ///
    /// - Throws: `cannotWriteFile`.
    public func finish(at end: MediaTime? = nil) throws(CodecError) {
        discard()
        isFinished = true
        defer { file = nil }
        try file?.finish(at: end)
    }

    /// Ends a recording of which nothing was written, and removes its empty file.
    public func discard() {
        guard !isFinished, file == nil, let descriptor = reserved else { return }
        isFinished = true
        reserved = nil
        OutputFile.discard(descriptor, currentPath)
    }

    private func start(
        _ unit: AccessUnit, _ sets: ParameterSets, at time: MediaTime
    ) throws(CodecError) -> ContainerFile {
        guard let descriptor = reserved else {
            throw .cannotWriteFile(path: currentPath, reason: "it is closed already")
        }
        reserved = nil
        return try ContainerFile(
            descriptor: descriptor, path: currentPath, kind: container, sets: sets, size: unit.size, start: time,
            hasCaptions: hasCaptions, hasSound: hasSound)
    }
}
