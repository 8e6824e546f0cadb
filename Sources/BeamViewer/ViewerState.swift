import BeamMedia
import BeamNetwork
import BeamProtocol
import Synchronization

/// What a viewer's stages and its window tell each other, each access under one lock.
final class ViewerState: Sendable {
    struct Content: Sendable {
        var status: ViewerStatus
        /// Hosts to pick from, while none is chosen.
        var choices: [HostChoice]?
        /// What the overlay shows.
        var report: ViewerReport?
        var rates = Rates()
        var presentation = Presentation()
        var lastStatistics = ViewerStatistics()
        fileprivate var isStopped = false
        /// The window's loop is to return.
        fileprivate(set) var isWindowEnded = false
        fileprivate var hasSize = false
        fileprivate var client: ViewerClient?
        fileprivate var makeClient: (@Sendable () -> ViewerClient)?
        /// The host became reachable before there was a way to make a client.
        fileprivate var isReachable = false
        fileprivate var wakeWindow: (@Sendable () -> Void)?
    }

    private let content: Mutex<Content>

    init(_ status: ViewerStatus) { content = Mutex(Content(status: status)) }

    func read<Result: Sendable>(_ body: (Content) -> Result) -> Result { content.withLock { body($0) } }

    /// Changes something that the window doesn't show.
    func change<Result: Sendable>(_ body: (inout Content) -> Result) -> Result { content.withLock { body(&$0) } }

    /// Changes something that the window shows, and wakes it.
    func update(_ body: (inout Content) -> Void) {
        let wake = content.withLock { content in
            body(&content)
            return content.wakeWindow
        }
        wake?()
    }

    func pictureArrived() { update { $0.status.pictureArrived() } }

    /// The window says so; true if that is news.
    func refusedStream(_ reason: String) -> Bool {
        let isNews = change { $0.status.streamRefusal != reason }
        if isNews { update { $0.status.streamRefused(reason) } }
        return isNews
    }

    /// True once.
    func isFirstSize() -> Bool {
        change { content in
            defer { content.hasSize = true }
            return !content.hasSize
        }
    }

    /// How the window is woken; nil when there is none any more.
    func setWindow(_ wake: (@Sendable () -> Void)?) { change { $0.wakeWindow = wake } }

    func endWindow() { update { $0.isWindowEnded = true } }

    // MARK: The client

    var client: ViewerClient? { read { $0.client } }

    /// The client is made when the host is known to be reachable, or already is.
    func setClientMaker(_ make: @escaping @Sendable () -> ViewerClient) {
        let isReachable = change { content in
            content.makeClient = make
            return content.isReachable
        }
        if isReachable { hostAppeared() }
    }

    /// The first time, connects; later, tells the session not to wait for its next try.
    func hostAppeared() {
        let existing = change { content -> ViewerClient? in
            content.isReachable = true
            if let client = content.client { return client }
            guard !content.isStopped, let make = content.makeClient else { return nil }
            content.makeClient = nil
            content.client = make()
            return nil
        }
        existing?.hostAppeared()
    }

    /// No client is made any more; hands the one there is over to be shut down.
    func stop() -> ViewerClient? {
        let statistics = client?.statistics
        return change { content in
            content.isStopped = true
            content.lastStatistics = statistics ?? content.lastStatistics
            defer { content.client = nil }
            return content.client
        }
    }
}

/// What the window has done.
struct Presentation: Sendable {
    private var shown: UInt64 = 0
    private var times = FrameTimes()

    /// `picture` has stood in the window since `end`.
    mutating func record(_ picture: Picture, at end: MediaTime) {
        shown += 1
        times.recordPresentation(of: picture, at: end)
    }

    struct Report {
        var shown: UInt64
        /// From the picture on.
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

    /// Since the last such call; or since the first bytes came.
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
