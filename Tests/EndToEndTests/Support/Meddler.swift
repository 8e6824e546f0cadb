import Foundation

/// An attacker between a viewer's and a host's media ports. It forwards everything, and sends datagrams of its own to
/// both, from the addresses that they know and from others.
final class Meddler: Sendable {
    /// How a datagram is made from one that was seen.
    enum Trick: Int, CaseIterable, Sendable {
        case replayed, bitFlipped, truncated, lengthened, counterMoved, keyChanged, kindChanged, reflected, made, noise,
            empty, version1
    }

    struct State: Sendable {
        /// Datagrams that are still to be sent.
        var budget = 0
        /// Datagrams a second, to each side.
        var rate = 0.0
        var sent = [Int](repeating: 0, count: Trick.allCases.count)
        var passedToViewer = 0
        var passedToHost = 0
        /// Datagrams that were sent to addresses from which no authentic hello came.
        var strayed = 0
        /// The viewer's hellos leave from a new address from now on.
        var moves = false
        var stops = false
    }

    let state = Monitor(State())

    init(at place: Endpoint, to host: Endpoint, seed: UInt64) throws {
        let sockets = try Sockets(place, host)
        let state = state
        Thread.detachNewThread {
            let worker = Worker(sockets, host, seed)
            while worker.run(state) {}
        }
    }

    deinit { end() }

    func end() { state.withLock { $0.stops = true } }

    /// Sends `count` datagrams of its own, and returns when all were sent.
    func meddle(_ count: Int, rate: Double) throws {
        state.withLock { state in
            state.budget = count
            state.rate = rate
        }
        guard state.wait(timeout: 60 + Double(count) / rate * 4, { $0.budget == 0 ? true : nil }) != nil else {
            throw HarnessError("\(state.current.budget) of \(count) datagrams could not be sent")
        }
    }

    private struct Sockets: Sendable {
        let towardsViewer: Socket
        let towardsHost: Socket
        /// On the viewer's machine, on the host's, and on others.
        let foreign: [Socket]

        init(_ place: Endpoint, _ host: Endpoint) throws {
            towardsViewer = try Socket.datagrams(on: place)
            towardsHost = try Socket.datagrams(on: Endpoint(0, on: place.address))
            foreign = try ["127.0.0.1", host.address, place.address, "127.0.0.77"].map {
                try Socket.datagrams(on: Endpoint(0, on: $0))
            }
        }
    }

    /// State that only its thread uses.
    private final class Worker {
        private let towardsViewer: Socket
        private var towardsHost: Socket
        private let host: Endpoint
        private var viewer: Endpoint?
        private let foreign: [Socket]
        private var abandoned: [Socket] = []
        private var random: SplitMix64
        /// The last datagrams of each side.
        private var ofHost: [[UInt8]] = []
        private var ofViewer: [[UInt8]] = []
        private var due = secondsNow()

        init(_ sockets: Sockets, _ host: Endpoint, _ seed: UInt64) {
            towardsViewer = sockets.towardsViewer
            towardsHost = sockets.towardsHost
            foreign = sockets.foreign
            self.host = host
            random = SplitMix64(seed: seed)
        }

        /// One step; false if it was the last.
        func run(_ state: Monitor<State>) -> Bool {
            let current = state.current
            if current.stops { return false }
            if current.moves {
                // Datagrams that still arrive at the old address are late.
                abandoned.append(towardsHost)
                guard let another = try? Socket.datagrams(on: Endpoint(0, on: "127.0.0.88")) else { return false }
                towardsHost = another
                state.withLock { $0.moves = false }
            }
            wait(current.budget > 0 ? 1 : 20)
            pass(state, isActive: current.budget > 0)
            let strayed = foreign.reduce(0) { count, socket in
                var count = count
                while socket.receiveWaitingDatagram() != nil { count += 1 }
                return count
            }
            if strayed > 0 { state.withLock { $0.strayed += strayed } }
            if current.budget > 0, viewer != nil, ofHost.count >= 100, !ofViewer.isEmpty { burst(state, current) }
            return true
        }

        private func wait(_ milliseconds: Int32) {
            var entries = [towardsViewer, towardsHost].map {
                pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
            }
            _ = poll(&entries, nfds_t(entries.count), milliseconds)
        }

        private func pass(_ state: Monitor<State>, isActive: Bool) {
            while let (bytes, from) = towardsViewer.receiveWaitingDatagram() {
                viewer = from
                keep(bytes, in: &ofViewer)
                // Damaged copies before it and replays after it: the datagram itself must still be accepted.
                if isActive { send(.bitFlipped, bytes, toHost: true, state) }
                towardsHost.send(bytes, to: host)
                if isActive { send(.replayed, bytes, toHost: true, state) }
                state.withLock { $0.passedToHost += 1 }
            }
            while let (bytes, _) = towardsHost.receiveWaitingDatagram() {
                guard let viewer else { continue }
                keep(bytes, in: &ofHost)
                if isActive { send(.bitFlipped, bytes, toHost: false, state) }
                towardsViewer.send(bytes, to: viewer)
                if isActive { send(.replayed, bytes, toHost: false, state) }
                state.withLock { $0.passedToViewer += 1 }
            }
        }

        private func keep(_ bytes: [UInt8], in list: inout [[UInt8]]) {
            if list.count < 4096 {
                list.append(bytes)
            } else {
                list[Int.random(in: list.indices, using: &random)] = bytes
            }
        }

        /// Sends as many as are due since the last call, to both sides, in random order.
        private func burst(_ state: Monitor<State>, _ current: State) {
            let now = secondsNow()
            if now - due > 0.05 { due = now - 0.001 }
            let count = min(Int((now - due) * current.rate), 64)
            due += Double(count) / current.rate
            for _ in 0..<count {
                for toHost in [true, false] {
                    let seen = toHost ? ofViewer : ofHost
                    guard let trick = Trick(rawValue: Int.random(in: 0..<Trick.allCases.count, using: &random)) else {
                        continue
                    }
                    send(trick, seen[Int.random(in: seen.indices, using: &random)], toHost: toHost, state)
                }
            }
        }

        private func send(_ trick: Trick, _ original: [UInt8], toHost: Bool, _ state: Monitor<State>) {
            guard let viewer else { return }
            let bytes = made(trick, of: original, toHost: toHost)
            // From the address that the other end knows, or from another one.
            let own = toHost ? towardsHost : towardsViewer
            let socket = Bool.random(using: &random) ? own : foreign[Int.random(in: foreign.indices, using: &random)]
            socket.send(bytes, to: toHost ? host : viewer)
            state.withLock { state in
                state.sent[trick.rawValue] += 1
                state.budget = max(0, state.budget - 1)
            }
        }

        private func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255, using: &random) } }

        private func made(_ trick: Trick, of original: [UInt8], toHost: Bool) -> [UInt8] {
            var bytes = original
            switch trick {
            case .replayed: break
            case .bitFlipped:
                bytes[Int.random(in: bytes.indices, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case .truncated: bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
            case .lengthened: bytes += noise(Int.random(in: 1...300, using: &random))
            case .counterMoved:
                // A counter ahead, by little or by very much: a replay window that believed it would shut out the rest.
                let counter = bytes[4..<12].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
                let ahead = UInt64(1) << UInt64.random(in: 0...62, using: &random)
                bytes.replaceSubrange(4..<12, with: WireMessage.bigEndian(counter &+ ahead))
            case .keyChanged: bytes[3] &+= .random(in: 1...255, using: &random)
            case .kindChanged: bytes[0] = (0xB1...0xB7).randomElement(using: &random)!
            case .reflected:
                let others = toHost ? ofHost : ofViewer
                bytes = others[Int.random(in: others.indices, using: &random)]
            case .made: bytes = Array(bytes[..<12]) + noise(bytes.count - 12)
            case .noise: bytes = noise(Int.random(in: 1...1400, using: &random))
            case .empty: bytes = []
            case .version1:
                bytes =
                    toHost ? Array("BRHI!".utf8) : Array("BMRV".utf8) + noise(Int.random(in: 0...1100, using: &random))
            }
            return bytes
        }
    }
}
