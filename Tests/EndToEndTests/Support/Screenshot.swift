import CXCB
import Foundation

/// A picture of an X screen.
struct Screenshot: Equatable {
    let width: Int
    let height: Int
    /// Rows without padding; four bytes a pixel: blue, green, red and one unused.
    let bytes: [UInt8]

    /// A rectangle of the display's root window, by default all of it.
    static func take(of display: String, x: Int = 0, y: Int = 0, width: Int? = nil, height: Int? = nil) throws
        -> Screenshot
    {
        let connection = try XConnection(display)
        let width = width ?? Int(connection.screen.width_in_pixels)
        let height = height ?? Int(connection.screen.height_in_pixels)
        let cookie = xcb_get_image(
            connection.raw, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), connection.screen.root, Int16(x), Int16(y),
            UInt16(width), UInt16(height), ~0)
        guard let reply = xcb_get_image_reply(connection.raw, cookie, nil) else {
            throw HarnessError("no picture of \(width)x\(height)+\(x)+\(y) on \(display)")
        }
        defer { free(reply) }
        let length = Int(xcb_get_image_data_length(reply))
        guard length == width * height * 4, let data = xcb_get_image_data(reply) else {
            throw HarnessError("\(display) has another pixel format than 4 bytes a pixel")
        }
        return Screenshot(width: width, height: height, bytes: Array(UnsafeBufferPointer(start: data, count: length)))
    }

    /// Of a binary PPM with 255 as its highest value, as grim writes it.
    init(ppm: Data) throws {
        let words = ppm.prefix(64).split(maxSplits: 4, whereSeparator: { $0 == 32 || $0 == 10 }).prefix(4)
            .map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 4, words[0] == "P6", words[3] == "255", let width = Int(words[1]),
            let height = Int(words[2]),
            ppm.count > width * height * 3
        else { throw HarnessError("not a PPM: \(words)") }
        let colours = [UInt8](ppm.suffix(width * height * 3))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(width * height * 4)
        for pixel in stride(from: 0, to: colours.count, by: 3) {
            bytes += [colours[pixel + 2], colours[pixel + 1], colours[pixel], 0]
        }
        self.init(width: width, height: height, bytes: bytes)
    }

    init(width: Int, height: Int, bytes: [UInt8]) {
        self.width = width
        self.height = height
        self.bytes = bytes
    }

    /// Blue, green and red of one pixel.
    func pixel(_ x: Int, _ y: Int) -> [UInt8] {
        let start = (y * width + x) * 4
        return Array(bytes[start..<start + 3])
    }

    /// The share of pixels that aren't black, 0 to 1.
    var litShare: Double {
        let lit = stride(from: 0, to: bytes.count, by: 4).count {
            max(bytes[$0], max(bytes[$0 + 1], bytes[$0 + 2])) > 24
        }
        return Double(lit) / Double(width * height)
    }

    /// PSNR of a rectangle over all three colours, in dB; infinite if the pictures are equal.
    func psnr(_ other: Screenshot, x: Int, y: Int, width: Int, height: Int) -> Double {
        var sum = 0
        var count = 0
        for row in y..<y + height {
            for column in x..<x + width {
                let start = (row * self.width + column) * 4
                for colour in start..<start + 3 {
                    let difference = Int(bytes[colour]) - Int(other.bytes[colour])
                    sum += difference * difference
                    count += 1
                }
            }
        }
        return sum == 0 ? .infinity : 10 * log10(255 * 255 * Double(count) / Double(sum))
    }

    /// How many pixels differ visibly.
    func differingPixels(_ other: Screenshot, threshold: Int = 24) -> Int {
        stride(from: 0, to: min(bytes.count, other.bytes.count), by: 4).count { start in
            (start..<start + 3).contains { abs(Int(bytes[$0]) - Int(other.bytes[$0])) > threshold }
        }
    }
}

extension Screenshot {
    /// The last picture of a video file, in the colours of its tags (or BT.709, limited range).
    static func lastPicture(ofVideo path: String, width: Int, height: Int, in directory: ScratchDirectory) throws
        -> Screenshot
    {
        let raw = directory.file("last.bgr0")
        try Tool.run(
            "ffmpeg",
            [
                "-v", "error", "-y", "-i", path, "-vf",
                "scale=in_color_matrix=bt709:in_range=tv:out_range=pc:flags=accurate_rnd+full_chroma_int+full_chroma_inp",
                "-pix_fmt", "bgr0", "-f", "rawvideo", raw,
            ])
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: raw)))
        let size = width * height * 4
        guard bytes.count >= size, bytes.count % size == 0 else {
            throw HarnessError("\(path) holds no picture of \(width)x\(height)")
        }
        return Screenshot(width: width, height: height, bytes: Array(bytes.suffix(size)))
    }
}
