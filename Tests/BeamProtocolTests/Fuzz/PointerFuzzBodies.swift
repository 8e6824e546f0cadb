import BeamMedia

@testable import BeamSession
@testable import BeamWire

extension FuzzBodies {
    /// Datagrams of a pointer from a host that says anything: u8 length, then that many bytes, for each. What a viewer
    /// shows and keeps is bounded, and it asks seldom.
    static func pointer(_ bytes: [UInt8]) -> String? {
        var receiver = PointerReceiver()
        var rest = bytes[...]
        var now = MediaTime.at(1)
        var lastAsked: MediaTime?
        while let length = rest.popFirst() {
            let datagram = Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            // The time of a datagram follows from its length: 0 to 63 ms.
            now = now + .milliseconds(Int64(length & 63))
            let before = receiver.pointer
            let hasChanged = datagram.withUnsafeBytes { bytes in
                (try? PointerDatagram(bytes)).flatMap { try? receiver.insert($0, now: now) } ?? false
            }
            guard hasChanged == (receiver.pointer != before) else { return "a change that isn't told" }
            if case .shown(let look, let point, let size) = receiver.pointer {
                guard look.pixels.count == look.size.area, look.size.area <= 128 * 128, size.area > 0 else {
                    return "a look of \(look.size) in \(size)"
                }
                guard max(abs(point.x), abs(point.y)) <= PointerLimits.farthest else { return "a pointer far away" }
                guard max(abs(look.hotspot.x), abs(look.hotspot.y)) <= PointerLimits.farthestHotspot else {
                    return "a hotspot far away"
                }
            }
            let kept = receiver.kept
            guard kept.looks <= PointerLimits.looks, kept.bytes <= PointerLimits.lookBytes, kept.underWay <= 4 else {
                return "too much is kept: \(kept)"
            }
            if receiver.takeRequest(now: now) != nil {
                if let lastAsked, now - lastAsked < .milliseconds(100) { return "it asks too often" }
                lastAsked = now
            }
        }
        return nil
    }
}
