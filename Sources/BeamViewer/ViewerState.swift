import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamWire
import Synchronization

/// State shared by a viewer's stages and its window, under one lock.
final class ViewerState: Sendable {
    struct Content: Sendable {
        var status: ViewerStatus
        /// What the person wants of the next session after a refusal; nil: there was none.
        var wish: ViewerWish?
        /// Hosts to pick from, while none is chosen.
        var choices: [HostChoice]?
        /// Captions, notes and the transcript.
        var words = WordBoard()
        /// The figures in the overlay.
        var report: ViewerReport?
        var rates = Rates()
        /// Nil: the host sends nothing exactly.
        var exactness: Exactness?
        var presentation = Presentation()
        var lastStatistics = ViewerStatistics()
        /// The window's loop has to return.
        fileprivate(set) var isWindowEnded = false
        fileprivate var hasSize = false
        /// The only place where they are kept: the client asks for them.
        fileprivate(set) var wishes: ViewerWishes
        fileprivate var client = ClientState.absent(make: nil, isReachable: false)
        /// Makes the first client and those after it.
        fileprivate var makeClient: ClientMaker?
        /// The number of the client that is made, so that one that was given up meanwhile isn't taken.
        fileprivate var clientNumber = 0
        /// The store's hosts after a change since the viewer started; nil: no change.
        fileprivate(set) var remembered: [DeviceKey: String]?
        /// Written before there was a client.
        fileprivate var unwritten = UnwrittenWords()
        fileprivate var wakeWindow: (@Sendable (News) -> Void)?

        /// Nil before the client is made and after `stop`.
        fileprivate var madeClient: ViewerClient? { if case .made(let client) = client { client } else { nil } }
    }

    /// Why the window is woken.
    enum News: Sendable {
        /// Only a picture has come.
        case picture
        /// Anything else that it shows has changed.
        case state
    }

    fileprivate typealias ClientMaker = @Sendable () -> ViewerClient
    fileprivate typealias ClientAction = @Sendable (ViewerClient) -> Void

    /// The client is made by the thread that learns that the host is reachable, and outside the lock, because making
    /// one starts a thread.
    fileprivate enum ClientState: Sendable {
        /// `isReachable`: the host was found reachable before `make` was set.
        case absent(make: ClientMaker?, isReachable: Bool)
        /// `waiting`: the actions requested meanwhile, in order.
        case making(waiting: [ClientAction])
        case made(ViewerClient)
        case stopped
    }

    private struct Announcements {
        var last: ViewerAnnouncement?
        var hasBegun = false
        var onChange: (@Sendable (ViewerAnnouncement?) -> Void)?
        var isCurrent: Bool?
        var onCurrent: (@Sendable (Bool) -> Void)?
    }

    private let content: Mutex<Content>
    private let announcements = Mutex(Announcements())

    init(_ status: ViewerStatus, wishes: ViewerWishes = ViewerWishes()) {
        content = Mutex(Content(status: status, wishes: wishes))
    }

    func read<Result: Sendable>(_ body: (Content) -> Result) -> Result { content.withLock { body($0) } }

    /// Changes state that the window doesn't show.
    func change<Result: Sendable>(_ body: (inout Content) -> Result) -> Result { content.withLock { body(&$0) } }

    /// Changes state that the window shows, and wakes the window.
    func update(_ body: (inout Content) -> Void) {
        let wake = content.withLock { content in
            body(&content)
            return content.wakeWindow
        }
        wake?(.state)
    }

    /// Changes the status, and announces it if that changes what is to be said.
    func updateStatus(_ body: (inout ViewerStatus) -> Void) {
        update { body(&$0.status) }
        announce()
    }

    /// A picture was put into the window's slot.
    ///
    /// - Parameter arrival: when the first datagram of its frame arrived.
    func pictureArrived(_ arrival: MediaTime) {
        let (isNews, wake) = content.withLock { ($0.status.pictureArrived(arrival), $0.wakeWindow) }
        wake?(isNews ? .state : .picture)
        if isNews { announce() }
    }

    /// Exact pixels wait for the window.
    func patchArrived() { content.withLock { $0.wakeWindow }?(.picture) }

    /// The pointer over the pictures has changed.
    func pointerArrived() { content.withLock { $0.wakeWindow }?(.picture) }

    // MARK: Announcements

    /// Sets who is told what the viewer is doing. `onChange` is called by one thread at a time, under a lock that nothing
    /// else takes, and must not change the status.
    func setAnnouncer(_ onChange: @escaping @Sendable (ViewerAnnouncement?) -> Void) {
        announcements.withLock { $0.onChange = onChange }
        announce()
    }

    /// Sets who is told whether the picture is that of what is shared now. `onCurrent` is called as `onChange` is.
    func setPictureWatch(_ onCurrent: @escaping @Sendable (_ isCurrent: Bool) -> Void) {
        announcements.withLock { $0.onCurrent = onCurrent }
        announce()
    }

    /// The last announcement is always that of the last status, whatever threads change it.
    private func announce() {
        announcements.withLock { announcements in
            let (words, isCurrent) = read { ($0.status.words, $0.status.isPictureCurrent) }
            if isCurrent != announcements.isCurrent, let onCurrent = announcements.onCurrent {
                announcements.isCurrent = isCurrent
                onCurrent(isCurrent)
            }
            guard !announcements.hasBegun || words != announcements.last else { return }
            announcements.hasBegun = announcements.onChange != nil
            announcements.last = words
            announcements.onChange?(words)
        }
    }

    /// Returns true at the first call.
    func isFirstSize() -> Bool {
        change { content in
            defer { content.hasSize = true }
            return !content.hasSize
        }
    }

    /// Sets how the window is woken; nil: there is no window.
    func setWindow(_ wake: (@Sendable (News) -> Void)?) { change { $0.wakeWindow = wake } }

    func endWindow() { update { $0.isWindowEnded = true } }

    // MARK: The client

    var client: ViewerClient? { read { $0.madeClient } }

    /// Runs `action` on the client: now, or once it is made if that is in progress. Otherwise `action` is dropped.
    func tellClient(_ action: @escaping @Sendable (ViewerClient) -> Void) {
        let client = change { content -> ViewerClient? in
            switch content.client {
            case .made(let client): return client
            case .making(let waiting):
                content.client = .making(waiting: waiting + [action])
                return nil
            case .absent, .stopped: return nil
            }
        }
        if let client { action(client) }
    }

    /// Writes to the room, or keeps `input` until there is a client. False: too much is kept.
    func write(_ input: LogInput) -> Bool {
        let (client, isTaken) = change { content -> (ViewerClient?, Bool) in
            switch content.client {
            case .made(let client): (client, true)
            case .making, .absent: (nil, content.unwritten.add(input))
            case .stopped: (nil, true)
            }
        }
        client?.write(input)
        return isTaken
    }

    /// The store's hosts have changed. A client that is made later begins with them. Called by one thread at a time.
    func setRemembered(_ hosts: [DeviceKey: String]) {
        change { $0.remembered = hosts }
        tellClient { $0.setRemembered(hosts) }
    }

    func wish(_ body: (inout ViewerWishes) -> Void) {
        let client = change { content -> ViewerClient? in
            body(&content.wishes)
            return content.madeClient
        }
        client?.wishesChanged()
    }

    /// Sets how to make the client. It is made as soon as the host is reachable, and then it begins.
    func setClientMaker(_ make: @escaping @Sendable () -> ViewerClient) {
        let isReachable = change { content in
            guard case .absent(_, let isReachable) = content.client else { return false }
            content.makeClient = make
            content.client = .absent(make: make, isReachable: isReachable)
            return isReachable
        }
        if isReachable { hostAppeared() }
    }

    private enum Appearance {
        case nothing
        case tell(ViewerClient)
        case make(ClientMaker, number: Int)
    }

    /// Makes the client the first time; later, tells it to connect without waiting for the next attempt.
    ///
    /// - Parameter announcedVersion: the protocol version that the host announces; nil: discovery hasn't found it.
    func hostAppeared(announcedVersion: Int? = nil) {
        let appearance = change { content -> Appearance in
            switch content.client {
            case .absent(nil, _):
                content.client = .absent(make: nil, isReachable: true)
                return .nothing
            case .absent(let make?, _):
                content.client = .making(waiting: [])
                content.clientNumber += 1
                return .make(make, number: content.clientNumber)
            case .made(let client): return .tell(client)
            case .making(let waiting):
                // A new client connects at once, perhaps before it knows the version.
                if let announcedVersion {
                    content.client = .making(
                        waiting: waiting + [{ $0.hostAppeared(announcedVersion: announcedVersion) }])
                }
                return .nothing
            case .stopped: return .nothing
            }
        }
        switch appearance {
        case .nothing: break
        case .tell(let client): client.hostAppeared(announcedVersion: announcedVersion)
        case .make(let make, let number): publish(make(), number)
        }
    }

    private enum Publication {
        case wait(for: [ClientAction])
        case done
        case stopped
    }

    /// Runs the actions that were requested while `client` was made, then makes it visible: in this order, so that no
    /// later action runs before an earlier one; then it begins.
    private func publish(_ client: ViewerClient, _ number: Int) {
        while true {
            let publication = change { content -> Publication in
                guard case .making(let waiting) = content.client, content.clientNumber == number else {
                    return .stopped
                }
                let words = content.unwritten.takeAll()
                let actions = waiting + words.map { word -> ClientAction in { $0.write(word) } }
                content.client = actions.isEmpty ? .made(client) : .making(waiting: [])
                return actions.isEmpty ? .done : .wait(for: actions)
            }
            switch publication {
            case .wait(let actions): for action in actions { action(client) }
            case .done: return client.begin()
            // The viewer was stopped meanwhile, or this client given up.
            case .stopped: return client.shutdown()
            }
        }
    }

    /// Gives up the present client, if there is one, and returns it, to be shut down. Another one is made when the host is
    /// reachable.
    func retireClient() -> ViewerClient? {
        let statistics = client?.statistics
        return change { content in
            if case .stopped = content.client { return nil }
            content.lastStatistics = statistics ?? content.lastStatistics
            guard let make = content.makeClient else { return nil }
            defer { content.client = .absent(make: make, isReachable: false) }
            return content.madeClient
        }
    }

    /// Another host is going to be watched.
    func forgetHost() {
        update { $0.words.end() }
    }

    /// Allows no further client, and returns the present one, to be shut down. One in the making is shut down by its
    /// maker.
    func stop() -> ViewerClient? {
        let statistics = client?.statistics
        return change { content in
            content.lastStatistics = statistics ?? content.lastStatistics
            content.makeClient = nil
            defer { content.client = .stopped }
            return content.madeClient
        }
    }
}

/// What a person wants after a refusal.
enum ViewerWish: Sendable, Equatable {
    /// The person at the host is to be asked.
    case person
    case code(PairingCode)
}

/// The window's figures.
struct Presentation: Sendable {
    private var shown: UInt64 = 0
    private var times = FrameTimes()

    /// Records that `picture` was shown at `end`.
    mutating func record(_ picture: Picture, at end: MediaTime) {
        shown += 1
        times.recordPresentation(of: picture, at: end)
    }

    struct Report {
        var shown: UInt64
        /// The spans after decoding.
        var times: [FrameSpan: LatencyHistogram.Summary]
    }

    mutating func report(sinceStart: Bool) -> Report {
        Report(shown: shown, times: times.report(sinceStart: sinceStart))
    }
}

/// Frames and bits a second, from totals.
struct Rates: Sendable {
    private var first: (frames: UInt64, bytes: UInt64, time: MediaTime)?
    private var last: (frames: UInt64, bytes: UInt64, time: MediaTime)?

    /// Rates since the last call, or since the first bytes arrived.
    mutating func measure(
        frames: UInt64, bytes: UInt64, now: MediaTime, sinceStart: Bool
    ) -> (frames: Double, bits: Double) {
        let base = sinceStart ? first : last
        if !sinceStart {
            last = (frames, bytes, now)
            if first == nil, bytes > 0 { first = last }
        }
        guard let base else { return (0, 0) }
        let seconds = (now - base.time).inSeconds
        guard seconds > 0 else { return (0, 0) }
        let newFrames = frames - min(frames, base.frames)
        let newBytes = bytes - min(bytes, base.bytes)
        return (Double(newFrames) / seconds, Double(newBytes) * 8 / seconds)
    }
}
