import BeamWire
import Foundation
import Glibc

/// Mountpoints that this user's hosts have made at gateways, with the secrets by which they can be ended, in
/// `gateways.json`: a host that is killed leaves its mountpoint there, and the next one to the same gateway destroys it.
extension TrustStore {
    static let gatewaysName = "gateways.json"
    /// In bytes. An entry takes about 200, and with long names some 900.
    static let maxGatewayBytes = 64 << 10
    /// When one more comes, or more bytes, the oldest are forgotten.
    static let maxMountpoints = 128

    private struct Form: Codable {
        var version = 1
        var mountpoints: [Entry] = []
    }

    private struct Entry: Codable {
        var gateway: String
        var id: Int
        var secret: String
        /// The host: a home may be shared by machines.
        var machine: String
        var pid: Int32
        var start: UInt64
    }

    /// Remembers a mountpoint of `run`, a host on this machine.
    public func keepMountpoint(
        _ point: GatewayMountpoint, at gateway: String, of run: HostRun
    ) throws(TrustStoreError) {
        try changeMountpoints { entries in
            if entries.count >= Self.maxMountpoints { entries.removeFirst(entries.count - Self.maxMountpoints + 1) }
            entries.append(
                Entry(
                    gateway: gateway, id: point.id, secret: point.secret, machine: Self.machine, pid: run.pid,
                    start: run.start))
        }
    }

    /// Forgets one, which is gone.
    public func forgetMountpoint(_ point: GatewayMountpoint) throws(TrustStoreError) {
        try changeMountpoints { entries in entries.removeAll { $0.id == point.id && $0.secret == point.secret } }
    }

    /// Those that hosts on this machine have left at that gateway, and that don't run any more. A file that can't be read
    /// counts as empty.
    public func abandonedMountpoints(at gateway: String) throws(TrustStoreError) -> [GatewayMountpoint] {
        guard let directory = try PrivateDirectory.existing(at: path) else { return [] }
        return try entries(in: directory).filter {
            $0.gateway == gateway && $0.machine == Self.machine && !HostRun(pid: $0.pid, start: $0.start).isRunning
        }.compactMap { GatewayMountpoint(id: $0.id, secret: $0.secret) }
    }

    private static var machine: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private func entries(in directory: borrowing PrivateDirectory) throws(TrustStoreError) -> [Entry] {
        guard case .bytes(let bytes) = try directory.read(Self.gatewaysName, atMost: Self.maxGatewayBytes),
            let form = try? JSONDecoder().decode(Form.self, from: Data(bytes)), form.version == 1
        else { return [] }
        return form.mountpoints
    }

    private func changeMountpoints(_ change: (inout [Entry]) -> Void) throws(TrustStoreError) {
        let directory = try PrivateDirectory.make(at: path)
        try directory.locked { () throws(TrustStoreError) in
            var entries = try entries(in: directory)
            change(&entries)
            try directory.write(Self.bytes(&entries), to: Self.gatewaysName)
        }
    }

    /// Forgets the oldest until the rest can be read again.
    private static func bytes(_ entries: inout [Entry]) -> [UInt8] {
        while true {
            let bytes = StoredForm.bytes(Form(mountpoints: entries))
            if bytes.count <= maxGatewayBytes || entries.isEmpty { return bytes }
            entries.removeFirst()
        }
    }
}
