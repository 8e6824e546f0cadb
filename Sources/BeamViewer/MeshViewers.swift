import BeamClock
import BeamCodec
import BeamDisplay
import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamWire
import Dispatch
import Foundation
import Synchronization

/// Watches what the other members of a room share: a viewer for each that shares, for as long as it does.
///
/// Viewers are made and ended one after another on a thread of their own, because both wait for the disk and for
/// decoders.
public final class MeshViewers: Sendable {
    public struct Options: Sendable {
        public var room: MeshServer
        public var trust: ViewerOptions.Trust
        /// Nil: no window.
        public var window: WindowOptions?
        public var decoder: DecoderChoice
        public var bounds: StreamBounds
        /// The playout delay; nil: adaptive.
        public var buffer: Duration?
        public var sound: ViewerOptions.Sound

        public init(
            room: MeshServer, trust: ViewerOptions.Trust, window: WindowOptions? = nil,
            decoder: DecoderChoice = .automatic, bounds: StreamBounds = StreamBounds(), buffer: Duration? = nil,
            sound: ViewerOptions.Sound = ViewerOptions.Sound()
        ) {
            self.sound = sound
            self.room = room
            self.trust = trust
            self.window = window
            self.decoder = decoder
            self.bounds = bounds
            self.buffer = buffer
        }
    }

    /// A member that shares, and its viewer.
    public struct Watched: Sendable {
        public var device: DeviceKey
        public var name: String
        public var viewer: Viewer
        /// Never given to another viewer.
        var id: Int
    }

    private struct State {
        /// The members that share now, in the order in which they are listed.
        var wanted: [(device: DeviceKey, name: String)] = []
        var watched: [Watched] = []
        /// The members that have paused, as far as their viewers were told.
        var paused: Set<DeviceKey> = []
        var told: Set<DeviceKey> = []
        var lastID = 0
        var isStopped = false
        /// `follow` is to be called already.
        var isDue = false
        /// When a member's viewer was begun last.
        var begun: [DeviceKey: MediaTime] = [:]
        /// Through whom pictures come, or can only be got.
        var relays: [DeviceKey: String] = [:]
        var neededRelays: [DeviceKey: String] = [:]
        var onChange: (@Sendable () -> Void)?
    }

    /// Between two viewers of one member, which may begin and end to share as often as it likes: each takes a decoder.
    private static let pause = Duration.seconds(1)

    private let options: Options
    private let resources: ViewerResources
    private let onNotice: @Sendable (_ device: DeviceKey, _ name: String, ViewerNotice) -> Void
    private let queue = DispatchQueue(label: "beam-room-viewers")
    private let state = Mutex(State())

    /// `onNotice` is called on the viewers' threads.
    public init(
        _ options: Options,
        onNotice: @escaping @Sendable (_ device: DeviceKey, _ name: String, ViewerNotice) -> Void
    ) {
        self.options = options
        self.onNotice = onNotice
        resources = ViewerResources(
            loop: nil, decoders: DecoderPool(threads: ProcessInfo.processInfo.activeProcessorCount), nearby: nil)
    }

    /// The list of members has changed. May be called on the event loop.
    ///
    /// - Parameter people: without this device.
    public func update(_ people: [MeshPerson]) {
        let sharers = people.filter { $0.isHere && $0.isSharing }.map { (device: $0.device, name: $0.name) }
        let paused = Set(people.filter { $0.isHere && $0.isSharing && $0.isPaused }.map(\.device))
        let isNews = state.withLock { state in
            guard !state.isStopped,
                paused != state.paused || !sharers.elementsEqual(state.wanted, by: { $0 == $1 })
            else { return false }
            (state.wanted, state.paused) = (sharers, paused)
            return true
        }
        if isNews { followSoon() }
    }

    /// The pictures of `device` come through the member of this name from now on; nil: directly. May be called on the event
    /// loop.
    public func setRelay(of device: DeviceKey, _ name: String?) {
        tellRelay(of: device) { $0.relays[device] = name }
    }

    /// They can be got only through the member of this name, and the person is asked; nil: not any more.
    public func setNeededRelay(of device: DeviceKey, _ name: String?) {
        tellRelay(of: device) { $0.neededRelays[device] = name }
    }

    private func tellRelay(of device: DeviceKey, _ change: (inout State) -> Void) {
        let (viewer, relay, needed) = state.withLock { state in
            change(&state)
            return (
                state.watched.first { $0.device == device }?.viewer, state.relays[device], state.neededRelays[device]
            )
        }
        viewer?.setRelay(relay, needed: needed)
    }

    private func followSoon(after pause: Duration = .zero) {
        let isFirst = state.withLock { state in
            defer { state.isDue = true }
            return !state.isDue
        }
        if isFirst { queue.asyncAfter(deadline: .now() + pause.inSeconds) { [self] in follow() } }
    }

    /// The viewers at present, in the order in which their members began to share.
    public var watched: [Watched] { state.withLock { $0.watched } }

    /// Sets who is told that `watched` has changed; on any thread.
    func setWindow(_ onChange: (@Sendable () -> Void)?) { state.withLock { $0.onChange = onChange } }

    /// Ends all viewers; returns when that is done. Before the room is left.
    public func stop() {
        state.withLock { state in
            state.isStopped = true
            state.wanted = []
        }
        queue.sync { follow() }
        resources.decoders.stop()
    }

    // MARK: On the queue

    private func follow() {
        state.withLock { $0.isDue = false }
        let ended = state.withLock { state in
            let (stay, ended) = state.watched.partitioned { watched in
                state.wanted.contains { $0.device == watched.device }
            }
            state.watched = stay
            return ended
        }
        // The window lets go of them first.
        if !ended.isEmpty { state.withLock { $0.onChange }?() }
        for watched in ended {
            watched.viewer.shared.setWindow(nil)
            watched.viewer.stop()
        }
        defer { tellPauses() }
        let now = MediaTime.now
        let missing = state.withLock { state in
            state.begun = state.begun.filter { $0.value + Self.pause > now }
            return state.wanted.filter { wanted in !state.watched.contains { $0.device == wanted.device } }
        }
        for next in missing {
            if let begun = state.withLock({ $0.begun[next.device] }) {
                followSoon(after: begun + Self.pause - now)
            } else {
                state.withLock { $0.begun[next.device] = now }
                begin(next.device, next.name)
            }
        }
    }

    /// The pictures of those who have paused are shown as such.
    private func tellPauses() {
        let changed = state.withLock { state in
            let watched = state.watched.filter { state.paused.contains($0.device) != state.told.contains($0.device) }
            state.told = Set(state.watched.map(\.device)).intersection(state.paused)
            return watched.map { ($0.viewer, state.paused.contains($0.device)) }
        }
        for (viewer, isPaused) in changed { viewer.setHeldByMember(isPaused) }
    }

    /// Begins to watch a member. If that isn't possible, the person is told.
    private func begin(_ device: DeviceKey, _ name: String) {
        var viewing = ViewerOptions(
            target: .anyHost, trust: options.trust, window: options.window, decoder: options.decoder,
            buffer: options.buffer)
        viewing.member = ViewerOptions.Member(room: options.room, device: device, name: name)
        viewing.bounds = options.bounds
        viewing.sound = options.sound
        viewing.usesBluetooth = false
        let onNotice = self.onNotice
        do {
            let viewer = try Viewer(viewing, sharing: resources) { onNotice(device, name, $0) }
            let onChange = state.withLock { state -> (@Sendable () -> Void)? in
                state.lastID += 1
                state.watched.append(Watched(device: device, name: name, viewer: viewer, id: state.lastID))
                return state.onChange
            }
            onChange?()
            tellRelay(of: device) { _ in }
            viewer.start()
            if viewing.window != nil { viewer.decode.open() }
        } catch {
            // Not again before something has changed in the room.
            state.withLock { state in state.wanted.removeAll { $0.device == device } }
            onNotice(device, name, .warning("What “\(PeerText.name(name))” shares can't be shown: \(error)"))
        }
    }
}

extension Array {
    /// Those that fulfil the condition, and the others, in their order.
    fileprivate func partitioned(_ condition: (Element) -> Bool) -> (some: [Element], others: [Element]) {
        (filter(condition), filter { !condition($0) })
    }
}
