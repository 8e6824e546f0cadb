import BeamMedia

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Turns a fuzzer's bytes into decisions: what happens next, and which value each field has. Missing bytes read as
/// zero, so that any string of bytes is a full run; the run ends when the bytes are used up.
struct FuzzInput {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// From 0 up to, but not including, `count`.
    mutating func choice(_ count: Int) -> Int {
        let low = Int(byte())
        return (count > 256 ? low << 8 | Int(byte()) : low) % max(1, count)
    }

    /// True in `part` of 256 cases.
    mutating func chance(_ part: Int) -> Bool { Int(byte()) < part }

    /// A value at the ends of the type's range, at a power of two, near `near`, or any other.
    mutating func integer<Value: FixedWidthInteger>(near: Value = 0, _: Value.Type = Value.self) -> Value {
        let power = { (shift: UInt8) in Value(1) << (Int(shift) % Value.bitWidth) }
        switch byte() % 16 {
        case 0: return 0
        case 1: return 1
        case 2: return .max
        case 3: return .max - 1
        case 4: return .min
        case 5: return power(UInt8(Value.bitWidth - 1))
        case 6: return power(UInt8(Value.bitWidth - 1)) &- 1
        case 7: return power(byte())
        case 8: return power(byte()) &+ 1
        case 9: return power(byte()) &- 1
        case 10: return near
        case 11: return near &+ Value(truncatingIfNeeded: byte())
        case 12: return near &- Value(truncatingIfNeeded: byte())
        case 13: return Value(truncatingIfNeeded: byte())
        default:
            return (0..<Value.bitWidth / 8).reduce(0) { value, _ in value << 8 | Value(truncatingIfNeeded: byte()) }
        }
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in byte() } }

    /// `count` bytes, of which only the first few come from the input.
    mutating func filler(_ count: Int) -> [UInt8] {
        let own = bytes(min(4, count))
        return own + [UInt8](repeating: own.first ?? 0, count: count - own.count)
    }

    /// The end of any run, after some 200 years.
    static let latest = MediaTime(nanoseconds: .max / 3 * 2)

    /// A step of time in nanoseconds, from 0 to years, mostly short.
    mutating func step() -> Int64 {
        let amount = Int64(byte())
        switch byte() % 12 {
        case 0...3: return amount * 100_000
        case 4...7: return amount * 1_000_000
        case 8: return amount * 1_000_000_000
        case 9: return amount * 3_600_000_000_000
        case 10: return amount * 10_000_000_000_000_000
        default: return amount
        }
    }
}
