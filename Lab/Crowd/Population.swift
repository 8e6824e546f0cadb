import BeamIdentity
import BeamSession
import BeamTrust
import BeamWire
import Foundation

/// A host and viewers that know each other, in a directory.
struct Population {
    let directory: String

    static let hostName = "desk"

    init(_ directory: String) { self.directory = directory }

    private var host: TrustStore { TrustStore(path: "\(directory)/host/beamroom") }
    private func keyPath(_ number: Int) -> String { "\(directory)/crowd/\(number).pem" }

    static func name(_ number: Int) -> String { "crowd \(number)" }

    func make(light: Int, real: Int) throws {
        let hostKey = try host.identity().deviceKey
        try FileManager.default.createDirectory(
            atPath: "\(directory)/crowd", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for number in 0..<light where !FileManager.default.fileExists(atPath: keyPath(number)) {
            let identity = try LocalIdentity()
            try write(identity.privateKeyPEM + "\n", to: keyPath(number))
            try know(identity.deviceKey, as: Self.name(number))
        }
        for number in 0..<real {
            let store = TrustStore(path: "\(directory)/real-\(number)/beamroom")
            try know(try store.identity().deviceKey, as: "real \(number)")
            try store.remember(
                RememberedDevice(name: Self.hostName, key: hostKey, roles: [.host], pairedAt: Date()))
        }
    }

    /// Makes this viewer known to the host.
    private func know(_ viewer: DeviceKey, as name: String) throws {
        try host.remember(RememberedDevice(name: name, key: viewer, roles: [.viewer], pairedAt: Date()))
    }

    private func write(_ text: String, to path: String) throws {
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw CrowdError("\(path) can't be written.") }
    }

    /// Viewer number `number`. It accepts only the host of this population.
    func viewer(_ number: Int) throws -> (identity: LocalIdentity, trust: ViewerTrust) {
        guard let pem = try? String(contentsOfFile: keyPath(number), encoding: .utf8) else {
            throw CrowdError("There is no key \(number) in \(directory): `prepare --count` makes more.")
        }
        let identity = try LocalIdentity(privateKeyPEM: pem)
        let hostKey = try host.identity().deviceKey
        return (
            identity,
            ViewerTrust(
                own: identity.deviceKey, name: Self.name(number), instance: .random(in: .min ... .max),
                known: [hostKey: Self.hostName], required: [hostKey], pairs: false)
        )
    }
}

struct CrowdError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
