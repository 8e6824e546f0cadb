import BeamMedia
import BeamNetwork
import Testing

@testable import BeamViewer

/// Where a host is looked for besides its announcement.
struct HostAddressesTests {
    private static func endpoint(_ number: Int, port: UInt16 = 52345) -> Endpoint {
        Endpoint(host: "192.0.2.\(number)", port: port)
    }

    private static func time(_ seconds: Double) -> MediaTime { .zero + .seconds(seconds) }

    private static func found(_ addresses: HostAddresses, at seconds: Double = 0) -> [Endpoint] {
        addresses.candidates(besides: [], namesakes: [], now: time(seconds))
    }

    @Test func theAnnouncedAddressesAreNotRepeated() {
        let addresses = HostAddresses(lastKnown: [Self.endpoint(1), Self.endpoint(2)])
        let found = addresses.candidates(
            besides: [Self.endpoint(1)], namesakes: [Self.endpoint(2), Self.endpoint(3)], now: .zero)
        #expect(found == [Self.endpoint(2), Self.endpoint(3)])
    }

    @Test func anAddressOfAnotherHostIsLeftOutForAMinute() {
        var addresses = HostAddresses(lastKnown: [Self.endpoint(1), Self.endpoint(2)])
        addresses.occupied(Self.endpoint(1), now: Self.time(5))
        #expect(Self.found(addresses, at: 64) == [Self.endpoint(2)])
        #expect(Self.found(addresses, at: 65) == [Self.endpoint(1), Self.endpoint(2)])
        // The sought host itself was there meanwhile.
        addresses.reached(Self.endpoint(1))
        #expect(Self.found(addresses, at: 6) == [Self.endpoint(1), Self.endpoint(2)])
    }

    @Test func theAddressOfThePresentConnectionComesFirst() {
        var addresses = HostAddresses(lastKnown: (1...4).map { Self.endpoint($0) })
        addresses.reached(Self.endpoint(9))
        #expect(Self.found(addresses) == [9, 1, 2, 3].map { Self.endpoint($0) })
    }

    @Test func anotherSourceAddsAddresses() {
        var addresses = HostAddresses(lastKnown: [Self.endpoint(1)])
        let isNew = [2, 2, 1].map { addresses.offer(Self.endpoint($0)) }
        #expect(isNew == [true, false, false])
        #expect(Self.found(addresses) == [1, 2].map { Self.endpoint($0) })
        for number in 10..<40 { _ = addresses.offer(Self.endpoint(number)) }
        #expect(Self.found(addresses).count == HostAddresses.most)
    }

    /// A host that was started anew under another name.
    @Test func aHostThatAppearsAfterTheLossIsTried() {
        var addresses = HostAddresses(lastKnown: [Self.endpoint(1)])
        func appear(_ number: Int, at seconds: Double) -> Bool {
            addresses.hostAppeared([Self.endpoint(number)], now: Self.time(seconds))
        }
        let early = [appear(5, at: 1), appear(6, at: 50)]
        #expect(early == [false, false])
        #expect(Self.found(addresses) == [Self.endpoint(1)], "nothing is lost")
        addresses.lost(now: Self.time(55))
        #expect(Self.found(addresses) == [1, 6].map { Self.endpoint($0) }, "the one that appeared just before")
        let late = [appear(7, at: 56), appear(8, at: 57), appear(9, at: 58)]
        #expect(late == [true, false, true], "not at once for each announcement")
        #expect(Self.found(addresses).count == 5)
        addresses.occupied(Self.endpoint(9), now: Self.time(58))
        addresses.reached(Self.endpoint(7))
        #expect(Self.found(addresses) == [7, 1].map { Self.endpoint($0) }, "the others aren't tried any more")
    }

    @Test func aFloodOfAnnouncementsIsBounded() {
        var addresses = HostAddresses()
        addresses.lost(now: .zero)
        for number in 0..<10_000 {
            let endpoints = (0..<16).map { Self.endpoint($0, port: UInt16(number + 1)) }
            _ = addresses.hostAppeared(endpoints, now: .zero)
            for endpoint in endpoints { addresses.occupied(endpoint, now: .zero) }
        }
        #expect(Self.found(addresses).count <= HostAddresses.most)
    }
}
