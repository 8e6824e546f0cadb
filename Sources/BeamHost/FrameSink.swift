import BeamMedia
import BeamNetwork

/// Takes what the encoder makes. A sink says what it wants of the encoder through a consumer's `EncoderDemand`.
protocol FrameSink: AnyObject, Sendable {
    /// Called once, before the first frame.
    func open()

    /// The next frame of a simulcast layer, in the order of encoding. On the encoder's thread, which every other sink waits for: hand on, don't wait.
    func push(_ frame: EncodedFrame)

    /// Called once, after the last frame, also where `open` was never called because the host couldn't start. Returns when the sink has
    /// done with what it was given.
    func close()
}

/// The viewers: every frame goes to the session on the event loop.
final class NetworkSink: FrameSink {
    private let server: HostServer
    private let consumer: EncoderDemand.Consumer

    /// `consumer` is what the server's handlers write to.
    init(_ server: HostServer, consumer: EncoderDemand.Consumer) {
        self.server = server
        self.consumer = consumer
    }

    /// Tells the viewers that the screen is being shared.
    func open() { server.setBroadcast(true) }

    func push(_ frame: EncodedFrame) {
        if consumer.takes(frame) { server.submit(frame) }
    }

    /// Viewers are told, and connections closed.
    func close() { server.shutdown() }
}
