import BeamMedia
import BeamWire
import NIOCore

/// Takes what a viewer receives. Called on the event loop, which all other sinks wait for: hand it on, don't block.
public protocol ReceivedSink: AnyObject, Sendable {
    /// The next frame to decode.
    func push(_ frame: ReceivedFrame)

    /// Sound has arrived: in any order, each packet once.
    func push(_ sound: ReceivedSound)
}

extension ReceivedSink {
    public func push(_ frame: ReceivedFrame) {}
    public func push(_ sound: ReceivedSound) {}
}

/// Serves what a member of a room shares on to those who can't reach it.
final class RelaySink: ReceivedSink {
    private let room: NIOLoopBoundBox<MeshDriver>
    private let device: DeviceKey

    init(_ device: DeviceKey, in room: NIOLoopBoundBox<MeshDriver>) {
        self.room = room
        self.device = device
    }

    func push(_ frame: ReceivedFrame) { room.value.relay(frame, of: device) }
    func push(_ sound: ReceivedSound) { room.value.relay(sound, of: device) }
}
