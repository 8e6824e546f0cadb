import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamTerminal
import BeamWire

/// Putting a member out.
extension Meeting {
    /// Puts a member out, and perhaps those that it has let in. Returns why that can't be tried.
    public func putOut(_ text: String, alsoLetIn: Bool) -> String? {
        let found = people.members(matching: text)
        guard let member = found.first else { return "no member is called “\(PeerText.name(text))”" }
        guard found.count == 1 else {
            return "“\(PeerText.name(text))” may mean \(found.count) members: name one by the digits of its key, "
                + found.map(\.device.description).joined(separator: " or ")
        }
        putOut(member, alsoLetIn: alsoLetIn)
        return nil
    }

    /// Asks whether the people that the member has let in are to go, too. Asks nothing if there are none.
    private func askWhoElseGoes(with member: MeshPerson) {
        server?.findLetIn(by: member.device) { [weak self] letIn in
            guard let self else { return }
            guard !letIn.isEmpty else { return putOut(member, alsoLetIn: false) }
            person.ask(
                TerminalQuestions.Question(
                    words: Self.question(member.name, letIn: letIn.map(\.name)), takesEnter: true
                ) {
                    [weak self] line in
                    switch line.filter({ !$0.isWhitespace }).lowercased() {
                    case "": .answer {}
                    case "o", "only": .answer { [weak self] in self?.putOut(member, alsoLetIn: false) }
                    case "a", "all": .answer { [weak self] in self?.putOut(member, alsoLetIn: true) }
                    default: .unclear("Please type o (only that member) or a (all of them), or Enter alone.")
                    }
                }, isNext: true)
        }
    }

    /// The names that the question lists; a member may have let in many.
    private static let mostNamed = 8

    static func question(_ name: String, letIn: [String]) -> String {
        var names = letIn.prefix(mostNamed).map { "“\(PeerText.name($0))”" }
        if letIn.count > mostNamed { names.append("\(letIn.count - mostNamed) more") }
        let listed =
            names.count == 1 ? names[0] : names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
        return "“\(PeerText.name(name))” has let in \(listed). Put only “\(PeerText.name(name))” out, or all of them? "
            + "Type o (only that member), a (all), or Enter alone for neither."
    }

    private func putOut(_ member: MeshPerson, alsoLetIn: Bool) {
        let name = PeerText.name(member.name)
        server?.putOut(member.device, alsoThoseLetIn: alsoLetIn) { [context] refusal in
            if let refusal {
                let words = Self.words(refusal)
                context.tell(
                    .room(.notPutOut(name: name, reason: words)), "“\(name)” isn't put out: \(words).")
            } else {
                context.tell(
                    .room(.putOut(.init(member.device, name), alsoLetIn: alsoLetIn)),
                    alsoLetIn
                        ? "“\(name)” is put out of the room with all whom it has let in: they get nothing of it any more."
                        : "“\(name)” is put out of the room, and gets nothing of it any more.")
            }
        }
    }

    /// Asks the person whom to put out, or which browser to send away.
    public func askWhomToPutOut() {
        let others = people.people.filter { $0.device != own }
        let browsers = browsers?.guests ?? []
        let names = others.map { "“\(PeerText.name($0.name))”" } + browsers.map { "“\($0.shownName)”, a browser" }
        guard !names.isEmpty else {
            return context.say(
                "Nobody else belongs to the room" + (settings.web == nil ? "." : ", and no browser watches."))
        }
        for (index, name) in names.enumerated() { context.say("  \(index + 1)  \(name)") }
        person.ask(
            .number(
                "Put whom out of the room? Type the number; Enter alone puts nobody out.", of: names.count,
                takesNone: true
            ) { [weak self] index in
                guard index < others.count else { return self?.askHowLong(browsers[index - others.count]) ?? () }
                self?.askWhoElseGoes(with: others[index])
            }, isNext: false)
    }

    /// A member closes this device's links for a while.
    func refused(by device: DeviceKey, _ pause: MeshPause) {
        let seconds = max(1, Int(pause.duration.inSeconds.rounded(.up)))
        let (name, reason) = (people.name(of: device), Self.words(pause.reason))
        context.tell(
            .room(.linkRefused(by: .init(device, name), reason: reason, seconds: seconds)),
            "“\(name)” takes no connection from this device for \(CommonText.count(seconds, "second")): \(reason).",
            as: .refusal)
    }

    static func words(_ reason: MeshPause.Reason) -> String {
        switch reason {
        case .other: "it doesn't say why"
        case .violation: "it says that this device has broken the room's rules"
        case .full: "it says that the room is full, with \(MeshLimits.members) members in it"
        case .tooMany: "this device has connected too often"
        case .busy: "it is busy"
        }
    }

    static func words(_ refusal: MeshRefusal) -> String {
        switch refusal {
        case .noRoom: "this device isn't in a room"
        case .notAMember: "it doesn't belong to the room"
        case .otherRoom: "it is in another room"
        case .otherVersion: "its version of BeamRoom can't meet this one in a room: install the same version"
        case .full: "the room is full: \(MeshLimits.members) members are here"
        case .tooManyChanges: "the room's membership has changed too often; make a new room"
        case .wasHereBefore: "you can put out only members that came after you"
        case .second: "there is another connection"
        case .paused: "it takes no connection at present"
        case .silent: "it doesn't answer"
        case .violation(let what): what
        case .left: "this device is leaving"
        }
    }
}
