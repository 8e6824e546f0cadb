import BeamWire
import Testing

@testable import BeamDoctor
@testable import BeamNetwork

/// What is said of a machine that answers in part, or not at all.
struct PathReachTests {
    private func reach(
        _ change: (inout PathReach) -> Void = { _ in }
    ) -> PathReach {
        var reach = PathReach(
            text: "desk", address: NetworkAddress(ip: .v4(0xC000_0207), port: 52345), way: .given,
            route: NetworkRoute(interface: "wlan0", index: 3, medium: .wifi, gateway: nil))
        change(&reach)
        return reach
    }

    @Test func howSureOneCanBeOfIsolationIsSaid() {
        func text(_ change: (inout PathReach) -> Void) -> String {
            let finding = reach(change).keptApart
            #expect(finding?.verdict == .broken && finding?.text.contains("client isolation") == true)
            return finding?.text ?? ""
        }
        #expect(text { $0.neighbour = .silent }.contains("From here the two look the same"))
        #expect(text { $0.neighbour = .none }.contains("the machine is off"))
        #expect(
            text { $0.neighbour = .confirmed }.contains("has answered the search for its hardware address just now"))
        #expect(
            text {
                $0.neighbour = .silent
                $0.way = .announced
            }.hasPrefix("Almost certainly"))
    }

    @Test func isolationIsNotSaidWhereItCannotBe() {
        #expect(reach { $0.route?.gateway = "192.0.2.1" }.keptApart == nil)
        #expect(reach { $0.route?.medium = .loopback }.keptApart == nil)
        #expect(reach { $0.route?.medium = .tunnel }.keptApart == nil)
        #expect(reach { $0.ping = .answered }.keptApart?.verdict == .good)
        #expect(reach { $0.port = .refused }.keptApart?.verdict == .good)
    }

    @Test func theRouteIsDescribed() {
        #expect(reach().routeFinding.text == "wlan0 (Wi-Fi) leads to it directly: both are on the same network.")
        let far = reach {
            $0.route = NetworkRoute(
                interface: "eth0", index: 2, medium: .cable(speed: 1000), gateway: "198.51.100.1")
        }
        #expect(far.routeFinding.text.hasPrefix("eth0 (a cable, 1000 Mbit/s) leads to it, by the router 198.51.100.1."))
        #expect(reach { $0.route = nil }.routeFinding.verdict == .broken)
    }

    @Test func aLinkLocalAddressNamesTheInterface() {
        let near = reach {
            $0.address.ip = .v6(high: 0xFE80 << 48, low: 7, scope: 3)
            $0.port = .refused
        }
        #expect(near.name.figures.address == "fe80::7%wlan0")
        #expect(near.portFinding.text.contains("`beamroom doctor [fe80::7%wlan0]:50000`"))
    }

    @Test func whatAnswersIsSaidAndNoMore() {
        func port(_ state: PortState, _ answer: HostProbe.Answer? = nil, ping: PathReach.Ping = .answered) -> Finding {
            reach {
                ($0.port, $0.answer, $0.ping) = (state, answer, ping)
            }.portFinding
        }
        #expect(port(.open, .host).verdict == .good)
        #expect(
            port(.open, .other(reason: "it hangs")).text.contains("doesn't answer as a BeamRoom host does: it hangs."))
        #expect(port(.refused).text.contains("beamroom doctor 192.0.2.7:50000"))
        #expect(port(.silent).text.contains("a firewall drops it"))
        #expect(!port(.silent, ping: .unanswered).text.contains("firewall"))
    }

    @Test func withoutEchoesWhatRemainsIsSaid() {
        func ping(_ ping: PathReach.Ping, _ port: PortState) -> Finding {
            reach { ($0.ping, $0.port) = (ping, port) }.pingFinding
        }
        #expect(ping(.unanswered, .open).verdict == .improvable && ping(.unanswered, .silent).verdict == .broken)
        #expect(ping(.forbidden, .open).text.contains("net.ipv4.ping_group_range"))
        #expect(ping(.forbidden, .refused).text.contains("by TCP connections instead"))
        #expect(!ping(.forbidden, .silent).text.contains("by TCP connections instead"))
    }

    @Test func aHostThatIsOnlyRememberedSaysWhyItIsNotFound() {
        #expect(reach { $0.way = .remembered }.name.text.contains("`beamroom doctor` there may say why"))
        let name = reach {
            ($0.way, $0.problem) = (.remembered, "There is no Avahi.")
        }.name
        #expect(
            name.verdict == .improvable && name.text.hasSuffix("Hosts can't be discovered here: There is no Avahi."))
    }

    @Test func aNameThatNobodyKnowsSaysWhatToDo() {
        let unknown = PathReach.unknown("desk", .unknown, seconds: 4)
        #expect(unknown.verdict == .broken && unknown.text.contains("Run `beamroom share` there"))
        #expect(PathReach.unknown("desk", .noDiscovery("There is no Avahi."), seconds: 4).text.contains("no Avahi"))
        #expect(!PathReach.unknown("a\u{1B}[2Jb", .unknown, seconds: 4).text.contains("\u{1B}"))
    }
}
