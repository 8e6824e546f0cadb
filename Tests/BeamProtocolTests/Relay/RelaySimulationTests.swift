import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct RelaySimulationTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))

    private func faults(_ chain: RelayChain) -> [String] { chain.lower.viewers.flatMap { $0.decoder.errors } }

    /// Everything comes, and its age at the viewer is that of the whole way.
    @Test func viewersOfARelayGetAllThatTheHostSendsWithItsTimes() throws {
        var chain = RelayChain(upper: LinkConditions(delay: .milliseconds(8)))
        chain.run(1)
        chain.lower.join(Self.lan)
        chain.lower.join(Self.lan)
        chain.run(6)
        #expect(faults(chain) == [])
        #expect(chain.shown == [])
        let relay = chain.upper.viewer
        for viewer in chain.lower.viewers {
            #expect(viewer.frames.count > 150)
            #expect(viewer.session.statistics.missed == 0)
            // 5 ms of encoding, 8 and 1 ms of way, some for a frame's datagrams; measured with a clock that is some ms off.
            let ages = viewer.frames.dropFirst(30).compactMap(\.age)
            #expect(ages.count > 100)
            #expect(ages.allSatisfy { $0 > .milliseconds(13) && $0 < .milliseconds(30) }, "\(ages.max() ?? .zero)")
        }
        let own = relay.frames.dropFirst(30).compactMap(\.age)
        #expect((own.max() ?? .zero) < .milliseconds(25))
        // One for the relay itself, one for both viewers that came at once.
        #expect(chain.upper.keyframeRequests.count <= 3)
        #expect(chain.upper.viewer.events.allSatisfy { $0.event != .hostRelays(1) })
        #expect(chain.lower.viewer.events.contains { $0.event == .hostRelays(1) })
    }

    /// The relay's host has become a relay itself: whoever comes from now on is told the new number.
    @Test func viewersAreToldTheNumberOfRelaysThatIsSoWhenTheyCome() {
        var chain = RelayChain(upper: LinkConditions(delay: .milliseconds(1)))
        chain.run(1)
        chain.lower.join(Self.lan)
        chain.run(1)
        chain.lower.handleAtHost(.relays(2))
        chain.lower.join(Self.lan)
        chain.run(1)
        let told = chain.lower.viewers.map { viewer in
            viewer.events.compactMap { if case .hostRelays(let count) = $0.event { count } else { nil } }
        }
        #expect(told == [[1], [2]])
    }

    /// What is lost on the way to the relay is got again there: its viewers miss nothing.
    @Test(arguments: 1...3) func lossesBeforeTheRelayAreRecoveredThere(seed: Int) {
        var chain = RelayChain(
            seed: UInt64(seed), upper: LinkConditions(delay: .milliseconds(4), loss: 0.03), hasSound: true)
        chain.joinWithSound()
        chain.run(8)
        #expect(faults(chain) == [])
        #expect(chain.upper.viewer.session.statistics.missed > 20)
        let viewer = chain.lower.viewer
        #expect(viewer.session.statistics.missed == 0)
        #expect(viewer.frames.count > 200)
        #expect(viewer.longestPause(from: .at(2), to: .at(8)) < .milliseconds(200))
        let numbers = Set(viewer.sounds.map(\.number))
        #expect(numbers.count == viewer.sounds.count && numbers.count > 600)
        #expect(numbers.isSubset(of: Set(chain.upper.viewer.sounds.map(\.number))))
        #expect(chain.asked.count <= 3)
    }

    /// However many come and ask, the host is asked for a keyframe once a second.
    @Test func keyframesAreAskedForAtMostOnceASecond() {
        var chain = RelayChain(upper: Self.lan)
        chain.run(1)
        for _ in 0..<8 {
            chain.lower.join(LinkConditions(delay: .milliseconds(2)))
            chain.run(0.3)
        }
        chain.run(3)
        #expect(faults(chain) == [])
        #expect(chain.lower.viewers.allSatisfy { $0.frames.count > 60 })
        #expect(!chain.asked.isEmpty)
        for (first, second) in zip(chain.asked, chain.asked.dropFirst()) {
            #expect(second - first >= .seconds(1))
        }
        #expect(chain.upper.keyframeRequests.count <= 6)
    }

    /// The host's process dies, and another one takes its place: the relay's viewers are told, keep their sessions, and go on.
    @Test func aLostHostIsToldAndComesBack() throws {
        var chain = RelayChain(upper: Self.lan, hasSound: true)
        chain.joinWithSound()
        chain.run(3)
        let heard = chain.lower.viewer.sounds.count
        #expect(heard > 200)
        let before = chain.lower.viewer.frames.count
        #expect(before > 60)
        chain.upper.killHost()
        chain.run(5)
        #expect(chain.shown == [.hostLost])
        #expect(chain.lower.viewer.events.contains { $0.event == .sourceVisibility(.hostLost) })
        chain.upper.startHost(
            acceptance: .none, trust: HostTrust(own: .host, remembered: [.viewer: "relay"], code: .none))
        chain.run(6)
        #expect(chain.shown == [.hostLost, .visible])
        #expect(chain.lower.viewer.events.last { $0.event.isVisibility }?.event == .sourceVisibility(.visible))
        #expect(chain.lower.viewer.frames.count > before + 60)
        #expect(faults(chain) == [])
        #expect(chain.lower.viewer.sounds.count > heard + 300)
        let sessions = chain.lower.viewer.events.count { if case .paired = $0.event { true } else { false } }
        #expect(sessions == 1)
    }
}

extension ViewerEvent {
    fileprivate var isVisibility: Bool { if case .sourceVisibility = self { true } else { false } }
}
