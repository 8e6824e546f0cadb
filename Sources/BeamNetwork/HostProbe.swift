import BeamIdentity
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// Asks what answers at a control port, as far as somebody is told who isn't paired: makes the TLS connection of a viewer,
/// with a key for this once, and closes it without a message. A host asks nobody about it.
public enum HostProbe {
    public enum Answer: Equatable, Sendable {
        /// A host, which has proved its key, and speaks version 2.
        case host
        /// Something else, or a host that can't be used; a part of a sentence.
        case other(reason: String)
    }

    /// Waits at most `time`, and a moment for the connection's end. Not to be called on an event loop.
    public static func ask(_ address: NetworkAddress, within time: Duration) -> Answer {
        let network = NetworkLoop(raisesPriority: false)
        defer { network.shutdown() }
        let promise = network.loop.makePromise(of: Answer.self)
        let timeout = TimeAmount.nanoseconds(time.inNanoseconds)
        network.loop.execute {
            let loop = network.loop
            let attempt = Attempt(promise)
            do {
                try attempt.begin(address, on: loop, timeout: timeout)
            } catch {
                attempt.end(.other(reason: networkReason(error)))
            }
        }
        return (try? promise.futureResult.wait()) ?? .other(reason: NetworkReason.noAnswer)
    }

    /// Confined to the event loop.
    private final class Attempt {
        private var promise: EventLoopPromise<Answer>?
        private var channel: (any Channel)?

        init(_ promise: EventLoopPromise<Answer>) { self.promise = promise }

        func begin(_ address: NetworkAddress, on loop: any EventLoop, timeout: TimeAmount) throws {
            let transport = try SecureTransport(LocalIdentity())
            let bound = NIOLoopBound(self, eventLoop: loop)
            let target = address.ip.socketAddress(port: address.port, onV6Socket: address.ip.isV6)
            loop.assumeIsolated().scheduleTask(in: timeout) { self.end(.other(reason: NetworkReason.noAnswer)) }
            ClientBootstrap(group: loop).connectTimeout(timeout).channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let attempt = bound.value
                    attempt.channel = channel
                    _ = try transport.add(
                        .viewer, to: channel.pipeline.syncOperations, timeout: timeout,
                        events: SecureControl.Events(
                            onSecured: { _ in attempt.end(.host) }, onMessage: { _ in },
                            onEnd: { attempt.end(.other(reason: $0)) }))
                }
            }.connect(to: target).assumeIsolated().whenFailure { self.end(.other(reason: networkReason($0))) }
        }

        func end(_ answer: Answer) {
            guard let promise = promise.take() else { return }
            channel?.reset()
            channel = nil
            promise.succeed(answer)
        }
    }
}
