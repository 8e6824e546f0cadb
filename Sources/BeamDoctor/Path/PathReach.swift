import BeamNetwork
import BeamViewer
import BeamWire
import Glibc

/// What is known of the other machine before anything is measured.
struct PathReach {
    /// As it was typed.
    var text: String
    var address: NetworkAddress
    var way: HostLookup.Way
    /// Why hosts can't be discovered here, in sentences; nil: they can, or nobody had to be.
    var problem: String?
    /// Nil: there is none.
    var route: NetworkRoute?
    var ping = Ping.unanswered
    var port = PortState.silent
    /// What answers at an open port; nil: it wasn't asked.
    var answer: HostProbe.Answer?
    var neighbour = NetworkRoute.Neighbour.none

    enum Ping: Equatable {
        case answered
        case unanswered
        /// This user may not send any.
        case forbidden
        /// The system's error.
        case failed(CInt)
    }

    /// A link-local address names this machine's interface, as it has to be typed.
    private var host: String {
        guard case .v6(_, _, let scope) = address.ip, scope != 0, let route else { return address.ip.description }
        return "\(address.ip.description.prefix { $0 != "%" })%\(route.interface)"
    }

    private var portName: String { "TCP port \(address.port)" }
    private var isAnswering: Bool { ping == .answered || port.isAnswer }

    // MARK: The name

    static func unknown(_ text: String, _ failure: HostLookup.Failure, seconds: Int) -> Finding {
        let words = "Nothing called “\(PeerText.name(text))” was found"
        switch failure {
        case .unknown:
            return Finding(
                "name", .broken,
                "\(words) within \(seconds) s: it isn't announced on this network, and the system's resolver doesn't know it. Run "
                    + "`beamroom share` there, look whether both machines are on the same network, or name its address: `beamroom doctor 192.0.2.7`."
            )
        case .noDiscovery(let reason):
            return Finding(
                "name", .broken, "\(words). Hosts can't be discovered here: \(reason)")
        }
    }

    var name: Finding {
        let figures = PathFigures { $0.address = host }
        let (name, place) = ("“\(PeerText.name(text))”", "\(host), \(portName)")
        switch way {
        case .given: return Finding("name", .good, "This is the address \(place).", figures)
        case .announced: return Finding("name", .good, "\(name) is announced on this network, at \(place).", figures)
        case .multicastName: return Finding("name", .good, "\(name) is \(place), by multicast DNS.", figures)
        case .hostName: return Finding("name", .good, "\(name) is \(place), by the system's resolver.", figures)
        case .remembered:
            let reason =
                problem.map { "Hosts can't be discovered here: \($0)" }
                ?? "If it shares now, discovery doesn't pass between the two: `beamroom doctor` there may say why."
            return Finding(
                "name", .improvable,
                "No announcement of \(name) is seen. This is about where it was watched last: \(place). \(reason)",
                figures)
        }
    }

    // MARK: The route

    var routeFinding: Finding {
        guard let route else {
            return Finding(
                "route", .broken,
                "This machine has no way to \(host). Plug in a cable, join a Wi-Fi, or start the VPN that leads there.")
        }
        let figures = PathFigures { $0.interface = route.interface }
        let interface = "\(route.interface)\(Self.words(route.medium))"
        let words =
            if route.medium == .loopback {
                "\(host) is this machine itself: no network is on the way."
            } else if let gateway = route.gateway {
                "\(interface) leads to it, by the router \(gateway). Discovery doesn't pass routers: name hosts there by their address."
            } else if route.medium == .tunnel {
                "\(interface) leads to it."
            } else {
                "\(interface) leads to it directly: both are on the same network."
            }
        return Finding("route", .good, words, figures)
    }

    private static func words(_ medium: NetworkRoute.Medium) -> String {
        switch medium {
        case .wifi: " (Wi-Fi)"
        case .cable(let speed): speed.map { " (a cable, \($0) Mbit/s)" } ?? " (a cable)"
        case .tunnel: " (a VPN or another tunnel)"
        case .loopback, .other: ""
        }
    }

    // MARK: Echoes and the port

    var pingFinding: Finding {
        let instead =
            port.isAnswer
            ? " Round trips are measured by TCP connections instead; loss, MTU and rate can't be measured." : ""
        switch ping {
        case .answered: return Finding("ping", .good, "It answers echoes (ICMP).")
        case .unanswered where port.isAnswer:
            return Finding(
                "ping", .improvable,
                "It is there, but answers no echoes (ICMP): a firewall drops them.\(instead) If that is wanted, all is well."
            )
        case .unanswered: return Finding("ping", .broken, "No echo (ICMP) has come back within 1.5 s.")
        case .forbidden:
            return Finding(
                "ping", .improvable,
                "This user may not send echoes (ICMP).\(instead) Allow it until the next start: `sudo sysctl "
                    + "net.ipv4.ping_group_range=\"0 2147483647\"`.")
        case .failed(let code):
            return Finding(
                "ping", .improvable, "No echo (ICMP) can be sent: \(String(cString: strerror(code))).\(instead)")
        }
    }

    var portFinding: Finding {
        switch port {
        case .open:
            guard case .other(let reason) = answer else {
                return Finding("port", .good, "A BeamRoom host answers at \(portName), encrypted.")
            }
            return Finding(
                "port", .improvable,
                "Something listens at \(portName), but doesn't answer as a BeamRoom host does: \(reason). If it is the BeamRoom app on "
                    + "iOS, watch it with --allow-unencrypted; otherwise another program has that port.")
        case .refused:
            return Finding(
                "port", .broken,
                "The machine is there, but nothing listens at \(portName). Run `beamroom share` there. If it shares at another "
                    + "port, name that: `beamroom doctor \(example)`.")
        case .silent where ping == .answered:
            return Finding(
                "port", .broken,
                "Nothing answers at \(portName), though the machine answers echoes: a firewall drops it. On that machine "
                    + "`beamroom doctor` names the command that lets guests in.")
        case .silent: return Finding("port", .broken, "Nothing has answered at \(portName) within 1.5 s.")
        case .unreachable(EHOSTUNREACH):
            return Finding("port", .broken, "Nothing answers at \(portName): no machine is found at that address.")
        case .unreachable(let code):
            return Finding(
                "port", .broken, "No connection to \(portName) is possible: \(String(cString: strerror(code))).")
        }
    }

    private var example: String { Endpoint(host: host, port: address.port == 50_000 ? 50_001 : 50_000).description }

    // MARK: Clients that are kept apart

    /// Nil: they are on different networks, or on one without an access point between them.
    var keptApart: Finding? {
        guard let route, route.gateway == nil, route.medium != .loopback, route.medium != .tunnel else { return nil }
        guard !isAnswering else {
            return Finding(
                "clients kept apart", .good, "No: the network lets this machine reach the other one directly.")
        }
        return Finding("clients kept apart", .broken, "\(evidence) \(Self.remedy)")
    }

    /// How sure one can be.
    private var evidence: String {
        let isolation = "the access point or switch between them keeps its clients apart (client isolation)"
        let unanswered = ping == .unanswered ? "neither echoes nor \(portName)" : "nothing at \(portName)"
        let isAnnounced = way == .announced || way == .multicastName
        switch neighbour {
        case .confirmed:
            return
                "Probably. The machine at \(host) has answered the search for its hardware address just now, but answers "
                + "\(unanswered). Either its firewall drops everything, or \(isolation) and has answered in its place."
        case _ where isAnnounced:
            return
                "Almost certainly. The machine has announced itself within minutes, yet nothing that is sent to \(host) is answered: "
                + "\(isolation), unless it was switched off just now."
        case .known, .silent, .none:
            return
                "Perhaps. Nothing at \(host) answers, on the same network. Either the machine is off, asleep or at another address, "
                + "or \(isolation). From here the two look the same: look whether it is on and has this address (`ip address`), "
                + "and whether a third machine reaches it."
        }
    }

    private static let remedy =
        "In the access point's settings this is called client isolation, AP isolation or guest network: turn it off, or join "
        + "another network, or use a cable."
}
