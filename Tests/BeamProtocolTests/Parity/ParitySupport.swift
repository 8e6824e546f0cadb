import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Arithmetic of GF(2^8) with the polynomial 0x11D, one bit at a time: a reference for the parity.
enum PlainField {
    static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
        var (a, b, product) = (UInt16(a), b, UInt16(0))
        while b > 0 {
            if b & 1 == 1 { product ^= a }
            a <<= 1
            if a & 0x100 != 0 { a ^= 0x11D }
            b >>= 1
        }
        return UInt8(product)
    }

    static let inverses: [UInt8] = (0...255).map { value in
        (0...255).first { product(UInt8(value), $0) == 1 } ?? 0
    }
}

/// A frame as version 2 sends it, before sealing.
struct WireFrame {
    let unit: AccessUnit
    let sequence: SequenceNumber
    let header: MediaHeader.Frame
    let config: [UInt8]
    /// The bytes that are cut into parts: parameter sets and AVCC.
    let content: [UInt8]
    /// Each part's plaintext.
    let parts: [[UInt8]]

    var layout: ParityLayout { ParityLayout(partCount: parts.count) }

    init(_ frame: EncodedFrame, sequence: UInt32 = 7, layer: UInt8 = 0) throws {
        let unit = frame.unit
        self.unit = unit
        self.sequence = SequenceNumber(sequence)
        config = try unit.parameterSets.map { try #require(ParameterSetBlock.encode($0)) } ?? []
        content = config + unit.avcc
        let partCount = (content.count + 1143) / 1144
        var header = MediaHeader.Frame(
            partCount: UInt16(partCount), flags: unit.isKeyframe ? [.keyframe, .parameterSets] : [],
            width: UInt16(unit.size.width), height: UInt16(unit.size.height), captureTime: .at(3),
            stages: MediaHeader.Stages(waited: 5, encode: 6))
        header.layer = layer
        self.header = header
        let (content, config) = (content, config)
        parts = (0..<partCount).map { part in
            var bytes = [UInt8](repeating: 0, count: 28)
            bytes.withUnsafeMutableBytes {
                MediaHeader(
                    sequence: SequenceNumber(sequence), part: UInt16(part), frame: header,
                    configLength: part == 0 ? UInt16(config.count) : 0
                ).write(to: $0, as: .version2)
            }
            return bytes + content[part * 1144..<min((part + 1) * 1144, content.count)]
        }
    }

    func withContent<Result>(_ body: (FrameContent) throws -> Result) rethrows -> Result {
        try config.withUnsafeBytes { config in
            try unit.bytes.withUnsafeBytes {
                try body(
                    FrameContent(config: config, avcc: UnsafeRawBufferPointer(rebasing: $0[unit.range])))
            }
        }
    }

    /// Each parity datagram's plaintext, by index.
    func parity(rows: Range<Int>) throws -> [[UInt8]] {
        var memory: [UInt8] = []
        let count = try withContent { content in
            try ParityFragmenter.write(content, of: header, sequence: sequence, rows: rows, to: &memory) { _ in }
        }
        return stride(from: 0, to: count, by: 1200).map { Array(memory[$0 + 12..<$0 + 1184]) }
    }

    /// Inserts parts and parity in this order. Answers the result of each insertion.
    func assemble(_ datagrams: [Piece], in assembly: inout FrameAssembly?) throws -> [FrameAssembly.Insertion] {
        try datagrams.map { try $0.insert(into: &assembly) }
    }
}

/// The plaintext of a part or of a parity datagram.
enum Piece {
    case part([UInt8])
    case parity([UInt8])

    func insert(into assembly: inout FrameAssembly?, now: MediaTime = .at(1)) throws -> FrameAssembly.Insertion {
        switch self {
        case .part(let bytes):
            try bytes.withUnsafeBytes { bytes in
                let datagram = try MediaDatagram(version2: bytes)
                var present = assembly ?? FrameAssembly(for: datagram, isLate: false, now: now)
                assembly = nil
                defer { assembly = present }
                return present.insert(datagram, now: now)
            }
        case .parity(let bytes):
            try bytes.withUnsafeBytes { bytes in
                let datagram = try ParityDatagram(bytes)
                var present = assembly ?? FrameAssembly(for: datagram, isLate: false, now: now)
                assembly = nil
                defer { assembly = present }
                return present.insertParity(datagram, now: now)
            }
        }
    }
}
