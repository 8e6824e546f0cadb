/// How long a viewer waits for what.
enum ViewerTiming {
    /// Pauses before the next attempt, the last one again and again (the wire's own schedule).
    static let schedule: [Duration] = [1, 2, 3, 5, 8, 10].map { .seconds($0) }
    /// To the host's decision.
    static let decision = Duration.seconds(8)
    /// To the decision of a version 2 host's person, who has up to two minutes.
    static let secureDecision = Duration.seconds(125)
    /// From a comparison that was broken off to the next try: more than twice what a host lets a viewer take to reveal its nonce.
    static let afterComparison = Duration.seconds(5)
    /// To a connection, or the word that there is none.
    static let connection = Duration.seconds(10)
    /// Before a host that has let us in is tried again. A connection that it refuses bothers nobody there.
    static let firstMending = Duration.milliseconds(300)
    /// A connection that held for so long is mended at once; of those that didn't, so many in a row.
    static let lastingControl = Duration.seconds(5)
    static let quickMendings = 3
    static let mending = Duration.seconds(1)
    /// Before somebody else who answers in the place of a known host is tried again.
    static let mistrust = Duration.seconds(10)
    static let heartbeat = Duration.seconds(5)
    /// Without a line from the host for so long, the control connection is lost.
    static let controlSilence = Duration.seconds(15)
    /// Malformed lines that a host may send on one connection.
    static let strikes = 16

    static let hello = Duration.seconds(1)
    /// The same in version 2 until something has come: longer than a round trip on any local network.
    static let unansweredHello = Duration.milliseconds(150)
    /// How long hellos bring a challenge's token back, and how often a challenge is answered at most.
    static let challengeTime = Duration.seconds(3)
    static let challengePause = Duration.milliseconds(5)
    /// Without a datagram for so long, the media socket is replaced: after data, and before any.
    static let silenceAfterData = Duration.seconds(4)
    static let silenceBeforeData = Duration.seconds(6)
    /// Before the fresh one is opened; and after the system has refused the old one.
    static let reopening = Duration.milliseconds(500)
    static let reopeningAfterFailure = Duration.seconds(1)
    /// Data so recent prove that an error of the socket is nothing to act on.
    static let recentData = Duration.seconds(1)
    /// Silence that is worth a word. A screen that stands still sends a keyframe every two seconds, or (version 2) a word that it does.
    static let stall = Duration.milliseconds(2500)
    static let stallReport = Duration.seconds(1)
}
