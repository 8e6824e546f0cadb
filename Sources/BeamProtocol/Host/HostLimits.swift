/// What a host bears from strangers, and how long it waits.
enum HostLimits {
    /// Control connections of unknown peers that haven't been let in: in all, and of one address prefix.
    static let unknownConnections = 64
    static let unknownConnectionsPerPrefix = 16
    /// How fast those may come: of one address prefix, and in all. A burst at first, then so many a second.
    static let connectionBurst = 64
    static let connectionsPerSecond = 32
    static let totalConnectionBurst = 256
    static let totalConnectionsPerSecond = 200
    /// The same for prefixes from which nobody has come for so long.
    static let newPrefixConnectionsPerSecond = 100
    static let newPrefixAfter = Duration.seconds(10)
    /// Connections of known devices that haven't joined yet: in all, and of one device.
    static let knownConnections = 32
    static let knownConnectionsPerDevice = 4
    /// Viewers of one known device, and of one address in version 1, where nothing else tells viewers apart.
    static let viewersPerDevice = 8
    /// How long a viewer that was evicted has to stay away, and how many of those are remembered.
    static let evictionDuration = Duration.seconds(60)
    static let rememberedEvictions = 256
    /// Addresses that a known device was let in from in this run, the latest.
    static let knownAddresses = 64
    /// How long a connection may go without having been let in.
    static let admissionTimeout = Duration.seconds(30)
    /// The same while the person at the host is being asked about a version 2 viewer, which can't come back with the same digits.
    static let comparisonTimeout = Duration.seconds(120)
    /// How long a viewer has to reveal its nonce once the person has agreed to compare digits. An honest one takes a round trip.
    static let revealTimeout = Duration.seconds(2)
    /// Lines, or messages, that a connection may send before it is let in.
    static let messagesBeforeAdmission = 64
    /// Malformed lines that a viewer may send.
    static let malformedLines = 16

    /// Questions to the person at a time; of one address prefix; and those of them that are kept for prefixes that haven't asked
    /// within `questionHistory`.
    static let questions = 8
    static let questionsPerPrefix = 3
    static let questionsReserved = 2
    static let questionHistory = Duration.seconds(600)
    /// A question that has stood for so long may give way to one from an address prefix that asks less.
    static let questionMinimumTime = Duration.seconds(20)
    /// How long a question outlives its connection: longer than a viewer's longest pause between two attempts.
    static let questionGracePeriod = Duration.seconds(15)
    /// How long an answer is good for a viewer that wasn't there to hear it.
    static let answerLifetime = Duration.seconds(60)
    static let storedAnswers = 16

    /// How long the viewers have to take the next media key, and after how many datagrams there is one.
    static let mediaKeyTimeout = Duration.seconds(1)
    /// From one media key to the next.
    static let mediaKeyInterval = Duration.milliseconds(50)
    static let datagramsPerKey: UInt64 = 1 << 31

    static let firstHeartbeatDelay = Duration.seconds(2)
    static let heartbeatInterval = Duration.seconds(5)
    /// Without a line or a hello for so long, a viewer has left.
    static let viewerTimeout = Duration.seconds(15)
    /// Without a hello for so long, the stream to a viewer ends.
    static let streamTimeout = Duration.seconds(20)
    /// Without a hello for so long, a viewer's stream may move to another port of its address: two hellos are missing.
    static let moveTimeout = Duration.milliseconds(2200)
    /// For so long a hello is awaited from the port that a viewer has named. After that an address translator may
    /// stand in between, and any port of its address will do.
    static let announcementTimeout = Duration.milliseconds(900)
}
