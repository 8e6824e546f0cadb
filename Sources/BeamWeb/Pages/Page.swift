import BeamMedia
import BeamSession
import BeamWire

/// A browser's page: from its WebSocket to the end of its stream, and beyond a lost socket. Confined to its event loop.
final class Page {
    enum State {
        /// Its first message is awaited.
        case opened
        /// The door decides, or the person does.
        case judged
        /// It may try another code.
        case rejected
        case admitted(PageMessage.StreamForm)
    }

    let id: ConnectionID
    let address: IPAddress
    let kind: String
    let isSecure: Bool
    /// This machine's address that the browser has reached.
    let localAddress: IPAddress?
    /// Nil while its socket is lost.
    var connection: WebConnection?
    private(set) var state = State.opened
    /// When the state began.
    private(set) var since: MediaTime
    /// How it can have the stream.
    var form: PageMessage.StreamForm?
    /// It can show WebRTC, which gateways speak.
    var takesPackets = false
    /// The door knows it.
    var isOpened = false
    /// By which it can come again.
    var token: String?
    /// By which it watches; nil: the host serves it.
    var gateway: GatewayDoor?
    /// When it is given another token and name for the way by the gateway; nil: never.
    var renewalDue: MediaTime?
    /// It has said that it shows the gateway's picture.
    private(set) var isWatching = false
    /// Since when it hasn't; the time in which the host has paused doesn't count.
    var withoutPictureSince: MediaTime
    private var hasStarted = false
    /// Coming again costs everybody in the layer a keyframe: five are free, then one each 5 s. Counts seconds, not bytes.
    var returns = TokenBucket(capacity: 25, bitsPerSecond: 8)
    /// When its socket was lost.
    var lostAt: MediaTime?
    var nextPing: MediaTime
    /// Of its packets.
    var sources: BrowserSources?
    /// What it was told last.
    var size: PixelSize?

    init(_ connection: WebConnection, now: MediaTime) {
        id = connection.id
        address = connection.address
        kind = connection.kind
        isSecure = connection.isSecure
        localAddress = connection.localAddress
        self.connection = connection
        since = now
        withoutPictureSince = now
        nextPing = now + WebTimes.ping
    }

    func enter(_ state: State, now: MediaTime) {
        self.state = state
        since = now
    }

    /// True: the gateway's picture is there for the first time.
    func setWatching(_ isOn: Bool, now: MediaTime) -> Bool {
        if isWatching != isOn { withoutPictureSince = now }
        isWatching = isOn
        guard isOn, !hasStarted else { return false }
        hasStarted = true
        return true
    }

    /// Captions and notes aren't for an unencrypted socket; that of this machine itself has no listeners.
    var isPrivate: Bool { isSecure || address.isLoopback }

    func send(_ message: HostMessage) { connection?.socket?.send(message) }
}

/// Times of pages.
enum WebTimes {
    /// From the socket to the first message.
    static let firstMessage = Duration.seconds(10)
    /// From a wrong code to the next try: the page opens another socket for a later one.
    static let nextTry = Duration.seconds(30)
    static let ping = Duration.seconds(5)
    /// Without a message the page is dead. One that has last answered 5 s ago may be stopped for 10 s then, and has 5 s
    /// left to answer.
    static let silence = Duration.seconds(20)
    /// So long a lost socket's browser may come again without a code.
    static let resuming = Duration.seconds(30)
    /// A page that has shown no picture of its gateway for so long doesn't keep its place. It tries for 5 minutes itself.
    static let withoutPicture = Duration.seconds(360)
}
