import BeamWire

/// Who is connected to whom in a room of equals, as the members' statuses tell it.
struct MeshGraph: Sendable {
    private var links: [DeviceKey: Set<DeviceKey>] = [:]

    /// A link counts if both its ends tell of it: one that has died or lies doesn't keep the other one's links up.
    init(_ links: [DeviceKey: Set<DeviceKey>]) {
        for (device, others) in links {
            self.links[device] = others.filter { $0 != device && links[$0]?.contains(device) == true }
        }
    }

    /// Everybody who can be reached from `start`, and over how many links. `start` itself: 0.
    func hops(from start: DeviceKey) -> [DeviceKey: Int] {
        var hops = [start: 0]
        var edge = [start]
        var distance = 0
        while !edge.isEmpty {
            distance += 1
            var next: [DeviceKey] = []
            for device in edge {
                for other in links[device, default: []] where hops[other] == nil {
                    hops[other] = distance
                    next.append(other)
                }
            }
            edge = next
        }
        return hops
    }

    /// The neighbours of `start` by which `device` is reached over the fewest links, in the order of their keys; empty if
    /// it can't be reached.
    func ways(from start: DeviceKey, to device: DeviceKey) -> [DeviceKey] {
        let back = hops(from: device)
        guard let distance = back[start], distance > 0 else { return [] }
        return links[start, default: []].filter { back[$0] == distance - 1 }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }
}
