import BeamMedia
import BeamWire

/// Who belongs to the room: what this device says of it, and what others say.
extension Mesh {
    /// Those whom a member has let in and who are to stay when it is put out: this device vouches for so many of them.
    private static let mostTakenOver = 24

    /// Who would be put out with the member, if also those are whom it has let in: in the order of stays.
    func letIn(by device: DeviceKey) -> [Membership.Person] { membership?.letIn(by: device) ?? [] }

    /// Puts somebody out who came after this device.
    ///
    /// What that member said doesn't count any more. What is to stay of it this device says itself: that those belong to
    /// the room whom the member has let in, unless `alsoThoseLetIn`, and that those don't whom it has put out.
    mutating func putOut(_ device: DeviceKey, alsoThoseLetIn: Bool = false, now: MediaTime) throws(MeshRefusal) {
        guard let membership, membership.belongs(device), !isEnded else { throw .noRoom }
        guard let stay, membership.mayPutOut(device, in: stay) else { throw .wasHereBefore }
        let letIn = membership.letIn(by: device)
        // Those go with their tree, by name only if others will need to know how far their logs count.
        let writers = Set(exchange.log.authors.map(\.author.device))
        let named = letIn.map(\.device).filter(writers.contains)
        let endings = endings(
            of: [device] + (alsoThoseLetIn ? named.prefix(Self.mostTakenOver) : []), in: membership)
        let more = statements(endings + membership.endings(onlyBy: device))
        // Those who are here first.
        let staying =
            alsoThoseLetIn ? [] : letIn.filter { hops[$0.device] != nil } + letIn.filter { hops[$0.device] == nil }
        let vouched = staying.prefix(Self.mostTakenOver).map { person in
            (MembershipStatement.Content.admitted(publicKey: person.publicKey, name: person.name), person.stay)
        }
        guard speak(more, takingOver: vouched, now: now) else { throw .tooManyChanges }
        codePutOut(now: now)
    }

    /// The stays of the devices, and what is known of their logs; the first one's is what is least left out.
    private func endings(of devices: [DeviceKey], in membership: Membership) -> [MembershipStatement.Ending] {
        devices.flatMap { device in
            let logs = exchange.log.authors.filter { $0.author.device == device && $0.last > 0 }
                .sorted { $0.serial > $1.serial }.prefix(MembershipStatement.mostRuns)
            let last = Dictionary(logs.map { ($0.author.run, $0.last) }, uniquingKeysWith: { max($0, $1) })
            return membership.openStays(of: device).map { MembershipStatement.Ending(stay: $0, last: last) }
        }
    }

    /// As few statements as name all of the endings.
    private func statements(_ endings: [MembershipStatement.Ending]) -> [MembershipStatement.Content] {
        var found: [[MembershipStatement.Ending]] = []
        for ending in endings {
            let last = found.last ?? []
            let runs = last.reduce(ending.last.count) { $0 + $1.last.count }
            if last.isEmpty || last.count == MembershipStatement.mostEndings || runs > MembershipStatement.mostRunsInAll
            {
                found.append([ending])
            } else {
                found[found.count - 1].append(ending)
            }
        }
        return found.map { .putOut($0) }
    }

    /// Adds statements of this device, and tells everybody. False: there is no room for the first one.
    ///
    /// - Parameter takingOver: admissions, and the stays whose places in the order the new ones are to have; what there is no
    ///   room for is left out.
    mutating func speak(
        _ contents: [MembershipStatement.Content],
        takingOver: [(MembershipStatement.Content, Membership.ID)] = [], now: MediaTime
    ) -> Bool {
        guard var next = membership, let stay else { return false }
        var said: [MembershipStatement] = []
        for content in contents {
            guard let statement = say(content, stay: stay, in: &next, now: now) else {
                if said.isEmpty { return false }
                continue
            }
            said.append(statement)
        }
        for (content, before) in takingOver {
            let time = membership?.milliseconds(of: before)
            if let statement = say(content, stay: stay, time: time, in: &next, now: now) { said.append(statement) }
        }
        membership = next
        spread(said, butNotTo: nil, now: now)
        membershipChanged(now: now)
        return true
    }

    @discardableResult func say(
        _ content: MembershipStatement.Content, stay: Membership.ID, time: UInt64? = nil,
        in membership: inout Membership, now: MediaTime
    ) -> MembershipStatement? {
        let statement = MembershipStatement(
            content, stay: stay, milliseconds: time ?? age(now: now).inMilliseconds64, room: membership.room,
            signing: configuration.signing)
        guard (try? membership.add(statement)) == true else { return nil }
        return statement
    }

    private mutating func spread(_ statements: [MembershipStatement], butNotTo sender: MeshLinkID?, now: MediaTime) {
        guard !statements.isEmpty else { return }
        for index in links.indices where links[index].isUp && links[index].id != sender {
            send(.mesh(.statements(statements)), index, now: now)
        }
    }

    /// Takes what a peer says of the membership. False: it has lied, and its link is closed.
    ///
    /// What has no room here isn't an offence: the peer may not know yet what is known here.
    mutating func take(_ statements: [MembershipStatement], from index: Int, now: MediaTime) -> Bool {
        guard var next = membership else { return false }
        var added: [MembershipStatement]
        do throws(Membership.Rejection) {
            added = try next.add(statements)
        } catch {
            violated(index, "it passed on a statement whose signature is wrong", now: now)
            return false
        }
        guard !added.isEmpty else { return true }
        let id = links[index].id
        let own = renewed(&next, now: now)
        added += own
        membership = next
        spread(added, butNotTo: id, now: now)
        if !own.isEmpty, links[index].isUp { send(.mesh(.statements(own)), index, now: now) }
        membershipChanged(now: now)
        return self.index(of: id) != nil
    }

    /// This device doesn't belong to the room any more.
    mutating func lostPlace(_ membership: Membership) {
        if let author = membership.putOut[own.device] {
            outputs.append(.event(.putOut(by: name(of: author))))
        } else {
            // Others' statements have taken the room that the one needs by which it was let in.
            outputs.append(.event(.full))
        }
        end()
    }

    /// Who had let this device in was put out, and somebody else has vouched for it: it goes on in another stay. It vouches
    /// again for those whom it had let in itself, as far as that member didn't know of them: in the same message that
    /// tells them, so that they don't hear for a moment that they are out. Returns what it has said.
    private func renewed(_ membership: inout Membership, now: MediaTime) -> [MembershipStatement] {
        guard let before = self.stay, let stay = membership.stay(of: own.device, before: before), before != stay,
            !isEnded
        else { return [] }
        return membership.lost(by: own.device).prefix(Self.mostTakenOver).compactMap { lost in
            say(
                .admitted(publicKey: lost.publicKey, name: lost.name), stay: stay, time: lost.rank.milliseconds,
                in: &membership, now: now)
        }
    }
}
