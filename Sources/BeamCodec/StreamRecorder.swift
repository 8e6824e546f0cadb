import BeamLibAV
import BeamMedia
import Glibc

/// Writes the stream, without recoding, to a Matroska (`.mkv`) or MP4 (`.mp4`) file. The file is playable even after a
/// crash: what is older than about half a second is on the disk in complete clusters or fragments.
///
/// A recording starts with the first keyframe. New parameter sets for the same size are written into the stream. For
/// another size the file ends and the recording continues in `NAME-2.mkv`, then `NAME-3.mkv`. Used by one thread.
public final class StreamRecorder {
    private let path: String
    private let container: ContainerFile.Kind
    private var file: ContainerFile?
    /// The descriptor of the first file, which is created at once, until the stream starts.
    private var reserved: CInt?
    private var part = 1
    private var isFinished = false
    /// The path of the file being written.
    public private(set) var currentPath: String

    /// Creates the first file, which must not exist.
    ///
    /// - Throws: `unknownFileEnding`, `fileExists` or `cannotCreateFile`.
    public init(path: String) throws(CodecError) {
        guard let container = ContainerFile.Kind(rawValue: OutputFile.ending(path)) else {
            throw .unknownFileEnding(path: path, known: ContainerFile.Kind.allCases.map { ".\($0.rawValue)" })
        }
        // Load the library now, not in the middle of the recording.
        if let reason = LibAV.formatProblem { throw .cannotCreateFile(path: path, reason: reason) }
        self.path = path
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
                try current.finish()
                file = nil
                part += 1
                currentPath = next
                reserved = try OutputFile.create(currentPath)
            }
            if file == nil { file = try start(unit, sets, at: time) }
        }
        try file?.write(unit, at: time)
    }

    /// Completes the file. Nothing can be written afterwards.
    ///
    /// Without a keyframe the empty file is removed.
    ///
    /// - Throws: `cannotWriteFile`.
    public func finish() throws(CodecError) {
        discard()
        isFinished = true
        defer { file = nil }
        try file?.finish()
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
            descriptor: descriptor, path: currentPath, kind: container, sets: sets, size: unit.size, start: time)
    }
}
