/// A viewer's timeouts and intervals.
enum ViewerTiming {
    /// Pauses before each further attempt; the last one repeats.
    static let retrySchedule: [Duration] = [1, 2, 4].map { .seconds($0) }
    /// The same for a known host that is watched whenever it appears: two programs talk within 2 s of both being there,
    /// also on a network where nothing is announced.
    static let awaitedRetrySchedule: [Duration] = [1, 1.5].map { .seconds(clamping: $0) }
    /// The same as version 1 of the wire prescribes it: each attempt may ask the host's person.
    static let plainRetrySchedule: [Duration] = [1, 2, 3, 5, 8, 10].map { .seconds($0) }
    /// For the host's answer to the hello or handshake.
    static let decisionTimeout = Duration.seconds(8)
    /// Between pings to a version 2 host that owes an answer, and how many there are before the connection is replaced.
    /// From the third connection on there are twice as many each time.
    static let nudgeInterval = Duration.milliseconds(100)
    static let nudges = 4
    /// Connections in a row that are replaced for want of an answer.
    static let mostRestarts = 4
    /// For the decision of a version 2 host's person, who has up to two minutes.
    static let pairingTimeout = Duration.seconds(125)
    /// From an interrupted comparison to the next attempt: more than twice the two seconds that a host allows a viewer
    /// to reveal its nonce.
    static let comparisonRetry = Duration.seconds(5)
    /// For the control connection to be established or refused.
    static let connectionTimeout = Duration.seconds(10)
    /// Before the first reconnection to a host that has admitted this viewer. Nobody there is asked again.
    static let firstReconnection = Duration.milliseconds(300)
    /// A connection that lasted this long is reconnected at once. Of shorter ones, this many in a row are.
    /// One that is lost sooner is unstable.
    static let stableControl = Duration.seconds(5)
    static let quickReconnections = 3
    /// Before an attempt to reconnect that follows a failed one: in version 2 for some time after the loss, in which a
    /// restarted host comes back (then `retrySchedule` applies), and in version 1.
    static let quickReconnection = Duration.milliseconds(250)
    static let quickReconnectionTime = Duration.seconds(60)
    static let reconnection = Duration.seconds(1)
    /// A control connection counts as stable when it has lasted this long and the host is heard after that.
    static let stabilityTime = Duration.seconds(4)
    /// Before the next attempt when another host answered in place of a known one.
    static let wrongHostRetry = Duration.seconds(10)
    /// Time between heartbeats (version 1) or pings (version 2).
    static let heartbeatInterval = Duration.seconds(5)
    /// Without a message from the host for this long, the control connection counts as lost.
    static let controlTimeout = Duration.seconds(15)
    /// Malformed lines after which a version 1 connection is closed.
    static let malformedLineLimit = 16

    /// Time between hellos.
    static let helloInterval = Duration.seconds(1)
    /// Time between version 2 hellos while they aren't answered: at first, because a burst of losses swallows several;
    /// then, longer than a round trip on any local network; after `longUnanswered`, as usual.
    static let firstHelloInterval = Duration.milliseconds(50)
    static let firstHellos = Duration.seconds(1)
    static let unansweredHelloInterval = Duration.milliseconds(150)
    static let longUnanswered = Duration.seconds(5)
    /// Until the first frame arrives, hellos are repeated each `unansweredHelloInterval` although they are answered, for
    /// this long after the socket was opened.
    static let firstFrameTime = Duration.seconds(3)
    /// Version 2: silence after parts of frames, after which a hello asks whether the host is still heard. A host says
    /// 40 and 160 ms after its last frame which one that was.
    static let suspiciousSilence = Duration.milliseconds(300)
    /// How long hellos carry a challenge's token, and the least interval between two answers to challenges.
    static let challengeLifetime = Duration.seconds(3)
    static let challengeAnswerInterval = Duration.milliseconds(5)
    /// Without a datagram for this long the media socket is replaced: after data, and before any.
    static let dataTimeout = Duration.seconds(4)
    static let firstDataTimeout = Duration.seconds(6)
    /// Before the new media socket is opened: after silence, and after an error of the system.
    static let reopeningDelay = Duration.milliseconds(500)
    static let reopeningDelayAfterFailure = Duration.seconds(1)
    /// The same if this machine's address or interface is gone: another one may come at any time.
    static let reopeningDelayWithoutAddress = Duration.milliseconds(200)
    /// An error of the socket is ignored if data arrived within this time.
    static let recentData = Duration.seconds(1)
    /// Version 1: silence after which a stall is reported. On a still screen a host sends a keyframe every two seconds.
    static let plainStallTimeout = Duration.milliseconds(2500)
    /// Version 2: a stall is reported after this long without a new picture although there is one, or without an answer
    /// to hellos.
    static let stallTimeout = Duration.seconds(1)
    /// Version 2: after a stall that losses made, the picture is live again when no new frame has been incomplete for
    /// longer than `longestSteadyGap` during `steadyTime`: while four of five packets are lost, a few pictures still get
    /// through.
    static let steadyTime = Duration.milliseconds(700)
    static let longestSteadyGap = Duration.milliseconds(200)
    /// Version 2: if nothing has arrived for this long, the control connection is tested by a ping; if that isn't
    /// answered until the stall is reported, the connection is made anew, perhaps to another address.
    static let controlTest = Duration.milliseconds(500)
    /// A keyframe is requested again if nothing of the first one has arrived for this long.
    static let firstFrameTimeout = Duration.milliseconds(200)
    /// Time between reports of a stall.
    static let stallReportInterval = Duration.seconds(1)
}
