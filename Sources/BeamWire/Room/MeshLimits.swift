import BeamMedia

/// What a room of equals takes, whatever a member sends.
public enum MeshLimits {
    /// How many may be in a room at a time.
    public static let members = 8
    /// Statements about who belongs to the room, beside the founding. `Membership` says whose have room among them.
    package static let statements = 192
    /// The links that a member's status may name: members, and a few that are on their way out.
    package static let statusLinks = 16
    /// The authors of messages whose newest number a status tells.
    package static let statusAuthors = 32
    /// The addresses that a status tells.
    package static let statusAddresses = 8
    /// Statuses in one message.
    package static let statusesPerMessage = 16
    /// The least time between two changes of a member's status that are passed on.
    package static let statusPause = Duration.milliseconds(50)
    /// A member tells its status again after this time at the latest. One that hasn't been heard for longer isn't here,
    /// whoever still tells of a link to it.
    package static let statusRefresh = Duration.milliseconds(1500)
    package static let statusLifetime = Duration.seconds(5)
    /// A link on which nothing has come for so long is lost. A sign of life is sent on a link that is quiet.
    package static let silence = Duration.seconds(3)
    package static let signOfLife = Duration.milliseconds(750)
    /// A member that is lost without having said that it leaves is shown as present for so long: when one link takes the
    /// place of another, nobody leaves.
    package static let absenceGrace = Duration.milliseconds(800)
    /// From a link's beginning to the peer's greeting.
    package static let greetingTimeout = Duration.seconds(5)
    /// Until somebody is dialled again, after the first failure, the second, …; the last one repeats. After half a minute
    /// a member that doesn't answer is rather away than cut off.
    package static let redialPauses: [Duration] =
        [.milliseconds(200), .milliseconds(500)] + [Duration](repeating: .seconds(1), count: 30) + [
            .seconds(5), .seconds(15),
        ]
    /// A member that appears again and again, or at ever other addresses, is dialled sooner than these pauses say only
    /// once in this time.
    package static let appearancePause = Duration.seconds(2)
    /// What a device may write at once in the long run, whoever brings it: its share of a log that all write.
    package static let authorBurst = LogLimits.entries / members
    /// How long entries that weren't taken wait before they are sent again: those of a device that has written too much, and
    /// those that begin late. What each costs the peer is bounded by the least time, and the wait by the longest.
    package static let budgetHold = Duration.seconds(2)
    package static let lateHold = Duration.milliseconds(500)
    package static let shortestHold = Duration.milliseconds(250)
    package static let longestHold = Duration.seconds(10)
    /// A newcomer waits so long for links to others before it believes that what is missing is nowhere.
    package static let entranceGrace = Duration.seconds(2)
    /// So long for somebody who knows what is missing of the history.
    package static let untoldPatience = Duration.seconds(10)
    /// Who said to have something and hasn't sent it for so long doesn't count any more.
    package static let offerPatience = Duration.seconds(3)
    /// Logs of one device that are known to begin late and aren't believed yet.
    package static let lateStartsPerDevice = 8
    /// However much else comes meanwhile.
    package static let longestLateness = Duration.seconds(60)
    /// After entering: history isn't slowed.
    package static let catchUpTime = Duration.seconds(30)
    /// A dial that the network hasn't answered by then has failed.
    package static let dialTimeout = Duration.seconds(6)
    /// A newcomer's question at another door is over by then: the door has sent it away (`HostLimits.comparisonTimeout`), and
    /// its word of that may be lost.
    package static let longestQuestion = Duration.seconds(240)
    /// The member with the higher key waits so long for the other one to dial.
    package static let dialGrace = Duration.milliseconds(1500)

    // MARK: How often links are made

    /// Dials in all: begun in a second, at once, and under way at a time. Of 192 that belong to a room seven others may be
    /// here.
    package static let dialsPerSecond = 8
    package static let burstDials = 16
    package static let dialsAtATime = 8
    /// A link that was up for less counts as a dial that has failed: the next one comes after a pause.
    package static let steadyLink = Duration.seconds(5)
    /// Links that one member may open: more than a network that comes and goes makes an honest one open.
    package static let linksPerSecond = 1
    package static let burstLinks = 10
    package static let tooManyPause = Duration.seconds(10)
    /// Links of members that haven't greeted, at a time.
    package static let waitingLinks = 16
    /// A member that has broken the rules gets no link for so long, after the first time, the second, …; the last one
    /// repeats. After the memory's time nothing is held against it.
    package static let violationPauses: [Duration] = [.seconds(5), .seconds(15), .seconds(60), .seconds(300)]
    package static let violationMemory = Duration.seconds(1800)
    /// A member that finds the room full tries again after so long.
    package static let fullPauses: [Duration] = [.seconds(5), .seconds(10), .seconds(30)]
    package static let strangersPause = Duration.seconds(5)
    /// The longest pause that a peer is believed.
    package static let longestPause = Duration.seconds(300)
    /// The least time between two reports that a member refuses links.
    package static let refusalPause = Duration.seconds(30)

    // MARK: What links may cost

    /// The time of the event loop's thread that the messages of one link may take in a second, and at once; and those of
    /// all links together.
    package static let linkTimePerSecond = Duration.milliseconds(50)
    package static let linkTimeBurst = Duration.milliseconds(200)
    package static let allLinksTimePerSecond = Duration.milliseconds(80)
    /// Messages of one link. A member that passes on what seven others write sends about 150 a second: 33 batches, 33
    /// acknowledgements, 20 statuses, 20 partial captions, and what its viewers and its door say.
    package static let messagesPerSecond = 400
    package static let burstMessages = 800
    /// For how long a link isn't read.
    package static let shortestLinkPause = Duration.milliseconds(20)
    package static let longestLinkPause = Duration.seconds(5)
    /// Those of all devices together that don't belong to the room by what is known here: newcomers that another member
    /// has let in a moment ago, and those who were put out.
    package static let strangersTimePerSecond = Duration.milliseconds(10)
    package static let strangersTimeBurst = Duration.milliseconds(100)
}
