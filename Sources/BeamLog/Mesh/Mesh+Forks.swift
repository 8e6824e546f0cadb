import BeamMedia
import BeamWire

/// The authors that have told different members different things.
struct ForkKeeping: Sendable {
    /// Proofs of one device; then nothing of it is taken any more.
    static let proofsPerDevice = 2
    /// Proofs kept to be passed on.
    static let mostProofs = 64

    private(set) var proofs: [(author: LogAuthor, proof: ForkProof)] = []
    private var runs: Set<LogAuthor> = []
    private var counts: [DeviceKey: Int] = [:]

    var isEmpty: Bool { runs.isEmpty }

    /// Nothing of that run is taken any more, or passed on.
    func isFrozen(_ author: LogAuthor) -> Bool {
        !runs.isEmpty && (runs.contains(author) || counts[author.device] ?? 0 >= Self.proofsPerDevice)
    }

    /// The proof was checked. False: nothing new.
    mutating func add(_ proof: ForkProof, of author: LogAuthor) -> Bool {
        guard !isFrozen(author) else { return false }
        runs.insert(author)
        counts[author.device, default: 0] += 1
        if proofs.count >= Self.mostProofs { proofs.removeFirst() }
        proofs.append((author, proof))
        return true
    }
}

extension Mesh {
    /// A proof that was found here, or has come and was checked: nothing of that run is taken any more, and everybody is told.
    mutating func adopt(_ proof: ForkProof, of author: LogAuthor) {
        guard exchange.forks.add(proof, of: author) else { return }
        catchUp.isDirty = true
        outputs.append(.event(.forked(author.device, name: name(of: author.device))))
    }

    mutating func take(_ proof: ForkProof, from index: Int, now: MediaTime) {
        guard let device = configuration.signing.device(proof.publicKey) else {
            return violated(index, "it sent a proof that proves nothing", now: now)
        }
        let author = LogAuthor(device: device, run: proof.run)
        // Known ones aren't checked again.
        guard !exchange.forks.isFrozen(author) else {
            if exchange.forks.proofs.contains(where: { $0.author == author }) {
                exchange.members[index].link.equals.knownForks.insert(author)
            }
            return
        }
        guard membership?.everybody[device] != nil else { return }
        guard proof.author(in: exchange.log.scope, configuration.signing) == author else {
            return violated(index, "it sent a proof that proves nothing", now: now)
        }
        exchange.members[index].link.equals.knownForks.insert(author)
        adopt(proof, of: author)
    }

    /// Sends a proof that the peer doesn't have. Returns when the next one may be sent.
    mutating func sendForks(_ index: Int, now: MediaTime) -> MediaTime {
        guard !exchange.forks.isEmpty else { return .distantFuture }
        let known = exchange.members[index].link.equals
        guard let next = exchange.forks.proofs.first(where: { !known.knownForks.contains($0.author) }) else {
            return .distantFuture
        }
        guard known.nextFork <= now else { return known.nextFork }
        exchange.members[index].link.equals.knownForks.insert(next.author)
        exchange.members[index].link.equals.nextFork = now + LogLimits.pause
        send(.mesh(.forked(next.proof)), index, now: now)
        return now + LogLimits.pause
    }

    /// For each author whose entries end differently at the peer, which has no more of them than are here: the last common
    /// one is sent again, so that the fork comes out.
    mutating func offerDiffering(_ has: [LogAuthor: MeshMessage.KeptEntries], _ index: Int) {
        for (author, kept) in has where !exchange.forks.isFrozen(author) {
            guard let place = exchange.log.index(of: author), kept.last <= exchange.log.authors[place].last,
                let digest = exchange.log.authors[place].digest(before: kept.last + 1),
                EntryChain.mark(digest) != kept.digest
            else { continue }
            exchange.members[index].link.sent[author] = kept.last - 1
        }
    }
}
