/// Limits on what peers may use, and timeouts. Limits.md has a table of them.
enum HostLimits {
    /// Control connections of unknown peers that weren't admitted yet: in all, and for one address prefix.
    static let unknownConnections = 64
    static let unknownConnectionsPerPrefix = 16
    /// Rates of new connections, for one address prefix and in all: a burst, then connections a second.
    static let connectionBurst = 64
    static let connectionsPerSecond = 32
    static let totalConnectionBurst = 256
    static let totalConnectionsPerSecond = 200
    /// Connections a second for prefixes that had none within `newPrefixAfter`.
    static let newPrefixConnectionsPerSecond = 100
    static let newPrefixAfter = Duration.seconds(10)
    /// Connections of known devices that haven't joined: in all, and for one device.
    static let knownConnections = 32
    static let knownConnectionsPerDevice = 4
    /// Viewers of one device; in version 1, of one address, as nothing else tells viewers apart.
    static let viewersPerDevice = 8
    /// How long an evicted viewer is refused, and how many of those are remembered.
    static let evictionDuration = Duration.seconds(60)
    static let rememberedEvictions = 256
    /// Addresses remembered because a known device was admitted from them in this run, the latest.
    static let knownAddresses = 64
    /// How long a connection may stay without admission.
    static let admissionTimeout = Duration.seconds(30)
    /// The same while the person is asked about a version 2 viewer or compares its digits. Longer, as the viewer can't
    /// come back with the same digits.
    static let comparisonTimeout = Duration.seconds(120)
    /// How long a viewer may take to reveal its nonce once the person has agreed to compare digits. An honest one needs
    /// a round trip.
    static let revealTimeout = Duration.seconds(2)
    /// Lines (version 1) or messages (version 2) that a connection may send before admission.
    static let messagesBeforeAdmission = 64
    /// Codes that a browser's page may send in pauses after wrong ones.
    static let codesInPause = 5
    /// The malformed line at which an admitted version 1 viewer is refused.
    static let malformedLines = 16

    /// Questions to the person: at a time, for one address prefix, and places reserved for prefixes that haven't asked
    /// within `questionHistory`.
    static let questions = 8
    static let questionsPerPrefix = 3
    static let questionsReserved = 2
    static let questionHistory = Duration.seconds(600)
    /// After this long, a question may be withdrawn for one from a prefix that asks less.
    static let questionMinimumTime = Duration.seconds(20)
    /// A version 1 viewer waits 8 s for the answer and then tries again, after a pause of 10 s at most. So a question
    /// outlives a connection that lasted about as long by more than this pause. If it was shorter, the viewer has hung up,
    /// or its network was lost: the question ends unless the viewer is back soon, and is asked again if it is back later.
    static let version1Patience = Duration.seconds(6)
    static let questionGracePeriod = Duration.seconds(15)
    static let hangUpGracePeriod = Duration.seconds(3)
    /// How long an answer is kept for a version 1 viewer that wasn't connected when it was given, and how many are
    /// kept.
    static let answerLifetime = Duration.seconds(60)
    static let storedAnswers = 16

    /// How long the viewers may take to confirm the next media key before it is used anyway.
    static let mediaKeyTimeout = Duration.seconds(1)
    /// The least time between two media keys; and the datagrams after which a key is replaced.
    static let mediaKeyInterval = Duration.milliseconds(50)
    static let datagramsPerKey: UInt64 = 1 << 31

    static let firstHeartbeatDelay = Duration.seconds(2)
    static let heartbeatInterval = Duration.seconds(5)
    /// A viewer from which nothing was received for this long is removed.
    static let viewerTimeout = Duration.seconds(15)
    /// The stream to a viewer ends when no hello has come for this long.
    static let streamTimeout = Duration.seconds(20)
    /// Version 1: a viewer's stream may move to another port of its address when no hello has come for this long, which
    /// is two missed hellos.
    static let moveTimeout = Duration.milliseconds(2200)
    /// Version 1: how long a hello has to come from the port that the viewer announced. After that any port of its
    /// address is accepted, as an address translator may be in between.
    static let announcementTimeout = Duration.milliseconds(900)
}
