/// What a browser answers to a `SessionOffer`. Its candidates aren't read: its address is where its authentic requests come
/// from.
public struct SessionAnswer: Sendable, Hashable {
    /// Longer answers, and longer lines, aren't read, in bytes.
    public static let longest = 16 << 10
    public static let longestLine = 1 << 10

    /// Why an answer can't be used.
    public enum Failure: Error, Hashable, Sendable {
        /// It is too long, has a line that is too long, or isn't made of lines of `x=…`.
        case malformed
        /// It has no name, password or fingerprint by SHA-256, or not the same ones for both media.
        case incomplete(String)
        /// The browser wants to be the server of DTLS, which the host is.
        case wrongSetup
    }

    /// The browser's ICE name and password.
    public let name: String
    public let password: String
    /// SHA-256 of its certificate: 32 bytes.
    public let fingerprint: [UInt8]
    /// It takes H.264; it takes Opus.
    public let takesVideo: Bool
    public let takesSound: Bool

    /// - Throws: `Failure`.
    public init(_ text: String) throws(Failure) {
        guard text.utf8.count <= Self.longest else { throw .malformed }
        var session = Section(kind: "")
        var media: [Section] = []
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            guard line.count <= Self.longestLine, line.dropFirst().first == UInt8(ascii: "=") else {
                throw .malformed
            }
            let line = String(Substring(line))
            if line.hasPrefix("m=") {
                guard media.count < Self.mostMedia else { throw .malformed }
                media.append(try Section(media: line.dropFirst(2)))
            } else if media.isEmpty {
                try session.read(line)
            } else {
                try media[media.count - 1].read(line)
            }
        }
        func field<Value: Hashable>(_ path: KeyPath<Section, Value?>, _ what: String) throws(Failure) -> Value {
            // What stands before the media is for those that don't say it themselves.
            let values = Set(media.filter(\.isTaken).compactMap { $0[keyPath: path] ?? session[keyPath: path] })
            guard values.count <= 1, let value = values.first ?? session[keyPath: path] else { throw .incomplete(what) }
            return value
        }
        takesVideo = media.contains { $0.kind == "video" && $0.isTaken && $0.formats.contains("H264/90000") }
        takesSound = media.contains { $0.kind == "audio" && $0.isTaken && $0.formats.contains("OPUS/48000/2") }
        // A browser that takes nothing has perhaps said nothing else, either.
        guard takesVideo || takesSound else {
            (name, password, fingerprint) = ("", "", [])
            return
        }
        name = try field(\.name, "ice-ufrag")
        password = try field(\.password, "ice-pwd")
        fingerprint = try field(\.fingerprint, "fingerprint")
        if try field(\.setup, "setup") != "active" { throw .wrongSetup }
    }

    private static let mostMedia = 8
}

extension SessionAnswer {
    /// The lines before the media, or those of one medium.
    fileprivate struct Section {
        var kind: String
        /// Its port isn't 0.
        var hasPort = false
        var isInactive = false
        /// The payload types of its line, and the encodings of those, in upper case.
        var types: Set<String> = []
        var formats: Set<String> = []
        var name: String?
        var password: String?
        var fingerprint: [UInt8]?
        var setup: String?

        var isTaken: Bool { hasPort && !isInactive }

        init(kind: String) { self.kind = kind }

        /// `video 9 UDP/TLS/RTP/SAVPF 96`
        init(media: Substring) throws(Failure) {
            let words = media.split(separator: " ")
            guard words.count >= 4, let port = UInt16(words[1]) else { throw .malformed }
            kind = String(words[0])
            hasPort = port != 0
            types = Set(words[3...].map(String.init))
        }

        mutating func read(_ line: String) throws(Failure) {
            guard line.hasPrefix("a=") else { return }
            let parts = line.dropFirst(2).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1] : ""
            switch parts[0] {
            // The host's own requests have it, and aren't to be much longer than those that bring them. RFC 8839 allows 256;
            // browsers have 4 or 8.
            case "ice-ufrag": name = try Self.iceText(value, 4...32)
            case "ice-pwd": password = try Self.iceText(value, 22...256)
            case "fingerprint": try readFingerprint(value)
            case "setup": setup = String(value)
            case "inactive", "sendonly": isInactive = true
            case "rtpmap":
                let words = value.split(separator: " ")
                if words.count == 2, types.contains(String(words[0])) { formats.insert(words[1].uppercased()) }
            default: break
            }
        }

        /// RFC 8839, 5.4.
        private static func iceText(_ value: Substring, _ lengths: ClosedRange<Int>) throws(Failure) -> String {
            let isIt = value.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"): true
                default: false
                }
            }
            guard isIt, lengths.contains(value.utf8.count) else { throw .malformed }
            return String(value)
        }

        /// `sha-256 AB:CD:…` (RFC 8122, 5). One by another hash is skipped.
        private mutating func readFingerprint(_ value: Substring) throws(Failure) {
            let words = value.split(separator: " ")
            guard words.count == 2 else { throw .malformed }
            guard words[0].lowercased() == "sha-256" else { return }
            let pairs = words[1].split(separator: ":", omittingEmptySubsequences: false)
            let bytes = pairs.compactMap { pair in
                pair.utf8.count == 2 && pair.allSatisfy(\.isHexDigit) ? UInt8(pair, radix: 16) : nil
            }
            guard pairs.count == 32, bytes.count == 32 else { throw .malformed }
            // Two of them could mean two certificates.
            guard fingerprint == nil || fingerprint == bytes else { throw .malformed }
            fingerprint = bytes
        }
    }
}
