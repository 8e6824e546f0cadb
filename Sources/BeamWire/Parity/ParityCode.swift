import CISAL

/// A frame's content, which is cut into parts: the parameter-set block, if there is one, then the AVCC bytes.
package struct FrameContent {
    /// At most as long as one part.
    package let config: UnsafeRawBufferPointer
    package let avcc: UnsafeRawBufferPointer

    package init(config: UnsafeRawBufferPointer, avcc: UnsafeRawBufferPointer) {
        self.config = config
        self.avcc = avcc
    }

    package var count: Int { config.count + avcc.count }

    /// The number of version 2 parts.
    package var partCount: Int { (count + ParityCode.shardLength - 1) / ParityCode.shardLength }

    /// Bytes in the last part.
    package var lastLength: Int { count - (partCount - 1) * ParityCode.shardLength }

    /// The two consecutive pieces of part `part`; either may be empty.
    fileprivate func pieces(ofPart part: Int) -> (head: UnsafeRawBufferPointer, tail: UnsafeRawBufferPointer) {
        let start = part * ParityCode.shardLength - config.count
        let end = min(start + ParityCode.shardLength, avcc.count)
        return (
            UnsafeRawBufferPointer(rebasing: config[..<(start < 0 ? config.count : 0)]),
            UnsafeRawBufferPointer(rebasing: avcc[max(0, start)..<end])
        )
    }
}

/// Reed–Solomon parity over a frame's parts, by ISA-L: of a block's k parts and its parity rows, any k together give
/// all parts.
///
/// GF(2⁸) with the polynomial 0x11D and a Cauchy matrix, the one of `gf_gen_cauchy1_matrix`. Each shard is as long as a
/// full part; a shorter last part counts as padded with zeros. Encoding allocates nothing.
package enum ParityCode {
    /// In bytes: 1144.
    package static let shardLength = MediaForm.version2.payloadLength

    /// The matrix element for the part at `position` in parity row `row` of a block of `count` parts.
    private static func weight(row: Int, position: Int, count: Int) -> UInt8 {
        // `count + row` is at most 128 + 63 and never equals `position`, so the argument isn't 0.
        gf_inv(UInt8((count + row) ^ position))
    }

    /// Writes rows `rows` of each block's parity. The shard with index `i` goes to byte `(i - first) * stride` of
    /// `output`, where `first` is the lowest index. A row doesn't depend on which others are made with it.
    package static func encode(
        _ content: FrameContent, rows: Range<Int>, to output: UnsafeMutableRawBufferPointer, stride: Int = shardLength
    ) {
        let layout = ParityLayout(partCount: content.partCount)
        let shardCount = rows.count * layout.blockCount
        guard shardCount > 0 else { return }
        precondition(rows.lowerBound >= 0 && rows.upperBound <= ParityLayout.mostRows)
        precondition(output.count >= (shardCount - 1) * stride + shardLength && stride >= shardLength)
        for block in 0..<layout.blockCount {
            let count = layout.partCount(ofBlock: block)
            WeightedSums.with(rows.count) { sums in
                for index in 0..<rows.count {
                    let start = (index * layout.blockCount + block) * stride
                    sums.putZeros(
                        index, at: UnsafeMutableRawBufferPointer(rebasing: output[start..<start + shardLength]))
                }
                for position in 0..<count {
                    let (head, tail) = content.pieces(ofPart: layout.part(at: position, ofBlock: block))
                    func weight(_ index: Int) -> UInt8 {
                        Self.weight(row: rows.lowerBound + index, position: position, count: count)
                    }
                    sums.add(head, weight: weight)
                    sums.add(tail, at: head.count, weight: weight)
                }
            }
        }
    }

    /// Reconstructs a block's missing parts. Returns false, and changes nothing, if there are fewer rows than missing
    /// parts.
    ///
    /// - Parameters:
    ///   - lastLength: Bytes in the frame's last part.
    ///   - slots: The frame's parts as sent, part `p` at `p * shardLength`. Missing ones are written as whole shards.
    ///   - rows: The numbers of the rows in `parity`, all different.
    ///   - parity: Those rows' shards, one after the other; overwritten.
    package static func recover(
        block: Int, of layout: ParityLayout, lastLength: Int, slots: UnsafeMutableRawBufferPointer, rows: [UInt8],
        parity: UnsafeMutableRawBufferPointer, isMissing: (_ part: Int) -> Bool
    ) -> Bool {
        precondition(slots.count >= layout.partCount * shardLength && parity.count >= rows.count * shardLength)
        let count = layout.partCount(ofBlock: block)
        func slot(_ position: Int) -> UnsafeMutableRawBufferPointer {
            let part = layout.part(at: position, ofBlock: block)
            return UnsafeMutableRawBufferPointer(rebasing: slots[part * shardLength..<(part + 1) * shardLength])
        }
        func shard(_ index: Int) -> UnsafeMutableRawBufferPointer {
            UnsafeMutableRawBufferPointer(rebasing: parity[index * shardLength..<(index + 1) * shardLength])
        }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: longestList) { missing in
            missing.initialize(repeating: 0)
            var missingCount = 0
            for position in 0..<count where isMissing(layout.part(at: position, ofBlock: block)) {
                missing[missingCount] = UInt8(position)
                missingCount += 1
            }
            guard missingCount <= rows.count else { return false }
            // Subtract the present parts from the parity: what is left depends on the missing parts alone.
            WeightedSums.with(missingCount) { sums in
                for index in 0..<missingCount { sums.put(index, at: shard(index)) }
                var next = 0
                for position in 0..<count {
                    if next < missingCount, missing[next] == position {
                        next += 1
                        continue
                    }
                    let isLast = layout.part(at: position, ofBlock: block) == layout.partCount - 1
                    sums.add(UnsafeRawBufferPointer(rebasing: slot(position)[..<(isLast ? lastLength : shardLength)])) {
                        weight(row: Int(rows[$0]), position: position, count: count)
                    }
                }
            }
            let inverse = CauchyInverse(
                rows: rows.prefix(missingCount).map { UInt8(count + Int($0)) }, columns: missing[..<missingCount])
            WeightedSums.with(missingCount) { sums in
                for index in 0..<missingCount { sums.putZeros(index, at: slot(Int(missing[index]))) }
                for row in 0..<missingCount {
                    sums.add(UnsafeRawBufferPointer(shard(row))) { inverse[$0, row] }
                }
            }
            return true
        }
    }

    private static let longestList = ParityLayout.longestBlock
}

/// The inverse of a square Cauchy matrix over GF(2⁸), 1 / (xᵢ + yⱼ), in closed form: elimination would take a
/// millisecond for the largest.
private struct CauchyInverse {
    private let x: [UInt8]
    private let y: [UInt8]
    private let columnFactors: [UInt8]
    private let rowFactors: [UInt8]

    /// All values of rows and columns are different.
    init(rows x: [UInt8], columns y: Slice<UnsafeMutableBufferPointer<UInt8>>) {
        let y = Array(y)
        self.x = x
        self.y = y
        /// The product of (`value` + each of `others`) divided by the product of (`value` + each other one of `own`).
        func factor(_ value: UInt8, _ others: [UInt8], _ own: [UInt8]) -> UInt8 {
            let numerator = others.reduce(1) { gf_mul($0, value ^ $1) }
            let denominator = own.reduce(1) { $1 == value ? $0 : gf_mul($0, value ^ $1) }
            return gf_mul(numerator, gf_inv(denominator))
        }
        columnFactors = y.map { factor($0, x, y) }
        rowFactors = x.map { factor($0, y, x) }
    }

    subscript(column: Int, row: Int) -> UInt8 {
        gf_mul(gf_mul(columnFactors[column], rowFactors[row]), gf_inv(x[row] ^ y[column]))
    }
}
