import BeamNetwork
import BeamWire
import Glibc
import Synchronization
import Testing

@testable import BeamViewer

/// Which addresses a host is looked for at before discovery has said anything. Nothing is started here.
struct HostFinderTests {
    private static let stored = [
        Endpoint(host: "192.0.2.1", port: 52345), Endpoint(host: "fe80::1%eth0", port: 52345),
    ]

    private final class Calls: Sendable {
        let reachable = Mutex(0)
        let chosen = Mutex<[String]>([])
    }

    private func finder(_ target: ViewerOptions.Target, _ calls: Calls = Calls()) -> HostFinder {
        HostFinder(
            target, lastKnown: { DeviceNames.areSame($0, "desk") ? Self.stored : [] },
            handlers: HostFinder.Handlers(
                onChoices: { _ in }, onChosen: { name, _ in calls.chosen.withLock { $0.append(name) } },
                onReachable: { _ in calls.reachable.withLock { $0 += 1 } },
                onFound: {}, onSearching: { _ in }, onDiscovery: { _, _ in }))
    }

    @Test func aPairedHostIsLookedForAtItsLastAddresses() {
        let known = finder(.name("Desk", address: Endpoint(host: "Desk", port: 52345)))
        #expect(known.hints() == Self.stored)
        // Whether the system can resolve the name is asked when discovery hasn't found it.
        #expect(known.endpoints() == [])
        #expect(finder(.name("attic", address: nil)).hints() == [])
        #expect(finder(.anyHost).hints() == [])
    }

    @Test func thePickedHostIsLookedForAtItsLastAddresses() {
        let calls = Calls()
        let finder = finder(.anyHost, calls)
        finder.choose(HostChoice(name: "desk", addresses: ["192.0.2.9"], port: 52345))
        #expect(finder.hints() == Self.stored)
        #expect(calls.reachable.withLock { $0 } == 1)
    }

    @Test func anotherSourceAddsACandidate() {
        let calls = Calls()
        let finder = finder(.name("desk", address: nil), calls)
        let bad: [(String, UInt16)] = [
            ("desk.local", 52345), ("192.0.2.300", 52345), ("192.0.2.5", 0), ("", 1), ("fe80::1", 1),
        ]
        for (address, port) in bad { finder.offer(address: address, port: port) }
        #expect(finder.hints() == Self.stored)
        #expect(calls.reachable.withLock { $0 } == 0)
        for _ in 0..<3 { finder.offer(address: "192.0.2.5", port: 52399) }
        #expect(finder.hints() == Self.stored + [Endpoint(host: "192.0.2.5", port: 52399)])
        #expect(calls.reachable.withLock { $0 } == 1, "it is tried at once, and once")
        finder.foundOther(at: Endpoint(host: "192.0.2.5", port: 52399))
        #expect(finder.hints() == Self.stored)
    }

    /// With nobody chosen there is nobody to look for.
    @Test func aCandidateOfNoHostWaits() {
        let calls = Calls()
        let finder = finder(.anyHost, calls)
        finder.offer(address: "192.0.2.5", port: 52399)
        #expect(calls.reachable.withLock { $0 } == 0 && finder.hints() == [])
    }

    @Test func onlyAnAddressThatThePersonGaveBecomesAPlace() {
        let typed = Endpoint(host: "192.0.2.7", port: 52345)
        let finder = finder(.endpoint(typed))
        #expect(finder.reached(typed) == "192.0.2.7:52345")
        // It has moved, and another source has found it.
        finder.offer(address: "192.0.2.5", port: 52399)
        let moved = Endpoint(host: "192.0.2.5", port: 52399)
        #expect(finder.reached(moved) == nil)
        #expect(finder.hints().first == moved)
        #expect(finder.reached(typed) == "192.0.2.7:52345")
    }

    /// In place of a choice from the list, and taken back as one.
    @Test func whatThePersonTypesIsWatched() {
        let calls = Calls()
        let finder = finder(.anyHost, calls)
        let typed = Endpoint(host: "192.0.2.7", port: 52399)
        #expect(!finder.hasList)
        finder.choose(.endpoint(typed))
        #expect(finder.endpoints() == [typed] && finder.hasList)
        #expect(finder.choice.address == "192.0.2.7:52399")
        #expect(calls.reachable.withLock { $0 } == 1)
        // One is watched already.
        finder.choose(.name("desk", address: nil))
        finder.choose(HostChoice(name: "desk", addresses: [], port: 1))
        #expect(calls.chosen.withLock { $0 } == ["192.0.2.7:52399"])
        finder.forgetChoice()
        #expect(finder.endpoints() == [] && !finder.hasList && finder.choice.address == nil)
        // A known one that isn't found is sought where it was.
        finder.choose(.name("Desk", address: Endpoint(host: "Desk", port: 52345)))
        #expect(finder.hints() == Self.stored && finder.hasList)
        #expect(calls.chosen.withLock { $0 } == ["192.0.2.7:52399", "Desk"])
        // Whoever named a host at the start has no list.
        let named = self.finder(.endpoint(typed))
        named.forgetChoice()
        #expect(named.endpoints() == [typed] && !named.hasList)
    }

    @Test func timesAreSaidAsPeopleSayThem() {
        // Noon, wherever this runs.
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday, parts.tm_hour, parts.tm_isdst) = (126, 2, 14, 12, -1)
        let now = mktime(&parts)
        let day = 24 * 3600
        #expect(PastDay.words(now - 3600, now: now) == "today at 11:00")
        #expect(PastDay.words(now - day, now: now) == "yesterday at 12:00")
        #expect(PastDay.words(now - 2 * day, now: now) == "on 12 March")
        #expect(PastDay.words(now - 365 * day, now: now) == "on 14 March 2025")
    }
}
