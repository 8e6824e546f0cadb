import BeamMedia

/// An IPv4 or IPv6 address in a form that can be compared. IPv4-mapped IPv6 addresses (RFC 4291, 2.5.5.2) become IPv4
/// addresses.
public enum IPAddress: Hashable, Sendable {
    /// In host byte order: 127.0.0.1 is 0x7F00_0001.
    case v4(UInt32)
    /// The address's upper and lower halves in host byte order, and the interface's index for link-local ones (else 0).
    case v6(high: UInt64, low: UInt64, scope: UInt32)

    /// From 16 bytes in network order; an IPv4-mapped address becomes `.v4`.
    public init(v6Bytes bytes: [UInt8], scope: UInt32) {
        precondition(bytes.count == 16)
        let (high, low) = bytes.withUnsafeBytes { bytes -> (UInt64, UInt64) in
            var reader = BigEndianReader(bytes)
            return (reader.integer() ?? 0, reader.integer() ?? 0)
        }
        if high == 0, low >> 32 == 0xFFFF {
            self = .v4(UInt32(truncatingIfNeeded: low))
        } else {
            // Only link-local addresses (fe80::/10) mean something else on another interface.
            self = .v6(high: high, low: low, scope: high >> 54 == 0xFE80 >> 6 ? scope : 0)
        }
    }
}

extension IPAddress: CustomStringConvertible {
    public var description: String {
        switch self {
        case .v4(let bits):
            return [24, 16, 8, 0].map { String(bits >> UInt32($0) & 0xFF) }.joined(separator: ".")
        case .v6(let high, let low, let scope):
            let groups = [high, low].flatMap { half in
                [48, 32, 16, 0].map { UInt16(truncatingIfNeeded: half >> UInt64($0)) }
            }
            return Self.compressed(groups) + (scope == 0 ? "" : "%\(scope)")
        }
    }

    /// RFC 5952: the longest run of two or more zero groups becomes `::`.
    private static func compressed(_ groups: [UInt16]) -> String {
        var best = 0..<0
        var start: Int?
        for index in 0...groups.count {
            if index < groups.count, groups[index] == 0 {
                start = start ?? index
            } else if let run = start {
                if index - run > best.count { best = run..<index }
                start = nil
            }
        }
        func text(_ part: ArraySlice<UInt16>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard best.count >= 2 else { return text(groups[...]) }
        return text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...])
    }
}

/// Where a datagram comes from or goes to.
public struct NetworkAddress: Hashable, Sendable, CustomStringConvertible {
    public var ip: IPAddress
    public var port: UInt16

    public init(ip: IPAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }

    /// `192.0.2.7:52346` or `[2001:db8::7]:52346`.
    public var description: String {
        if case .v6 = ip { "[\(ip)]:\(port)" } else { "\(ip):\(port)" }
    }
}
