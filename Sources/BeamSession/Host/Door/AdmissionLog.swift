import BeamMedia
import BeamWire

/// Counts the sessions that each device has begun lately. Each one costs everybody a keyframe, and the host a new key.
struct AdmissionLog: Sendable {
    /// Sessions that one device may begin within `period`: a device may have `viewersPerDevice` viewers, and each may be
    /// started twice. A session that continues on a new connection doesn't count.
    private static let most = 2 * HostLimits.viewersPerDevice
    private static let period = Duration.seconds(30)
    /// Devices that are remembered, the latest.
    private static let mostDevices = 256

    private var devices: [(key: DeviceKey, times: [MediaTime])] = []

    /// Whether `device` may begin another session.
    func allows(_ device: DeviceKey, now: MediaTime) -> Bool {
        let times = devices.first { $0.key == device }?.times ?? []
        return times.count { now - $0 < Self.period } < Self.most
    }

    /// `device` has begun a session.
    mutating func began(_ device: DeviceKey, now: MediaTime) {
        var times: [MediaTime] = []
        if let index = devices.firstIndex(where: { $0.key == device }) {
            times = devices.remove(at: index).times.filter { now - $0 < Self.period }
        } else if devices.count >= Self.mostDevices {
            devices.removeFirst()
        }
        devices.append((device, times + [now]))
    }
}
