import BeamMedia
import CBeamPortal
import CLateLibraries
import Glibc

/// Owns a connection to PipeWire. Used by one thread at a time.
final class PipeWireRemote {
    fileprivate let handle: OpaquePointer

    /// Takes over the descriptor.
    init(descriptor: CInt) throws(PortalTrouble) {
        if let reason = beam_load_libpipewire() {
            close(descriptor)
            throw .noLibrary(name: "PipeWire", package: "libpipewire-0.3-0", reason: String(cString: reason))
        }
        var error: CInt = 0
        guard let handle = beam_pipewire_open(descriptor, &error) else {
            throw .noPipeWire(reason: String(cString: strerror(-error)))
        }
        self.handle = handle
    }

    deinit { beam_pipewire_close(handle) }

    /// From now on the calling thread waits for the connection, until `leave`.
    func enter() { beam_pipewire_enter(handle) }
    func leave() { beam_pipewire_leave(handle) }

    /// Handles what has come, without waiting. False once the connection is lost.
    func turn() -> Bool { beam_pipewire_turn(handle) != 0 }

    var pollEntry: pollfd { pollfd(fd: beam_pipewire_descriptor(handle), events: Int16(POLLIN), revents: 0) }
}

/// Owns a stream of pictures. Used by the thread of its connection.
final class PipeWireStream {
    private let remote: PipeWireRemote
    private let handle: OpaquePointer

    init(_ remote: PipeWireRemote, _ stream: PortalStream, maxFrameRate: Double) throws(PortalTrouble) {
        var error: CInt = 0
        let rate = UInt32(clamping: Int((min(max(maxFrameRate, 1), 1000) * 1000).rounded()))
        let opened =
            if let serial = stream.serial {
                beam_stream_open(remote.handle, stream.node, String(serial), rate, &error)
            } else {
                beam_stream_open(remote.handle, stream.node, nil, rate, &error)
            }
        guard let opened else { throw .noPictures(reason: String(cString: strerror(-error))) }
        self.remote = remote
        handle = opened
    }

    deinit { beam_stream_close(handle) }

    var state: StreamState { StreamState(beam_stream_get_state(handle)) }

    /// The oldest buffer that has come; nil if there is none. It must be given back before the connection's next turn.
    func take() -> beam_buffer? {
        var buffer = beam_buffer()
        return beam_stream_take(handle, &buffer) != 0 ? buffer : nil
    }

    /// To be called before a buffer's pixels are read. Its end gives it back.
    func beginReading(_ buffer: beam_buffer) { withUnsafePointer(to: buffer) { beam_buffer_begin_reading($0) } }

    func endReading(_ buffer: beam_buffer) {
        withUnsafePointer(to: buffer) { beam_buffer_end_reading($0) }
        giveBack(buffer)
    }

    func giveBack(_ buffer: beam_buffer) {
        if let taken = buffer.handle { beam_stream_give_back(handle, taken) }
    }
}

/// What is known of a stream.
struct StreamState: Equatable {
    enum Phase: Equatable { case connecting, paused, streaming, failed }
    /// Names of the bytes of a pixel, from the lowest address up.
    enum Order: Equatable { case bgrx, rgbx }

    var phase = Phase.connecting
    /// Nil until they are agreed upon.
    var order: Order?
    var size = PixelSize(width: 0, height: 0)
    /// The source was removed from PipeWire.
    var isSourceGone = false
    /// Of a failure, in PipeWire's words; may be empty.
    var reason = ""
}

extension StreamState {
    fileprivate init(_ state: beam_stream_state) {
        phase =
            switch state.phase {
            case beam_stream_connecting: .connecting
            case beam_stream_paused: .paused
            case beam_stream_streaming: .streaming
            default: .failed
            }
        order = Order(state.order)
        size = PixelSize(width: Int(state.width), height: Int(state.height))
        isSourceGone = state.is_node_gone != 0
        reason = withUnsafeBytes(of: state.reason) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

extension StreamState.Order {
    init?(_ order: beam_pixel_order) {
        switch order {
        case beam_pixels_bgrx: self = .bgrx
        case beam_pixels_rgbx: self = .rgbx
        default: return nil
        }
    }
}
