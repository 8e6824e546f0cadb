/// Makes a frame's parity datagrams.
enum ParityFragmenter {
    /// Writes rows `rows` of each block's parity as version 2 datagrams, in the order of their indices, to `memory`
    /// from byte `start`, each exactly 1200 bytes. Calls `finish`, which seals it, for each one. Returns their length
    /// in bytes. `memory` grows if it is too small.
    ///
    /// `content` is the content of `frame`'s datagrams.
    static func write(
        _ content: FrameContent, of frame: MediaHeader.Frame, sequence: SequenceNumber, rows: Range<Int>,
        to memory: inout [UInt8], from start: Int = 0,
        finish: (UnsafeMutableRawBufferPointer) throws(SealingError) -> Void
    ) throws(SealingError) -> Int {
        let layout = ParityLayout(partCount: content.partCount)
        precondition(layout.partCount == frame.partCount)
        let form = MediaForm.version2
        let indices = rows.lowerBound * layout.blockCount..<rows.upperBound * layout.blockCount
        let total = indices.count * MediaLimits.datagramLength
        guard total > 0 else { return 0 }
        if memory.count < start + total {
            memory.append(contentsOf: repeatElement(0, count: start + total - memory.count))
        }
        var failure: SealingError?
        memory.withUnsafeMutableBytes { output in
            ParityCode.encode(
                content, rows: rows,
                to: UnsafeMutableRawBufferPointer(rebasing: output[(start + form.prefixLength + form.headerLength)...]),
                stride: MediaLimits.datagramLength)
            for (place, index) in indices.enumerated() {
                let first = start + place * MediaLimits.datagramLength
                let datagram = UnsafeMutableRawBufferPointer(
                    rebasing: output[first..<first + MediaLimits.datagramLength])
                let header = ParityHeader(
                    sequence: sequence, index: UInt16(index), frame: frame, lastLength: UInt16(content.lastLength))
                header.write(to: UnsafeMutableRawBufferPointer(rebasing: datagram[form.prefixLength...]))
                do throws(SealingError) {
                    try finish(datagram)
                } catch {
                    failure = error
                    return
                }
            }
        }
        if let failure { throw failure }
        return total
    }
}
