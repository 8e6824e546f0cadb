import BeamNetwork

/// Whether others can reach this machine.
enum NetworkCheck {
    static func addresses() -> Finding {
        addresses(
            LocalAddresses.list(), hasLocalOnly: !LocalAddresses.reachable().isEmpty,
            leadNowhere: LocalAddresses.leadNowhere())
    }

    /// - Parameters:
    ///   - hasLocalOnly: there are addresses that are valid on one cable only.
    ///   - leadNowhere: those that there are lead to containers and virtual machines of this machine.
    static func addresses(_ addresses: [String], hasLocalOnly: Bool, leadNowhere: Bool = false) -> Finding {
        if leadNowhere {
            return Finding(
                "addresses", .broken,
                "This machine has only addresses for its own containers and virtual machines (\(addresses.joined(separator: ", "))), so no "
                    + "other machine can reach it. Plug in a cable, or join a Wi-Fi.")
        }
        // RFC 3927: a machine gives itself one of these when nobody else does.
        let given = addresses.filter { !$0.hasPrefix("169.254.") }
        if !given.isEmpty {
            return Finding("addresses", .good, "Others reach this machine at \(given.joined(separator: ", ")).")
        }
        if hasLocalOnly || !addresses.isEmpty {
            return Finding(
                "addresses", .improvable,
                "This machine has only addresses that it gave itself (169.254.… or fe80::…): machines on the same cable find it, and no "
                    + "other. If there should be a network, look for its DHCP server.")
        }
        return Finding(
            "addresses", .broken,
            "This machine has no address on a network, so nobody can reach it. Plug in a cable, or join a Wi-Fi.")
    }

    static func multicast() -> Finding { multicast(LocalAddresses.multicastInterfaces()) }

    /// - Parameter interfaces: those with an address, and whether they carry multicast.
    static func multicast(_ interfaces: [String: Bool]) -> Finding {
        guard !interfaces.isEmpty else {
            return Finding(
                "multicast", .broken, "There is no network interface with an address, so no host can be found.")
        }
        let (can, cannot) = (interfaces.filter(\.value).keys.sorted(), interfaces.filter { !$0.value }.keys.sorted())
        guard !can.isEmpty else {
            return Finding(
                "multicast", .broken,
                "\(cannot.joined(separator: ", ")) \(cannot.count == 1 ? "doesn't" : "don't") carry multicast, so hosts aren't found by "
                    + "themselves: name them by their address, as in `beamroom watch 192.0.2.7`.")
        }
        return Finding(
            "multicast", .good, "\(can.joined(separator: ", ")) \(can.count == 1 ? "carries" : "carry") multicast.")
    }
}
