import Crypto

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

extension LogSigning {
    /// Signatures that cost little: a hash with the public key in it. Everybody could forge them, and no simulated member
    /// but a liar does.
    static func simulated(_ number: UInt8) -> (signing: LogSigning, device: DeviceKey) {
        let key = [UInt8](repeating: number, count: keyLength)
        @Sendable func digest(_ key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
            let hash = Array(SHA256.hash(data: key + bytes))
            return hash + hash
        }
        let signing = LogSigning(
            publicKey: key, sign: { digest(key, $0) }, verify: { $0 == digest($2, $1) },
            device: { DeviceKey(Array($0[..<DeviceKey.length])) })
        return (signing, .made(number))
    }
}
