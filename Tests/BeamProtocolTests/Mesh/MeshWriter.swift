@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Somebody who signs what it likes: batches of a log in a room of equals.
struct MeshWriter {
    let signing: LogSigning
    let author: LogAuthor
    let scope: LogScope
    private(set) var digest: [UInt8]
    private(set) var number: UInt32 = 0

    init(_ number: UInt8, run: UInt64, room: [UInt8]) {
        let (signing, device) = LogSigning.simulated(number)
        self.signing = signing
        author = LogAuthor(device: device, run: run)
        scope = LogScope(room: room, keeper: nil)
        digest = EntryChain.start(scope, author: author)
    }

    /// The next entries. `skipping`: so many before them are written, too, but not in the batch.
    mutating func notes(_ texts: [String], skipping: Int = 0, kind: LogEntry.Kind = .note) -> LogMessage.Batch {
        for index in 0..<skipping { add(.whole(LogEntry(kind: .note, milliseconds: 1, body: [UInt8(index % 256)]))) }
        let (first, start) = (number + 1, digest)
        var items: [LogMessage.Batch.Item] = []
        for text in texts {
            let entry = StoredEntry.whole(LogEntry(kind: kind, milliseconds: 1, body: Array(text.utf8)))
            add(entry)
            items.append(LogMessage.Batch.Item(section: 0, entry: entry))
        }
        return LogMessage.Batch(
            sections: [
                LogMessage.Batch.Section(
                    publicKey: signing.publicKey, run: author.run, first: first, startDigest: start,
                    signature: signature)
            ], items: items)
    }

    var signature: [UInt8] {
        signing.sign(EntryChain.signed(digest, number: number, of: author, in: scope))
    }

    private mutating func add(_ entry: StoredEntry) {
        digest = EntryChain.next(digest, entry)
        number += 1
    }
}

extension MeshSimulation {
    mutating func inject(_ batch: LogMessage.Batch, from index: Int, to receiver: Int) {
        inject(.room(.batch(batch)), from: index, to: receiver)
    }

    /// A member has these entries, as if somebody had sent them.
    mutating func plant(_ batch: LogMessage.Batch, at index: Int) {
        act(index) { mesh, now in
            guard let findings = try? mesh.log.inspect(batch) else { return }
            _ = try? mesh.exchange.log.take(batch, findings, age: mesh.age(now: now))
        }
    }

    /// The program of a liar doesn't hear that what it didn't send has come.
    mutating func deafen(_ index: Int) {
        tamper = { message, _, to in if to == index, case .room(.acknowledged) = message { nil } else { message } }
    }

    var room: [UInt8] { members[0].mesh.log.room }

    /// The members whose rules' breach a member has noticed.
    func violators(_ index: Int) -> Set<UInt8> {
        Set(
            members[index].events.compactMap { event in
                guard case .violated(let device, _) = event else { return nil }
                return members.first { DeviceKey.made($0.number) == device }?.number
            })
    }

    /// The devices whose fork a member has been told of, each as often as it was.
    func forkers(_ index: Int) -> [DeviceKey] {
        members[index].events.compactMap { if case .forked(let device, _) = $0 { device } else { nil } }
    }

    /// What a member was told of its history.
    func histories(_ index: Int) -> [Duration] {
        members[index].events.compactMap { if case .log(.history(let since)) = $0 { since } else { nil } }
    }
}
