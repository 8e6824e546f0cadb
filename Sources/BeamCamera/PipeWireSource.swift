import BeamClock
import BeamMedia
import CBeamCamera
import CLateLibraries
import Glibc

/// A camera among the sources of PipeWire. It appears with the first picture. Pictures are drawn only while a program takes
/// them.
///
/// If PipeWire ends, the camera appears again when it is back.
final class PipeWireSource: CameraOutput {
    /// One connection. PipeWire may end it.
    private final class Connection {
        let handle: OpaquePointer

        init(_ name: String, _ remote: String?) throws(CameraError) {
            var error: CInt = 0
            let opened =
                if let remote { beam_source_open(name, remote, &error) } else { beam_source_open(name, nil, &error) }
            guard let handle = opened else {
                throw .noPipeWire(
                    reason: error == -EHOSTDOWN ? "it doesn't run for this user" : CameraError.text(-error))
            }
            self.handle = handle
        }

        deinit { beam_source_close(handle) }
    }

    /// Between two attempts to reach a PipeWire that has ended.
    private static let pause = Duration.seconds(2)
    /// The size changes no more often than this, because the desktop's PipeWire and each program have to agree to it, and a host
    /// could send another size with each picture. Until then pictures are fitted into the last size.
    private static let offerInterval = Duration.milliseconds(500)

    private let name: String
    private let remote: String?
    private let size: CameraSize
    private let onLost: () -> Void
    /// Nil: PipeWire has ended.
    private var connection: Connection?
    private var nextAttempt = MediaTime.zero
    /// `onLost` was called, and the camera hasn't appeared since.
    private var isLossTold = false
    /// In which size pictures are offered; nil: the camera hasn't appeared.
    private var offered: PixelSize?
    private var nextOffer = MediaTime.zero
    /// The picture that was drawn last, which PipeWire may read until the next one is shown.
    private var picture: CameraPicture?
    private var agreement: UInt32 = 0
    private var isStreaming = false

    /// - Parameters:
    ///   - remote: the socket of a PipeWire; nil: this user's.
    ///   - onLost: PipeWire has ended, or refuses the camera.
    init(
        name: String, remote: String? = nil, size: CameraSize, onLost: @escaping () -> Void
    ) throws(CameraError) {
        if let reason = beam_load_libpipewire() { throw .noLibrary(reason: String(cString: reason)) }
        self.name = name
        self.remote = remote
        self.size = size
        self.onLost = onLost
        connection = try Connection(name, remote)
    }

    var descriptor: CInt? { connection.map { beam_source_descriptor($0.handle) } }

    func enter() { if let connection { beam_source_enter(connection.handle) } }

    func leave() { if let connection { beam_source_leave(connection.handle) } }

    func turn() -> Bool {
        guard let connection else { return reconnect() }
        guard beam_source_turn(connection.handle) != 0 else {
            lose()
            return false
        }
        let state = beam_source_get_state(connection.handle)
        let isNews = state.agreement != agreement || state.is_streaming != 0 && !isStreaming
        agreement = state.agreement
        isStreaming = state.is_streaming != 0
        return isNews
    }

    func show(_ shown: Picture, isHidden: Bool) {
        guard let connection else { return }
        let wanted = size.size(for: shown.size)
        if wanted != offered, offered == nil || MediaTime.now >= nextOffer {
            guard
                beam_source_offer(connection.handle, UInt32(clamping: wanted.width), UInt32(clamping: wanted.height))
                    >= 0
            else {
                return lose()
            }
            offered = wanted
            nextOffer = .now + Self.offerInterval
            isLossTold = false
        }
        let state = beam_source_get_state(connection.handle)
        guard state.is_streaming != 0, let samples = CameraLayout.Samples(state.layout) else { return }
        let layout = CameraLayout(samples, PixelSize(width: Int(state.width), height: Int(state.height)))
        // The old one is read until the new one is shown.
        let previous = picture
        defer { withExtendedLifetime(previous) {} }
        let picture = previous?.layout == layout ? previous ?? CameraPicture(layout) : CameraPicture(layout)
        self.picture = picture
        picture.draw(isHidden ? nil : shown)
        _ = beam_source_show(
            connection.handle, picture.bytes.baseAddress!.assumingMemoryBound(to: UInt8.self), picture.bytes.count)
    }

    private func lose() {
        leave()
        connection = nil
        offered = nil
        picture = nil
        isStreaming = false
        nextAttempt = .now + Self.pause
        if !isLossTold { onLost() }
        isLossTold = true
    }

    /// True: PipeWire is back, so that the picture is wanted.
    private func reconnect() -> Bool {
        guard MediaTime.now >= nextAttempt else { return false }
        nextAttempt = .now + Self.pause
        connection = try? Connection(name, remote)
        enter()
        return connection != nil
    }
}
