/// What a host bears from strangers, and how long it waits.
enum HostLimits {
    /// Control connections of unknown peers that haven't been let in: in all, and of one address prefix.
    static let unknownConnections = 64
    static let unknownPerPrefix = 16
    /// How fast those may come: of one address prefix, and in all. A burst at first, then so many a second.
    static let connectionBurst = 64
    static let connectionsPerSecond = 32
    static let totalConnectionBurst = 256
    static let totalConnectionsPerSecond = 200
    /// The same for prefixes from which nobody has come for so long.
    static let freshConnectionsPerSecond = 100
    static let freshAfter = Duration.seconds(10)
    /// Connections of known devices that haven't joined yet: in all, and of one device.
    static let knownConnections = 32
    static let knownPerDevice = 4
    /// Viewers of one known device, and of one address in version 1, where nothing else tells viewers apart.
    static let viewersPerDevice = 8
    /// How long a viewer that was evicted has to stay away, and how many of those are remembered.
    static let evictionTime = Duration.seconds(60)
    static let evictions = 256
    /// Addresses that a known device was let in from in this run, the latest.
    static let favouredAddresses = 64
    /// How long a connection may go without having been let in.
    static let strangerTime = Duration.seconds(30)
    /// The same while the person at the host is being asked about a version 2 viewer, which can't come back with the same digits.
    static let askingTime = Duration.seconds(120)
    /// How long a viewer has to reveal its nonce once the person has agreed to compare digits. An honest one takes a round trip.
    static let revealTime = Duration.seconds(2)
    /// Lines, or messages, that a connection may send before it is let in.
    static let strangerLines = 64
    /// Malformed lines that a viewer may send.
    static let strikes = 16

    /// Questions to the person at a time; of one address prefix; and those of them that are kept for prefixes that haven't asked
    /// within `questionMemory`.
    static let questions = 8
    static let questionsPerPrefix = 3
    static let questionsKept = 2
    static let questionMemory = Duration.seconds(600)
    /// A question that has stood for so long may give way to one from an address prefix that asks less.
    static let questionTurn = Duration.seconds(20)
    /// How long a question outlives its connection: longer than a viewer's longest pause between two attempts.
    static let questionAfterlife = Duration.seconds(15)
    /// How long an answer is good for a viewer that wasn't there to hear it.
    static let verdictTime = Duration.seconds(60)
    static let verdicts = 16

    /// How long the viewers have to take the next media key, and after how many datagrams there is one.
    static let mediaKeyTime = Duration.seconds(1)
    /// From one media key to the next.
    static let mediaKeyPause = Duration.milliseconds(50)
    static let datagramsPerKey: UInt64 = 1 << 31

    static let firstHeartbeat = Duration.seconds(2)
    static let heartbeat = Duration.seconds(5)
    /// Without a line or a hello for so long, a viewer has left.
    static let viewerSilence = Duration.seconds(15)
    /// Without a hello for so long, the stream to a viewer ends.
    static let streamSilence = Duration.seconds(20)
    /// Without a hello for so long, a viewer's stream may move to another port of its address: two hellos are missing.
    static let moveSilence = Duration.milliseconds(2200)
    /// For so long a hello is awaited from the port that a viewer has named. After that an address translator may
    /// stand in between, and any port of its address will do.
    static let announcementTime = Duration.milliseconds(900)
}
