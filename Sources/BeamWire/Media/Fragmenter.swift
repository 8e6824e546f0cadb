import BeamMedia

package enum FragmentationError: Error, Hashable, CustomStringConvertible {
    case malformedFrame
    case frameTooLong(Int)
    case size(PixelSize)
    case parameterSetsMissing
    /// Parameter sets have to fit into the first datagram.
    case parameterSetsTooLong(Int)
    /// There is no key to seal the frame with.
    case noSealingKey
    case sealing(SealingError)

    package var description: String {
        switch self {
        case .malformedFrame: "the encoder's frame isn't in AVCC form"
        case .frameTooLong(let length):
            "a frame of \(length) bytes is larger than the \(MediaLimits.frameLength) allowed"
        case .size(let size): "a picture of \(size) doesn't fit the wire's 16-bit sizes"
        case .parameterSetsMissing: "a keyframe without its parameter sets can't be decoded by a viewer that joins"
        case .parameterSetsTooLong(let length): "parameter sets of \(length) bytes don't fit into one datagram"
        case .noSealingKey: "a frame can't be sent before there is a key to seal it with"
        case .sealing(let error): "\(error)"
        }
    }
}

/// Cuts frames into datagrams.
package enum Fragmenter {
    /// Writes the frame's version 1 datagrams at the start of `memory`, one after the other, each but the last exactly
    /// 1200 bytes, and returns their length in bytes. `memory` grows if it is too small, and is reused for the next
    /// frame; bytes behind the returned length are left over from earlier frames.
    package static func write(
        _ frame: EncodedFrame, sequence: SequenceNumber, to memory: inout [UInt8]
    ) throws(FragmentationError) -> Int {
        try write(try FrameCutter(frame, as: .version1), sequence: sequence, to: &memory) { _ in }
    }

    /// Writes the frame's version 2 datagrams, sealed in place, as above. The capture time of a repeated frame is
    /// written as 0, and so are unknown stages. `isAfterDisposable`: nothing refers to the frame before this one.
    package static func write(
        _ frame: EncodedFrame, sequence: SequenceNumber, size: DatagramSize = .full, isAfterDisposable: Bool = false,
        sealedBy sealer: DatagramSealer, to memory: inout [UInt8]
    ) throws(FragmentationError) -> Int {
        let cutter = try FrameCutter(frame, as: .version2, size: size, isAfterDisposable: isAfterDisposable)
        return try write(cutter, sequence: sequence, to: &memory) { datagram throws(SealingError) in
            try sealer.seal(.media, in: datagram)
        }
    }

    /// Calls `finish` for each datagram once it is written.
    private static func write(
        _ cutter: FrameCutter, sequence: SequenceNumber, to memory: inout [UInt8],
        finish: (UnsafeMutableRawBufferPointer) throws(SealingError) -> Void
    ) throws(FragmentationError) -> Int {
        let total = cutter.totalLength
        memory.grow(to: total)
        var failure: SealingError?
        memory.withUnsafeMutableBytes { output in
            for part in 0..<cutter.partCount {
                let start = part * cutter.size.length
                let datagram = UnsafeMutableRawBufferPointer(
                    rebasing: output[start..<start + cutter.length(ofPart: part)])
                cutter.write(part: part, sequence: sequence, to: datagram)
                do throws(SealingError) {
                    try finish(datagram)
                } catch {
                    failure = error
                    return
                }
            }
        }
        if let failure { throw .sealing(failure) }
        return total
    }

    /// Writes parts of a version 2 frame for retransmission, sealed afresh, one datagram in each `size.length` bytes of
    /// `memory`. `size` is what the frame was cut to before. Returns the length in bytes.
    package static func writeAgain(
        _ parts: some Collection<Int>, of frame: EncodedFrame, sequence: SequenceNumber, size: DatagramSize = .full,
        isAfterDisposable: Bool = false, sealedBy sealer: DatagramSealer, to memory: inout [UInt8]
    ) throws(FragmentationError) -> Int {
        let cutter = try FrameCutter(frame, as: .version2, size: size, isAfterDisposable: isAfterDisposable)
        memory.grow(to: parts.count * size.length)
        var failure: SealingError?
        var end = 0
        memory.withUnsafeMutableBytes { output in
            var start = 0
            for part in parts where part < cutter.partCount {
                end = start + cutter.length(ofPart: part)
                let datagram = UnsafeMutableRawBufferPointer(rebasing: output[start..<end])
                cutter.write(part: part, sequence: sequence, isSentAgain: true, to: datagram)
                do throws(SealingError) {
                    try sealer.seal(.media, in: datagram)
                } catch {
                    failure = error
                    return
                }
                start += size.length
            }
        }
        if let failure { throw .sealing(failure) }
        return end
    }
}

extension [UInt8] {
    /// Grows to `count` bytes; never shrinks.
    mutating func grow(to count: Int) {
        if self.count < count { append(contentsOf: repeatElement(0, count: count - self.count)) }
    }
}
