import BeamMedia

/// What a room and its links take, whatever a member sends.
public enum LogLimits {
    /// The longest body of an entry, in bytes.
    public static let entryBody = 64 << 10
    /// The longest note that a person writes, in bytes of UTF-8.
    public static let note = 2000
    /// The longest ID of a message between programs, in bytes of UTF-8.
    public static let messageID = 64
    /// The entries that a room keeps, and their bytes. Then the oldest go.
    package static let entries = 100_000
    package static let bytes = 64 << 20
    /// What an entry costs beside its body, in bytes: digests, numbers, the array's own memory.
    static let entryOverhead = 160
    /// The authors that a room knows. A member that writes nothing isn't one. Beyond them, the oldest run of the device with
    /// most runs goes.
    package static let authors = 1024
    /// The devices whose names the keeper tells, and how often another name of one.
    package static let names = 4096
    package static let renamings = 8
    /// The members that have left whose time of joining is known, for messages that later ones don't get.
    package static let rememberedMembers = 1024
    /// Entries are sent in batches of about this many bytes, with at most this many entries, so that a batch is checked
    /// within a millisecond or two. A single entry may be longer.
    package static let batchBytes = 16 << 10
    package static let batchEntries = 512
    /// Each author's entries in a batch have a signature that the receiver checks (0.1 ms).
    package static let batchAuthors = 16
    /// Bytes sent and not acknowledged, at most, unless a single batch has more: so little that history doesn't delay
    /// pictures on a slow path.
    package static let window = 48 << 10
    /// What a peer that keeps to the window may have sent beyond it: one batch with one entry of full length.
    package static let windowTolerance = 128 << 10
    /// The least time between two batches to a peer, and between two acknowledgements: 33 of each a second, of the 100
    /// messages a second that a peer accepts (`MessageRate`).
    package static let pause = Duration.milliseconds(30)
    /// What one author may write in the long run, and at once. An author that writes more is acknowledged later, and told so.
    package static let entriesPerSecond = 200
    package static let burstEntries = 1000
    package static let bytesPerSecond = 128 << 10
    package static let burstBytes = 1 << 20
    /// An author is told that it is slowed when an acknowledgement is later than this.
    package static let noticeableDelay = Duration.milliseconds(200)
    /// A guest that confirms nothing of what it was sent for so long is sent away: others' messages wait for it.
    package static let patience = Duration.seconds(30)
    /// Messages of an author that wait for recipients, at most; then the oldest is settled as it stands.
    package static let openMessages = 1024
    /// How long a slowed author has nothing waiting before it is told that it isn't slowed any more.
    package static let calm = Duration.seconds(1)
    /// Partial captions that are sent to a peer, at most one in this time.
    package static let partialPause = Duration.milliseconds(50)
    /// Own entries that no peer has yet, at most, and the bytes of those that were written before there was a room; beyond
    /// that nothing more is taken.
    package static let unsentEntries = 20_000
    package static let unsentBytes = 8 << 20
    /// Results of messages that are kept for an author whose connection is lost.
    package static let keptReceipts = 4096
}
