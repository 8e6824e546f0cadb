import BeamClock
import BeamMedia
import BeamSession
import BeamWire
import NIOCore

/// Holds back what is received before TLS until it is this connection's turn, and passes everything on once the
/// handshake is complete.
package final class HandshakeGate: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    /// The handler's name in the pipeline.
    package static let name = "handshake gate"
    /// Bytes held at most: more than a handshake sends at once.
    private static let mostHeld = 64 << 10

    private let scheduler: HandshakeScheduler
    private let id: ConnectionID
    private let address: IPAddress
    private let isKnownAddress: Bool
    private var context: ChannelHandlerContext?
    private var held: [ByteBuffer] = []
    private var heldBytes = 0
    private var hasBegun = false
    private var isOpen = false

    package init(_ scheduler: HandshakeScheduler, _ id: ConnectionID, from address: IPAddress, isKnownAddress: Bool) {
        self.scheduler = scheduler
        self.id = id
        self.address = address
        self.isKnownAddress = isKnownAddress
    }

    /// The handshake is complete.
    package func open() { isOpen = true }

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) { end() }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOpen else { return context.fireChannelRead(data) }
        let bytes = Self.unwrapInboundIn(data)
        heldBytes += bytes.readableBytes
        guard heldBytes <= Self.mostHeld else {
            drop()
            return context.channel.reset()
        }
        held.append(bytes)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        guard !isOpen else { return context.fireChannelReadComplete() }
        if !held.isEmpty {
            scheduler.request(self, id, from: address, isKnownAddress: isKnownAddress, hasBegun: hasBegun)
        }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A peer that closes its side before the handshake is complete can't complete it.
        if case ChannelEvent.inputClosed = event, !isOpen { drop() }
        context.fireUserInboundEventTriggered(event)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    /// Makes one step: passes what was held to TLS, which answers.
    fileprivate func step() {
        guard let context, !held.isEmpty else { return }
        hasBegun = true
        let bytes = held
        held = []
        heldBytes = 0
        for bytes in bytes { context.fireChannelRead(Self.wrapInboundOut(bytes)) }
        context.fireChannelReadComplete()
    }

    private func drop() {
        held = []
        heldBytes = 0
        scheduler.ended(id)
    }

    private func end() {
        drop()
        context = nil
    }
}

/// Lets handshakes make their steps one at a time, in the order of `HandshakeQueue`. Confined to its event loop.
package final class HandshakeScheduler {
    private let loop: any EventLoop
    private var queue = HandshakeQueue<ConnectionID>()
    private var gates: [ConnectionID: HandshakeGate] = [:]
    private let timer: DeadlineTimer

    package init(loop: any EventLoop) {
        self.loop = loop
        timer = DeadlineTimer(loop: loop)
        timer.onDeadline { [unowned self] _ in self.advance() }
    }

    package func stop() { timer.cancel() }

    fileprivate func request(
        _ gate: HandshakeGate, _ id: ConnectionID, from address: IPAddress, isKnownAddress: Bool, hasBegun: Bool
    ) {
        gates[id] = gate
        queue.add(id, from: address, isKnownAddress: isKnownAddress, hasBegun: hasBegun)
        advance()
    }

    fileprivate func ended(_ id: ConnectionID) {
        if gates.removeValue(forKey: id) != nil { queue.remove(id) }
    }

    /// Makes one step at most, so that the loop's other work isn't delayed by more.
    private func advance() {
        let start = MediaTime.now
        switch queue.next(now: start) {
        case .none: break
        case .wait(let time): timer.arm(time)
        case .take(let id):
            let gate = gates.removeValue(forKey: id)
            gate?.step()
            let end = MediaTime.now
            queue.spent(end - start, now: end)
            if case .wait(let time) = queue.next(now: end) { timer.arm(time) }
        }
    }
}
