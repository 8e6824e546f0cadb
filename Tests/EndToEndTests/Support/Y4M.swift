import Foundation

/// A YUV4MPEG2 file of 8-bit 4:2:0 pictures, mapped into memory.
final class Y4M {
    let width: Int
    let height: Int
    let header: String
    private let data: Data
    /// The offset of each picture's luma.
    private let starts: [Int]

    init(_ path: String) throws {
        data = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        guard let headerEnd = data.firstIndex(of: 0x0a) else { throw HarnessError("\(path) has no header") }
        header = String(decoding: data[..<headerEnd], as: UTF8.self)
        let fields = header.split(separator: " ")
        func value(_ letter: Character) -> Substring? { fields.dropFirst().first { $0.first == letter }?.dropFirst() }
        guard fields.first == "YUV4MPEG2", let width = value("W").flatMap({ Int($0) }),
            let height = value("H").flatMap({ Int($0) }), (value("C") ?? "420").hasPrefix("420")
        else { throw HarnessError("\(path): not a 4:2:0 YUV4MPEG2 file: \(header)") }
        let size = width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
        var starts: [Int] = []
        var index = headerEnd + 1
        while index < data.count {
            guard data[index...].starts(with: Array("FRAME".utf8)), let end = data[index...].firstIndex(of: 0x0a) else {
                throw HarnessError("\(path): no frame header at byte \(index), after \(starts.count) pictures")
            }
            // Ignore a last picture that was truncated by a kill.
            if end + 1 + size > data.count { break }
            starts.append(end + 1)
            index = end + 1 + size
        }
        self.width = width
        self.height = height
        self.starts = starts
    }

    var count: Int { starts.count }

    /// The mean squared difference between two pictures' luma, over every `rowStep`th row and `columnStep`th column.
    func lumaError(_ picture: Int, _ other: Y4M, _ otherPicture: Int, rowStep: Int, columnStep: Int = 1) -> Double {
        data.withUnsafeBytes { mine in
            other.data.withUnsafeBytes { theirs in
                var sum = 0
                var count = 0
                var row = 0
                while row < height {
                    let left = mine.baseAddress! + starts[picture] + row * width
                    let right = theirs.baseAddress! + other.starts[otherPicture] + row * width
                    var column = 0
                    while column < width {
                        let difference =
                            Int(left.load(fromByteOffset: column, as: UInt8.self))
                            - Int(right.load(fromByteOffset: column, as: UInt8.self))
                        sum += difference * difference
                        count += 1
                        column += columnStep
                    }
                    row += rowStep
                }
                return Double(sum) / Double(max(1, count))
            }
        }
    }

    /// Whether all bytes of two pictures are equal, including chroma.
    func isSame(_ picture: Int, as other: Y4M, _ otherPicture: Int) -> Bool {
        let size = width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
        return data.withUnsafeBytes { mine in
            other.data.withUnsafeBytes { theirs in
                memcmp(mine.baseAddress! + starts[picture], theirs.baseAddress! + other.starts[otherPicture], size) == 0
            }
        }
    }

    /// For each picture: the most similar picture of `source`, and its PSNR in dB of luma. The search uses a coarse
    /// grid, the PSNR every `rowStep`th row. Both files have the same size.
    func matches(in source: Y4M, rowStep: Int = 3) -> [(source: Int, psnr: Double)] {
        (0..<count).map { picture in
            let errors = (0..<source.count).map {
                lumaError(picture, source, $0, rowStep: max(1, height / 48), columnStep: max(1, width / 48))
            }
            let best = errors.indices.min { errors[$0] < errors[$1] } ?? 0
            let error = lumaError(picture, source, best, rowStep: rowStep)
            return (best, error == 0 ? .infinity : 10 * log10(255 * 255 / error))
        }
    }
}
