import BeamMedia

/// A frame's number and capture time as black and white blocks at the top of the picture, read back by measurements.
///
/// 128 bits, most significant first, in rows from the left: marker (16), frame number (32), time in nanoseconds (64),
/// CRC-16/CCITT-FALSE of number and time (16). White (luma 235) is 1. Blocks are 16 × 16 pixels, the size of a
/// macroblock, or a multiple of that in pictures above 1440p; 8 × 8 below 640 × 360. Pictures narrower than 320 or
/// lower than 180 pixels have no code.
public enum PatternCode {
    static let marker: UInt16 = 0xBEA4

    /// Where the blocks are.
    struct Layout: Equatable {
        /// The side of a block in pixels.
        let block: Int
        let columns: Int
        let rows: Int

        /// Nil if the picture is too small for a code.
        init?(_ size: PixelSize) {
            guard size.width >= 320, size.height >= 180 else { return nil }
            let isSmall = size.width < 640 || size.height < 360
            block = isSmall ? 8 : 16 * max(1, min(size.width / 1280, size.height / 720))
            columns = (64 + 2) * block <= size.width ? 64 : 32
            rows = 128 / columns
        }

        /// The code's blocks, one block away from the left and top edges.
        var rect: PixelRect { PixelRect(x: block, y: block, width: columns * block, height: rows * block) }
    }

    /// The code in `picture`, or nil if there is none or it is damaged.
    ///
    /// - Parameters:
    ///   - picture: any pixel format, limited or full range.
    ///   - drawnAt: the size at which the pattern was drawn, if the picture has been scaled since.
    public static func read(_ picture: Picture, drawnAt: PixelSize? = nil) -> (number: UInt32, time: MediaTime)? {
        let original = drawnAt ?? picture.size
        guard let layout = Layout(original) else { return nil }
        let blocks = BlockReader(picture, layout: layout, original: original)
        func bits(_ range: Range<Int>) -> UInt64? {
            var value: UInt64 = 0
            for bit in range {
                guard let isWhite = blocks.isWhite(bit) else { return nil }
                value = value << 1 | (isWhite ? 1 : 0)
            }
            return value
        }
        guard bits(0..<16) == UInt64(marker), let number = bits(16..<48), let time = bits(48..<112),
            bits(112..<128) == UInt64(checksum(UInt32(number), time))
        else { return nil }
        return (UInt32(number), MediaTime(nanoseconds: Int64(bitPattern: time)))
    }

    /// Reads the middle half of each block, because coding and scaling blend its edges with its neighbours.
    private struct BlockReader {
        let buffer: PixelBuffer
        let layout: Layout
        let original: PixelSize

        init(_ picture: Picture, layout: Layout, original: PixelSize) {
            buffer = picture.buffer
            self.layout = layout
            self.original = original
        }

        /// Nil if the block is neither black nor white, or outside the picture.
        func isWhite(_ bit: Int) -> Bool? {
            let left = (1 + bit % layout.columns) * layout.block + layout.block / 4
            let top = (1 + bit / layout.columns) * layout.block + layout.block / 4
            let columns = span(left, scaledBy: buffer.size.width, of: original.width)
            let rows = span(top, scaledBy: buffer.size.height, of: original.height)
            guard columns.upperBound <= buffer.size.width, rows.upperBound <= buffer.size.height else { return nil }
            var sum = 0
            for y in rows {
                let row = buffer.planes[0].base + y * buffer.planes[0].stride
                // Blocks are grey, so in an RGB picture the green channel is enough.
                let (pixel, offset) = buffer.format == .bgrx ? (4, 1) : (1, 0)
                for x in columns { sum += Int(row.load(fromByteOffset: x * pixel + offset, as: UInt8.self)) }
            }
            let mean = sum / (rows.count * columns.count)
            return switch mean {
            case ..<105: false
            case 146...: true
            default: nil
            }
        }

        private func span(_ start: Int, scaledBy scaled: Int, of original: Int) -> Range<Int> {
            let from = start * scaled / original
            let to = (start + layout.block / 2) * scaled / original
            return from..<max(from + 1, to)
        }
    }

    /// Draws the code if the picture is large enough. Writes luma only.
    static func draw(number: UInt32, time: MediaTime, into canvas: PatternCanvas) {
        guard let layout = Layout(canvas.buffer.size) else { return }
        let time = UInt64(bitPattern: time.nanoseconds)
        let words: [(value: UInt64, count: Int)] = [
            (UInt64(marker), 16), (UInt64(number), 32), (time, 64), (UInt64(checksum(number, time)), 16),
        ]
        var bit = 0
        for (value, count) in words {
            for place in (0..<count).reversed() {
                canvas.fillLuma(
                    PixelRect(
                        x: (1 + bit % layout.columns) * layout.block, y: (1 + bit / layout.columns) * layout.block,
                        width: layout.block, height: layout.block),
                    value >> UInt64(place) & 1 == 1 ? 235 : 16)
                bit += 1
            }
        }
    }

    /// CRC-16/CCITT-FALSE (polynomial 0x1021, initial value 0xFFFF) of the twelve bytes, most significant first.
    static func checksum(_ number: UInt32, _ time: UInt64) -> UInt16 {
        var crc: UInt16 = 0xFFFF
        func add(_ value: UInt64, bytes: Int) {
            for index in (0..<bytes).reversed() {
                crc ^= UInt16(truncatingIfNeeded: value >> UInt64(8 * index) & 0xFF) << 8
                for _ in 0..<8 { crc = crc & 0x8000 != 0 ? crc << 1 ^ 0x1021 : crc << 1 }
            }
        }
        add(UInt64(number), bytes: 4)
        add(time, bytes: 8)
        return crc
    }
}
