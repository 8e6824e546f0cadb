import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct SoundStreamTests {
    private func sound(_ index: Int, bytes: Int = 160, begins: Bool = false, reduced: Bool = false) -> EncodedSound {
        EncodedSound(
            full: [UInt8](repeating: UInt8(index & 0xFF), count: bytes),
            reduced: reduced ? [UInt8](repeating: 7, count: 80) : nil, time: .at(Double(index) / 100), begins: begins)
    }

    /// The numbers of the packets in a datagram, the newest first.
    private func numbers(_ datagram: [UInt8]?) throws -> [UInt32] {
        var opener = DatagramOpener(key: SealingKey.golden.forSound)
        let plaintext = try opener.open(try #require(datagram)).plaintext
        var numbers: [UInt32] = []
        let isValid = plaintext.withUnsafeBytes { SoundDatagram.read($0) { numbers.append($0.number) } }
        #expect(isValid)
        return numbers
    }

    @Test func earlierPacketsAreRepeatedAsFarAsTheyFit() throws {
        var stream = SoundStream(key: .golden)
        for index in 0..<10 { _ = stream.push(sound(index, begins: index == 0)) }
        #expect(try numbers(stream.newest(isReduced: false, repeats: 0, size: .full)) == [9])
        #expect(try numbers(stream.newest(isReduced: false, repeats: 2, size: .full)) == [9, 8, 7])
        #expect(try numbers(stream.newest(isReduced: false, repeats: 9, size: .full)) == [9, 8, 7, 6, 5, 4])
        // 548 bytes hold two of 160, 952 four.
        #expect(try numbers(stream.newest(isReduced: false, repeats: 5, size: .small)).count == 3)
        let small = stream.newest(isReduced: false, repeats: 5, size: .small)
        #expect(try #require(small).count <= DatagramSize.small.length)
        let reduced = stream.newest(isReduced: true, repeats: 0, size: .full)
        #expect(reduced == nil)
    }

    @Test func whatWasBeforeABeginningIsNotRepeated() throws {
        var stream = SoundStream(key: .golden)
        for index in 0..<4 { _ = stream.push(sound(index, begins: index == 2)) }
        #expect(try numbers(stream.newest(isReduced: false, repeats: 5, size: .full)) == [3, 2])
    }

    @Test func aDatagramIsSealedOnceForAllViewers() throws {
        var stream = SoundStream(key: .golden)
        _ = stream.push(sound(0))
        let first = stream.newest(isReduced: false, repeats: 0, size: .full)
        let again = stream.newest(isReduced: false, repeats: 0, size: .full)
        #expect(again == first)
        #expect(stream.datagramsSealed == 1)
        _ = stream.push(sound(1))
        let next = stream.newest(isReduced: false, repeats: 0, size: .full)
        #expect(next != first)
        #expect(stream.datagramsSealed == 2)
    }

    @Test func theLastPacketsAreKeptToBeSentAgain() throws {
        var stream = SoundStream(key: .golden)
        for index in 0..<100 { _ = stream.push(sound(index)) }
        #expect(try numbers(stream.again(99, isReduced: false)) == [99])
        #expect(try numbers(stream.again(36, isReduced: false)) == [36])
        for number in [35, 100] as [UInt32] {
            let datagram = stream.again(number, isReduced: false)
            #expect(datagram == nil)
        }
        stream.removeAll()
        let datagram = stream.again(99, isReduced: false)
        #expect(datagram == nil)
        let number = stream.push(sound(0)).number
        #expect(number == 100)
    }

    /// A relay passes on the numbers that it gets, and its own go on when they begin anew.
    @Test func givenNumbersGoOnWhenTheyBeginAnew() {
        var stream = SoundStream(key: .golden)
        func push(_ number: UInt32) -> UInt32 { stream.push(sound(0), number: number).number }
        _ = push(500)
        let first = push(501)
        #expect(push(503) == first + 2)
        #expect(push(502) == first + 1)
        // The one that gave them was started again.
        #expect(push(3) == first + 3)
        #expect(push(4) == first + 4)
        #expect(push(4_000_000) == first + 5)
    }

    @Test func whatIsWantedLingers() {
        var stream = SoundStream(key: .golden)
        let full = SoundDemand(full: true)
        let both = SoundDemand(full: true, reduced: true)
        func want(_ demand: SoundDemand, at seconds: Double) -> Bool { stream.want(demand, now: .at(seconds)) }
        func deadlineReached(at seconds: Double) -> Bool { stream.deadlineReached(now: .at(seconds)) }
        #expect(want(full, at: 1))
        #expect(stream.demand == full && stream.deadline == nil)
        #expect(!want(SoundDemand(), at: 2))
        #expect(stream.demand == full && stream.deadline == .at(5))
        #expect(!deadlineReached(at: 4))
        #expect(!want(full, at: 4))
        #expect(stream.deadline == nil)
        #expect(want(SoundDemand(reduced: true), at: 6))
        #expect(stream.demand == both)
        #expect(deadlineReached(at: 9))
        #expect(stream.demand == SoundDemand(reduced: true))
    }
}
