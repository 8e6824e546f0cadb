/// Reads version 1's media datagrams as strictly as WIRE-V1 specifies, and collects each violation. It was written from
/// that page alone, and shares no code with the program.
struct WireChecker: Sendable {
    struct Frame: Sendable {
        var sequence: UInt32
        var isKeyframe: Bool
        var width: Int
        var height: Int
        /// Arrival of its first and last part, in monotonic seconds.
        var began: Double
        var arrived: Double
        var parts: Int
        /// Nil for a frame with a wire error.
        var content: WireFrame?
    }

    private struct Partial: Sendable {
        var header: Header
        var began: Double
        var parts: [Int: [UInt8]]
        var config: [UInt8]
    }

    private struct Header: Sendable, Equatable {
        var count: Int
        var flags: UInt16
        var width: Int
        var height: Int
    }

    /// At most `errorLimit` messages.
    private(set) var errors: [String] = []
    private(set) var frames: [Frame] = []
    private(set) var datagrams = 0
    private(set) var bytes = 0
    private var partials: [UInt32: Partial] = [:]
    private var newest: UInt32?
    static let errorLimit = 20

    /// Frames with missing parts.
    var incomplete: Int { partials.count }

    mutating func accept(_ datagram: [UInt8], at now: Double) {
        datagrams += 1
        bytes += datagram.count
        guard datagram.count >= 20 else { return complain("a datagram of \(datagram.count) bytes has no whole header") }
        if datagram.count > 1200 { complain("a datagram has \(datagram.count) bytes, more than 1200") }
        guard Array(datagram[..<4]) == Array("BMRV".utf8) else {
            return complain("a datagram begins with \(datagram[..<4]) instead of BMRV")
        }
        func field(_ offset: Int) -> Int { Int(datagram[offset]) << 8 | Int(datagram[offset + 1]) }
        let sequence = UInt32(field(4)) << 16 | UInt32(field(6))
        let part = field(8)
        let header = Header(count: field(10), flags: UInt16(field(12)), width: field(14), height: field(16))
        let configLength = field(18)
        let name = "frame \(sequence), part \(part) of \(header.count)"

        guard part < header.count else { return complain("\(name): no such part") }
        if header.flags & ~3 != 0 { complain("\(name): unknown flags \(header.flags)") }
        if header.width == 0 || header.height == 0 { complain("\(name): a size of \(header.width)x\(header.height)") }
        let isKeyframe = header.flags & 1 != 0
        if (header.flags & 2 != 0) != isKeyframe {
            complain("\(name): flags \(header.flags), a keyframe has both bits")
        }
        if (configLength > 0) != (isKeyframe && part == 0) { complain("\(name): \(configLength) config bytes") }
        guard 20 + configLength <= datagram.count else {
            return complain("\(name): \(configLength) config bytes in a datagram of \(datagram.count)")
        }

        var partial: Partial
        if let known = partials[sequence] {
            partial = known
            if partial.header != header { complain("\(name): other header fields than in its first part") }
        } else {
            if let newest, sequence != newest &+ 1 { complain("frame \(sequence) comes after frame \(newest)") }
            newest = sequence
            partial = Partial(header: header, began: now, parts: [:], config: [])
        }
        if partial.parts[part] != nil { complain("\(name): came twice") }
        partial.parts[part] = Array(datagram[(20 + configLength)...])
        if part == 0 { partial.config = Array(datagram[20..<20 + configLength]) }
        partials[sequence] = partial
        if partial.parts.count == partial.header.count { finish(sequence, partial, at: now) }
    }

    private mutating func finish(_ sequence: UInt32, _ partial: Partial, at now: Double) {
        partials[sequence] = nil
        let isKeyframe = partial.header.flags & 1 != 0
        let avcc = (0..<partial.header.count).flatMap { partial.parts[$0] ?? [] }
        let content = content(of: sequence, isKeyframe: isKeyframe, config: partial.config, avcc: avcc)
        frames.append(
            Frame(
                sequence: sequence, isKeyframe: isKeyframe, width: partial.header.width, height: partial.header.height,
                began: partial.began, arrived: now, parts: partial.header.count, content: content))
    }

    private mutating func content(of sequence: UInt32, isKeyframe: Bool, config: [UInt8], avcc: [UInt8]) -> WireFrame? {
        guard let units = H264.units(inAVCC: avcc) else {
            complain("frame \(sequence): the NAL units' lengths don't add up to \(avcc.count) bytes")
            return nil
        }
        let types = units.map { H264.type($0) }
        if types.contains(H264.sps) || types.contains(H264.pps) {
            complain("frame \(sequence): parameter sets among the AVCC bytes")
        }
        if types.contains(H264.keySlice) != isKeyframe || types.contains(H264.slice) == isKeyframe {
            complain("frame \(sequence): NAL units of types \(types) in a \(isKeyframe ? "" : "non-")keyframe")
        }
        if units.contains(where: { $0[0] & 0x80 != 0 }) { complain("frame \(sequence): a forbidden bit is set") }
        guard isKeyframe else { return WireFrame(isKeyframe: false, parameterSets: [], units: units) }
        guard let sets = parameterSets(config) else {
            complain("frame \(sequence): a parameter-set block that doesn't add up: \(config)")
            return nil
        }
        return WireFrame(isKeyframe: true, parameterSets: sets, units: units)
    }

    private mutating func parameterSets(_ block: [UInt8]) -> [[UInt8]]? {
        guard block.count >= 2, block[0] > 0, block[1] > 0 else { return nil }
        var sets: [[UInt8]] = []
        var index = 2
        for number in 0..<Int(block[0]) + Int(block[1]) {
            guard index + 2 <= block.count else { return nil }
            let length = Int(block[index]) << 8 | Int(block[index + 1])
            index += 2
            guard length > 3, length <= block.count - index else { return nil }
            let set = Array(block[index..<index + length])
            index += length
            let isSPS = number < Int(block[0])
            if H264.type(set) != (isSPS ? H264.sps : H264.pps) { complain("a parameter set of type \(H264.type(set))") }
            if isSPS && set[1] != H264.mainProfile { complain("profile \(set[1]) instead of Main (77)") }
            sets.append(set)
        }
        return index == block.count ? sets : nil
    }

    private mutating func complain(_ error: String) {
        if errors.count < Self.errorLimit { errors.append(error) }
    }
}

// MARK: - Figures

extension WireChecker {
    var keyframes: [Frame] { frames.filter(\.isKeyframe) }

    /// The longest time from one keyframe to the next, in seconds.
    var longestKeyframeGap: Double {
        zip(keyframes, keyframes.dropFirst()).map { $1.arrived - $0.arrived }.max() ?? 0
    }

    /// The longest time without a frame, in seconds.
    var longestGap: Double { zip(frames, frames.dropFirst()).map { $1.arrived - $0.arrived }.max() ?? 0 }

    /// Frames from `start` to `end`, monotonic seconds.
    func count(from start: Double, to end: Double) -> Int {
        frames.count { (start..<end).contains($0.arrived) }
    }

    /// All frames from the first keyframe on, as a playable file, and their number.
    func annexB() -> (bytes: [UInt8], frames: Int) {
        let playable = frames.drop { !$0.isKeyframe }.compactMap(\.content)
        return (playable.flatMap(\.annexB), playable.count)
    }
}
