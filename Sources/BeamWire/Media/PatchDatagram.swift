import BeamMedia

/// Limits of exact patches.
package enum PatchLimits {
    /// The longest content in bytes.
    package static let contentLength = 256 << 10
    /// The most datagrams of a patch: of its longest content in the shortest ones.
    static let parts = (contentLength + partLength(in: .small) - 1) / partLength(in: .small)

    /// How much content a datagram holds, in bytes.
    static func partLength(in size: DatagramSize) -> Int {
        size.length - SealedHeader.overhead - PatchDatagram.headLength
    }
}

package enum PatchDatagramError: Error, Hashable, CustomStringConvertible {
    case length(Int)
    case part(UInt16, of: UInt16)
    case size(width: UInt16, height: UInt16)
    case captureTime(UInt64)
    /// It says of its patch what another datagram doesn't.
    case contradiction
    /// The patches that are under way would have more content than is kept.
    case tooLong(Int)

    package var description: String {
        switch self {
        case .length(let length): "a datagram of a patch with \(length) bytes"
        case .part(let part, let count): "part \(part) of a patch of \(count) parts"
        case .size(let width, let height): "a patch of a picture of \(width) × \(height) pixels"
        case .captureTime(let time): "a patch captured \(time) µs after the clock's start"
        case .contradiction: "two datagrams of a patch that contradict each other"
        case .tooLong(let length): "a patch of \(length) bytes"
        }
    }
}

/// A part of an exact patch (sealed, kind 0xB7), big-endian.
///
/// u32 number of the patch, u16 part, u16 parts, u64 capture time in µs, u16 width and u16 height of the picture, u8 1 for
/// a repair and 0 for a change, then the part's content. All parts but the last have the same length. Changes and repairs
/// are numbered each on their own, one after the other.
package struct PatchDatagram {
    /// The length of what precedes the content, in bytes.
    static let headLength = 21

    package let number: UInt32
    package let part: Int
    package let partCount: Int
    /// In µs of the host's clock.
    package let captureTime: UInt64
    package let pictureSize: PixelSize
    package let isRepair: Bool
    package let content: UnsafeRawBufferPointer

    /// A view of a datagram's plaintext, valid as long as `plaintext`. Nothing is copied.
    package init(_ plaintext: UnsafeRawBufferPointer) throws(PatchDatagramError) {
        var reader = BigEndianReader(plaintext)
        guard let number: UInt32 = reader.integer(), let part: UInt16 = reader.integer(),
            let partCount: UInt16 = reader.integer(), let time: UInt64 = reader.integer(),
            let width: UInt16 = reader.integer(), let height: UInt16 = reader.integer(),
            let kind: UInt8 = reader.integer(), !reader.rest.isEmpty,
            plaintext.count <= MediaLimits.receivedDatagramLength - SealedHeader.overhead
        else { throw .length(plaintext.count) }
        guard part < partCount, Int(partCount) <= PatchLimits.parts else { throw .part(part, of: partCount) }
        guard width > 0, height > 0 else { throw .size(width: width, height: height) }
        guard MediaTime(microseconds: time) != nil else { throw .captureTime(time) }
        self.number = number
        isRepair = kind & 1 == 1
        self.part = Int(part)
        self.partCount = Int(partCount)
        captureTime = time
        pictureSize = PixelSize(width: Int(width), height: Int(height))
        content = reader.rest
    }

    /// Into how many datagrams of that size a patch is cut.
    package static func partCount(_ patch: ExactPatch, in size: DatagramSize) -> Int {
        let partLength = PatchLimits.partLength(in: size)
        return (patch.content.count + partLength - 1) / partLength
    }

    /// Writes a patch's datagrams at the start of `memory`, sealed, each but the last exactly `size.length` bytes, and
    /// returns their length in bytes. `memory` grows if it is too small, and is reused.
    ///
    /// - Parameter parts: only these parts, as far as there are such; nil: all.
    /// - Returns: nil if the content is empty or too long, or the picture's size doesn't fit.
    package static func write(
        _ patch: ExactPatch, number: UInt32, parts: Range<Int>? = nil, size: DatagramSize,
        sealedBy sealer: DatagramSealer, to memory: inout [UInt8]
    ) throws(SealingError) -> Int? {
        guard let width = UInt16(exactly: patch.pictureSize.width),
            let height = UInt16(exactly: patch.pictureSize.height), width > 0, height > 0, !patch.content.isEmpty,
            patch.content.count <= PatchLimits.contentLength
        else { return nil }
        let partLength = PatchLimits.partLength(in: size)
        let count = partCount(patch, in: size)
        let parts = (parts ?? 0..<count).clamped(to: 0..<count)
        let overhead = SealedHeader.overhead + headLength
        let total =
            min(parts.upperBound * partLength, patch.content.count)
            - min(
                parts.lowerBound * partLength, patch.content.count) + parts.count * overhead
        memory.grow(to: total)
        var failure: SealingError?
        memory.withUnsafeMutableBytes { output in
            patch.content.withUnsafeBytes { content in
                for part in parts {
                    let range = part * partLength..<min((part + 1) * partLength, content.count)
                    let start = (part - parts.lowerBound) * size.length
                    let datagram = UnsafeMutableRawBufferPointer(
                        rebasing: output[start..<start + range.count + overhead])
                    let plaintext = UnsafeMutableRawBufferPointer(
                        rebasing: datagram[SealedHeader.length...].dropLast(SealedHeader.tagLength))
                    var writer = BigEndianWriter(plaintext)
                    writer.write(number)
                    writer.write(UInt16(part))
                    writer.write(UInt16(count))
                    writer.write(patch.captureTime.microseconds)
                    writer.write(width)
                    writer.write(height)
                    writer.write(patch.isRepair ? 1 as UInt8 : 0)
                    UnsafeMutableRawBufferPointer(rebasing: plaintext[headLength...]).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: content[range]))
                    do throws(SealingError) {
                        try sealer.seal(.patch, in: datagram)
                    } catch {
                        failure = error
                        return
                    }
                }
            }
        }
        if let failure { throw failure }
        return total
    }
}
