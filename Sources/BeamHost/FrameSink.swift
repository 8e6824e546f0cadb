import BeamMedia
import BeamNetwork

/// Takes the encoder's frames. A sink states what it wants through its `EncoderDemand.Consumer`.
protocol FrameSink: AnyObject, Sendable {
    /// Called once, before the first frame.
    func open()

    /// The next frame of a simulcast layer, in encoding order. Called on the encoder's thread, which all other sinks
    /// wait for: hand the frame on, don't block.
    func push(_ frame: EncodedFrame)

    /// The next sound. Called on the sound's thread, which all other sinks wait for: hand it on, don't block.
    func push(_ sound: EncodedSound)

    /// Called once, after the last frame, even if `open` was never called because the host failed to start. Returns
    /// when the sink has finished with its frames.
    func close()
}

/// Sends every frame to the session on the event loop.
final class NetworkSink: FrameSink {
    private let server: HostServer
    private let consumer: EncoderDemand.Consumer

    /// `consumer` is the one that the server's handlers write to.
    init(_ server: HostServer, consumer: EncoderDemand.Consumer) {
        self.server = server
        self.consumer = consumer
    }

    /// Tells the viewers that the screen is being shared.
    func open() { server.setBroadcast(true) }

    func push(_ frame: EncodedFrame) {
        if consumer.takes(frame) { server.submit(frame) }
    }

    func push(_ sound: EncodedSound) { server.submit(sound) }

    /// Tells the viewers, and closes their connections.
    func close() { server.shutdown() }
}
