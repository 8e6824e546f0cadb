import BeamMedia

@testable import BeamSession
@testable import BeamWire

/// What a host that says anything sends beside the pictures: the plaintexts of patches and of the pointer.
struct BesideFuzz {
    /// The newest change's number.
    private(set) var change: UInt32 = 0
    private var place: UInt32 = 0

    private static let size = PixelSize(width: 640, height: 360)

    /// A part of a patch, mostly of one of the newest changes. What its parts have in common follows from its number,
    /// mostly.
    mutating func patch(_ input: inout FuzzInput) -> [UInt8] {
        if input.chance(80) { change &+= 1 }
        if input.chance(8) { change = input.integer(near: change) }
        let number = input.chance(200) ? change : change &- UInt32(input.choice(80))
        let count: UInt16 = input.chance(245) ? UInt16(1 + number % 3) : input.integer()
        let part = UInt16(truncatingIfNeeded: input.choice(Int(count)))
        let time: UInt64 = input.chance(245) ? UInt64(number) * 1000 : input.integer()
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        bytes.append(bigEndian: part)
        bytes.append(bigEndian: count)
        bytes.append(bigEndian: time)
        bytes.append(bigEndian: UInt16(Self.size.width))
        bytes.append(bigEndian: UInt16(Self.size.height))
        bytes.append(input.chance(40) ? 1 : 0)
        // All parts but the last have the same length.
        return Self.damaged(bytes + input.filler(part &+ 1 == count ? 1 + input.choice(1100) : 1000), &input)
    }

    /// A place of the pointer, or a part of one of four looks.
    mutating func pointer(_ input: inout FuzzInput) -> [UInt8] {
        var bytes: [UInt8] = []
        let look = UInt32(input.choice(4))
        if input.chance(128) {
            place &+= 1
            let visibility = PointerPlace.Visibility(rawValue: UInt8(min(2, input.choice(6)))) ?? .shown
            let (x, y): (Int16, Int16) = (input.integer(near: 100), input.integer(near: 100))
            PointerPlace(
                sequence: SequenceNumber(input.chance(230) ? place : input.integer(near: place)),
                visibility: visibility, look: look, point: PixelPoint(x: Int(x), y: Int(y)), pictureSize: Self.size
            ).append(to: &bytes)
        } else {
            // Half of 4 × 4 pixels.
            bytes.append(PointerLookPart.form)
            bytes.append(bigEndian: look)
            for field in [4, 4, 1, 1, UInt16(input.choice(2)) * 8] { bytes.append(bigEndian: field) }
            bytes += input.filler(32)
        }
        return Self.damaged(bytes, &input)
    }

    /// Tiles that somebody lacks.
    func tiles(_ input: inout FuzzInput) -> [PixelRect] {
        (0..<input.choice(4)).map { _ in
            let (x, y): (UInt16, UInt16) = (input.integer(), input.integer())
            let (width, height): (UInt16, UInt16) = (input.integer(near: 4), input.integer(near: 4))
            return PixelRect(x: Int(x), y: Int(y), width: Int(width), height: Int(height))
        }
    }

    private static func damaged(_ bytes: [UInt8], _ input: inout FuzzInput) -> [UInt8] {
        guard input.chance(12) else { return bytes }
        var bytes = bytes
        bytes[input.choice(bytes.count)] = input.byte()
        return bytes
    }
}
