import ArgumentParser

/// The program of `Scripts/bench crowd`: many viewers in one process, which do everything except decoding.
@main
struct CrowdCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beamroom-crowd", abstract: "Many viewers that don't decode, in one process.",
        subcommands: [Prepare.self, Watch.self, Content.self])
}

/// Makes a host and its viewers known to each other, without pairing them.
struct Prepare: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes identities that a host and its viewers know.",
        discussion: """
            In DIRECTORY: host, the host's state directory (XDG_STATE_HOME); real-0 and so on, those of viewers that run as \
            programs of their own; crowd, the keys of the viewers of `watch`. What is there already is kept.
            """)

    @Argument(help: "Made if it isn't there.") var directory: String
    @Option(help: "How many viewers of `watch`.") var count = 50
    @Option(help: "How many viewers that run as programs of their own.") var real = 0

    func validate() throws {
        guard (0...900).contains(count), (0...16).contains(real) else {
            throw ValidationError("--count is 0 to 900, --real is 0 to 16.")
        }
    }

    func run() throws { try Population(directory).make(light: count, real: real) }
}

/// Watches with many viewers, and writes each one's figures.
struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Watches with many viewers, and says as JSON what each got.",
        discussion: """
            Writes one JSON object a line: `started`, `begin` and `end` of what is measured, and `result`. Times are seconds of \
            CLOCK_MONOTONIC unless they bear another unit.
            """)

    @Argument(help: "HOST:PORT, an IPv4 address.") var target: String
    @Option(help: "What `prepare` made.") var directory: String
    @Option(
        help: ArgumentHelp(
            "Viewers: NAME:COUNT, and from when they join within how many seconds (0 and 0), evenly spread.",
            valueName: "name:count[:at[:within]]"))
    var group: [Group]
    @Option(help: "The number of the first key to use.") var first = 0
    @Option(help: "When measuring begins, in seconds after the start.") var begin = 2.0
    @Option(help: "How long it lasts.") var seconds = 5.0
    @Flag(help: "All from the address that the system chooses, instead of one of 127.0.0.0/8 each.") var oneAddress =
        false

    func validate() throws {
        guard !group.isEmpty, begin >= 0, (0.5...600).contains(seconds), first >= 0,
            (1...900).contains(group.reduce(0) { $0 + $1.count })
        else { throw ValidationError("One viewer at least, 900 at most, and 0.5 to 600 seconds.") }
    }

    func run() throws {
        guard let colon = target.lastIndex(of: ":"), let port = UInt16(target[target.index(after: colon)...]) else {
            throw ValidationError("“\(target)” should be HOST:PORT.")
        }
        let crowd = Crowd(
            host: String(target[..<colon]), port: port, population: Population(directory), groups: group, first: first,
            sharesAddress: oneAddress)
        try crowd.run(begin: begin, seconds: seconds)
    }
}

/// A group of viewers that join together.
struct Group: ExpressibleByArgument {
    var name: String
    var count: Int
    /// When the first viewer joins, in seconds since the start, and how many seconds later the last one does.
    var at = 0.0
    var within = 0.0

    init?(argument: String) {
        let words = argument.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard (2...4).contains(words.count), !words[0].isEmpty, let count = Int(words[1]), count > 0 else { return nil }
        name = words[0]
        self.count = count
        if words.count > 2 {
            guard let at = Double(words[2]), (0...600).contains(at) else { return nil }
            self.at = at
        }
        if words.count > 3 {
            guard let within = Double(words[3]), (0...600).contains(within) else { return nil }
            self.within = within
        }
    }

    /// When viewer number `index` of the group joins.
    func moment(of index: Int) -> Double { count > 1 ? at + within * Double(index) / Double(count - 1) : at }
}
