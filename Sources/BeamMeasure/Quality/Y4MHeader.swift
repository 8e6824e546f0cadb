import BeamMedia

/// The header line of a YUV4MPEG2 stream, as far as it is needed here.
struct Y4MHeader: Equatable {
    /// In bytes.
    static let maxBytes = 1024
    static let maxSide = 8192

    var size: PixelSize
    /// 8-bit 4:2:0 or 4:4:4.
    var format: PixelFormat
    /// Nil if the header doesn't have it.
    var frameRate: Double?

    /// Bytes of samples per frame.
    var frameBytes: Int {
        (0..<format.planeCount).reduce(0) { sum, plane in
            let (rowBytes, rows) = format.plane(plane, of: size)
            return sum + rowBytes * rows
        }
    }

    /// Why a line isn't a usable header.
    struct Refusal: Error, Equatable { let reason: String }

    /// - Parameter line: without its newline.
    init(line: String) throws(Refusal) {
        var words = line.split(separator: " ")[...]
        guard words.popFirst() == "YUV4MPEG2" else { throw Refusal(reason: "it isn't a YUV4MPEG2 file") }
        var (width, height) = (0, 0)
        var format: PixelFormat? = .i420
        var name = ""
        for word in words {
            let value = word.dropFirst()
            switch word.first {
            case "W": width = Int(value) ?? 0
            case "H": height = Int(value) ?? 0
            case "F":
                let parts = value.split(separator: ":").compactMap { Double($0) }
                if parts.count == 2, parts[0] > 0, parts[1] > 0 { frameRate = parts[0] / parts[1] }
            case "C":
                name = String(value)
                format =
                    switch name {
                    case "420", "420jpeg", "420mpeg2", "420paldv": .i420
                    case "444": .i444
                    default: nil
                    }
            default: break
            }
        }
        guard let format else { throw Refusal(reason: "its pictures are \(name), not 4:2:0 of 8 bits") }
        guard (1...Self.maxSide).contains(width), (1...Self.maxSide).contains(height) else {
            throw Refusal(reason: "its pictures have no size, or more than \(Self.maxSide) pixels a side")
        }
        self.format = format
        size = PixelSize(width: width, height: height)
    }
}
