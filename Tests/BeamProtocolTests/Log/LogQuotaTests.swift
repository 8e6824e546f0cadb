import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A log that is full: of whoever has most, the oldest goes.
struct LogQuotaTests {
    private static let room = [UInt8](repeating: 1, count: 16)

    private func log(_ number: UInt8) -> (log: LogStore, author: LogAuthor) {
        let (signing, device) = LogSigning.simulated(number)
        return (LogStore(room: Self.room, signing: signing), LogAuthor(device: device, run: 1))
    }

    private func read(_ log: inout LogStore) -> [LogMessage.Batch] {
        var (position, has): (Int, [LogAuthor: UInt32]) = (0, [:])
        var batches: [LogMessage.Batch] = []
        while position < log.end {
            let found = log.batch(from: position, has: has) { _, _, _ in true }
            position = found.next
            guard let outgoing = found.outgoing else { break }
            for (author, number) in outgoing.newest { has[author] = number }
            batches.append(outgoing.batch)
        }
        return batches
    }

    private func take(_ batch: LogMessage.Batch, in log: inout LogStore) throws {
        let findings = try log.inspect(batch)
        for (section, finding) in zip(batch.sections, findings) { #expect(log.isSigned(section, finding)) }
        _ = try log.take(batch, findings, age: .seconds(60))
    }

    /// One member writes three times what the log takes; another one has written a little before, and goes on.
    @Test func nobodysWordsArePushedOutByAnothers() throws {
        var (quiet, quietAuthor) = log(1)
        var (loud, loudAuthor) = log(2)
        var full = LogStore(room: Self.room, signing: LogSigning.simulated(3).signing)
        let loudEntry = LogEntry(kind: .note, milliseconds: 2000, body: [UInt8](repeating: 0x62, count: 4 << 10))
        var (sent, has): (Int, [LogAuthor: UInt32]) = (0, [:])
        var (loudSent, loudHas): (Int, [LogAuthor: UInt32]) = (0, [:])
        for number in 0..<45_000 as Range<UInt64> {
            if number % 500 == 0 {
                let entry = LogEntry(kind: .note, milliseconds: number, body: [0x61])
                _ = quiet.append(entry, by: quietAuthor, age: .seconds(60))
                let found = quiet.batch(from: sent, has: has) { _, _, _ in true }
                sent = found.next
                let batch = try #require(found.outgoing).batch
                has[quietAuthor] = quiet.last(of: quietAuthor)
                // Together with the other's, in one batch.
                if number > 0 { try take(batch, in: &loud) } else { try take(batch, in: &full) }
            }
            _ = loud.append(loudEntry, by: loudAuthor, age: .seconds(60))
            if number % 100 == 99 {
                while loudSent < loud.end {
                    let found = loud.batch(from: loudSent, has: loudHas) { _, _, _ in true }
                    loudSent = found.next
                    guard let outgoing = found.outgoing else { break }
                    for (author, number) in outgoing.newest { loudHas[author] = number }
                    try take(outgoing.batch, in: &full)
                }
            }
        }
        for log in [loud, full] {
            #expect(log.bytes <= LogLimits.bytes && log.count <= LogLimits.entries)
            #expect(log.bytes == log.authors.reduce(0) { $0 + $1.cost })
            #expect(log.order.count - log.head <= 2 * log.count + 1024)
            #expect(log.completeSince == .seconds(2))
            #expect(log.last(of: loudAuthor) == 45_000)
        }
        let quietLog = try #require(full.index(of: quietAuthor).map { full.authors[$0] })
        #expect(quietLog.first == 1 && quietLog.last == 90)
        // Whoever gets it from there can check all of it, in batches of the usual size.
        var late = LogStore(room: Self.room, signing: LogSigning.simulated(4).signing)
        for batch in read(&full) { try take(batch, in: &late) }
        #expect(late.kept == full.kept)
    }

    /// Runs of one device share what it has.
    @Test func otherRunsOfOneDeviceHaveNoMore() throws {
        var (log, quiet) = log(1)
        let device = LogSigning.simulated(2).device
        for number in 0..<10 {
            _ = log.append(LogEntry(kind: .note, milliseconds: 1, body: [UInt8(number)]), by: quiet, age: .zero)
        }
        for number in 0..<LogLimits.entries {
            let author = LogAuthor(device: device, run: UInt64(number % 200))
            _ = log.append(LogEntry(kind: .note, milliseconds: 1, body: [0x62]), by: author, age: .seconds(1))
        }
        #expect(log.count == LogLimits.entries)
        #expect(log.index(of: quiet).map { log.authors[$0].count } == 10)
    }
}
