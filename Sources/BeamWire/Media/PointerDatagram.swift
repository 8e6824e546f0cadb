import BeamMedia

/// Limits of pointers beside the pictures.
package enum PointerLimits {
    /// How far a pointer may be from the picture's corner, in pixels. X11's and Wayland's coordinates end before.
    package static let farthest = 1 << 17
    /// How far a hotspot may be from its look's corner, in pixels.
    package static let farthestHotspot = 4096
    /// So many looks, and so many bytes of them, are kept at both ends. An animated pointer has some dozens.
    package static let looks = 64
    package static let lookBytes = 1 << 20
}

package enum PointerDatagramError: Error, Hashable, CustomStringConvertible {
    case length(Int)
    case form(UInt8)
    case visibility(UInt8)
    case place(x: Int32, y: Int32)
    case pictureSize(width: UInt16, height: UInt16)
    case lookSize(width: UInt16, height: UInt16)
    case hotspot(x: Int16, y: Int16)
    /// More pixels than the look has.
    case pixels(Range<Int>, of: Int)
    /// It says of its look what another datagram doesn't.
    case contradiction

    package var description: String {
        switch self {
        case .length(let length): "a datagram of a pointer with \(length) bytes"
        case .form(let form): "a datagram of a pointer of form \(form)"
        case .visibility(let value): "a pointer of visibility \(value)"
        case .place(let x, let y): "a pointer at \(x), \(y)"
        case .pictureSize(let width, let height): "a pointer in a picture of \(width) × \(height) pixels"
        case .lookSize(let width, let height): "a pointer of \(width) × \(height) pixels"
        case .hotspot(let x, let y): "a pointer with its hotspot at \(x), \(y)"
        case .pixels(let range, let count): "pixels \(range) of a pointer of \(count) pixels"
        case .contradiction: "two datagrams of a pointer that contradict each other"
        }
    }
}

/// What a datagram of a pointer (sealed, kind 0xB8) says, big-endian: u8 form, then one of two.
package enum PointerDatagram {
    /// Form 0.
    case place(PointerPlace)
    /// Form 1.
    case look(PointerLookPart)

    /// A view of a datagram's plaintext, valid as long as `plaintext`. Nothing is copied.
    package init(_ plaintext: UnsafeRawBufferPointer) throws(PointerDatagramError) {
        guard plaintext.count <= MediaLimits.receivedDatagramLength - SealedHeader.overhead else {
            throw .length(plaintext.count)
        }
        var reader = BigEndianReader(plaintext)
        guard let form: UInt8 = reader.integer() else { throw .length(plaintext.count) }
        switch form {
        case PointerPlace.form: self = .place(try PointerPlace(&reader, length: plaintext.count))
        case PointerLookPart.form: self = .look(try PointerLookPart(&reader, length: plaintext.count))
        default: throw .form(form)
        }
    }
}

/// Where a pointer is: u32 sequence number, u8 visibility, u32 number of the look, i32 x and i32 y of the hotspot, u16 width
/// and u16 height of the picture that these refer to. Of two, the newer sequence number counts (`SequenceNumber`).
package struct PointerPlace: Hashable, Sendable {
    package enum Visibility: UInt8, Sendable {
        /// The pictures show it: there is nothing to draw.
        case inPicture = 0
        case hidden = 1
        case shown = 2
    }

    static let form: UInt8 = 0

    package var sequence: SequenceNumber
    package var visibility: Visibility
    /// Of no meaning unless the pointer is shown.
    package var look: UInt32
    package var point: PixelPoint
    package var pictureSize: PixelSize

    package init(
        sequence: SequenceNumber, visibility: Visibility, look: UInt32 = 0, point: PixelPoint = PixelPoint(x: 0, y: 0),
        pictureSize: PixelSize = PixelSize(width: 0, height: 0)
    ) {
        self.sequence = sequence
        self.visibility = visibility
        self.look = look
        self.point = point
        self.pictureSize = pictureSize
    }

    fileprivate init(_ reader: inout BigEndianReader, length: Int) throws(PointerDatagramError) {
        guard let sequence: UInt32 = reader.integer(), let visibility: UInt8 = reader.integer(),
            let look: UInt32 = reader.integer(), let x: Int32 = reader.integer(), let y: Int32 = reader.integer(),
            let width: UInt16 = reader.integer(), let height: UInt16 = reader.integer()
        else { throw .length(length) }
        guard let kind = Visibility(rawValue: visibility) else { throw .visibility(visibility) }
        self.init(sequence: SequenceNumber(sequence), visibility: kind)
        guard kind == .shown else { return }
        guard x.magnitude <= PointerLimits.farthest, y.magnitude <= PointerLimits.farthest else {
            throw .place(x: x, y: y)
        }
        guard width > 0, height > 0 else { throw .pictureSize(width: width, height: height) }
        self.look = look
        point = PixelPoint(x: Int(x), y: Int(y))
        pictureSize = PixelSize(width: Int(width), height: Int(height))
    }

    /// What can't be written is at the nearest place that can.
    package func append(to bytes: inout [UInt8]) {
        let far = PointerLimits.farthest
        bytes.append(Self.form)
        bytes.append(bigEndian: sequence.value)
        bytes.append(visibility.rawValue)
        bytes.append(bigEndian: look)
        bytes.append(bigEndian: Int32(min(max(point.x, -far), far)))
        bytes.append(bigEndian: Int32(min(max(point.y, -far), far)))
        bytes.append(bigEndian: UInt16(clamping: pictureSize.width))
        bytes.append(bigEndian: UInt16(clamping: pictureSize.height))
    }
}

/// Some pixels of a look: u32 number of the look, u16 width, u16 height, i16 x and i16 y of its hotspot, u16 number of the
/// first pixel, then the pixels, row by row, 4 bytes each: blue, green, red, alpha, premultiplied.
package struct PointerLookPart {
    static let form: UInt8 = 1
    /// The length of what precedes the pixels, in bytes.
    static let headLength = 15

    package let number: UInt32
    package let size: PixelSize
    package let hotspot: PixelPoint
    /// The first pixel's number.
    package let first: Int
    /// 4 bytes for each pixel, at least one.
    package let pixels: UnsafeRawBufferPointer

    fileprivate init(_ reader: inout BigEndianReader, length: Int) throws(PointerDatagramError) {
        guard let number: UInt32 = reader.integer(), let width: UInt16 = reader.integer(),
            let height: UInt16 = reader.integer(), let x: Int16 = reader.integer(), let y: Int16 = reader.integer(),
            let first: UInt16 = reader.integer(), reader.rest.count >= 4, reader.rest.count.isMultiple(of: 4)
        else { throw .length(length) }
        guard (1...PointerLook.longestSide).contains(Int(width)), (1...PointerLook.longestSide).contains(Int(height))
        else { throw .lookSize(width: width, height: height) }
        guard x.magnitude <= PointerLimits.farthestHotspot, y.magnitude <= PointerLimits.farthestHotspot else {
            throw .hotspot(x: x, y: y)
        }
        let range = Int(first)..<Int(first) + reader.rest.count / 4
        let area = Int(width) * Int(height)
        guard range.upperBound <= area else { throw .pixels(range, of: area) }
        self.number = number
        size = PixelSize(width: Int(width), height: Int(height))
        hotspot = PixelPoint(x: Int(x), y: Int(y))
        self.first = Int(first)
        pixels = reader.rest
    }

    /// The number of pixels in each datagram but the last.
    private static func pixels(in size: DatagramSize) -> Int {
        (size.length - SealedHeader.overhead - headLength) / 4
    }

    /// The length of each datagram of a look but the last, in bytes.
    package static func datagramLength(in size: DatagramSize) -> Int {
        SealedHeader.overhead + headLength + 4 * pixels(in: size)
    }

    /// Writes a look's datagrams at the start of `memory`, sealed, and returns their length in bytes. `memory` grows if it
    /// is too small, and is reused.
    package static func write(
        _ look: PointerLook, number: UInt32, size: DatagramSize, sealedBy sealer: DatagramSealer,
        to memory: inout [UInt8]
    ) throws(SealingError) -> Int {
        let most = pixels(in: size)
        let far = Int16(PointerLimits.farthestHotspot)
        let (x, y) = (Int16(clamping: look.hotspot.x), Int16(clamping: look.hotspot.y))
        var length = 0
        for first in stride(from: 0, to: look.pixels.count, by: most) {
            let part = look.pixels[first..<min(first + most, look.pixels.count)]
            let datagram = length..<length + SealedHeader.overhead + headLength + 4 * part.count
            memory.grow(to: datagram.upperBound)
            var failure: SealingError?
            memory.withUnsafeMutableBytes { memory in
                let bytes = UnsafeMutableRawBufferPointer(rebasing: memory[datagram])
                var writer = BigEndianWriter(
                    UnsafeMutableRawBufferPointer(rebasing: bytes[SealedHeader.length...]))
                writer.write(form)
                writer.write(number)
                writer.write(UInt16(look.size.width))
                writer.write(UInt16(look.size.height))
                writer.write(min(max(x, -far), far))
                writer.write(min(max(y, -far), far))
                writer.write(UInt16(first))
                // Blue is in the lowest byte, and comes first.
                for pixel in part { writer.write(pixel.byteSwapped) }
                do throws(SealingError) { try sealer.seal(.pointer, in: bytes) } catch { failure = error }
            }
            if let failure { throw failure }
            length = datagram.upperBound
        }
        return length
    }
}
