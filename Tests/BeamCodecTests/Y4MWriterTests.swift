import BeamCodec
import BeamMedia
import Foundation
import Testing

@Suite struct Y4MWriterTests {
    @Test func theFileHoldsThePicturesBytes() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("a.y4m")
        let writer = try Y4MWriter(path: file, frameRate: 30)
        let buffer = PixelBuffer(format: .i420, size: PixelSize(width: 3, height: 3))
        buffer.fill(1, 2, 3)
        try writer.write(Picture(buffer: buffer, time: .zero))
        try writer.finish()
        let expected =
            Array("YUV4MPEG2 W3 H3 F30:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\nFRAME\n".utf8)
            + [UInt8](repeating: 1, count: 9) + [UInt8](repeating: 2, count: 4) + [UInt8](repeating: 3, count: 4)
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: file))) == expected)
    }

    @Test(.enabled(if: Probe.isThere, "ffprobe is not installed")) func ffprobeReadsTheFile() throws {
        let directory = try TemporaryDirectory()
        for (format, name) in [(PixelFormat.i420, "yuv420p"), (.i444, "yuv444p"), (.bgrx, "yuv420p")] {
            let file = directory.file("\(format).y4m")
            let writer = try Y4MWriter(path: file, frameRate: 29.97)
            let buffer = PixelBuffer(format: format, size: PixelSize(width: 1367, height: 31))
            buffer.fill(90, 100, 110)
            for _ in 0..<3 { try writer.write(Picture(buffer: buffer, time: .zero)) }
            try writer.finish()
            let probe = try Probe.run(
                file, "-count_frames", "-show_entries",
                "stream=width,height,pix_fmt,color_range,r_frame_rate,nb_read_frames")
            #expect(probe.errors.isEmpty)
            #expect(probe.lines == ["1367,31,\(name),tv,2997/100,3"])
        }
    }

    @Test func anotherSizeGoesIntoTheNextFile() throws {
        let directory = try TemporaryDirectory()
        let writer = try Y4MWriter(path: directory.file("b.y4m"), frameRate: 60)
        for width in [4, 4, 6] {
            try writer.write(
                Picture(buffer: PixelBuffer(format: .i420, size: PixelSize(width: width, height: 2)), time: .zero))
        }
        try writer.finish()
        #expect(writer.currentPath == directory.file("b-2.y4m"))
        let second = try Data(contentsOf: URL(fileURLWithPath: writer.currentPath))
        #expect(second.starts(with: Data("YUV4MPEG2 W6 H2 F60:1".utf8)))
        #expect(throws: CodecError.fileExists(path: directory.file("b.y4m"))) {
            try Y4MWriter(path: directory.file("b.y4m"), frameRate: 60)
        }
    }

    @Test func aSizeThatChangesWithoutEndFillsNoDirectory() throws {
        let directory = try TemporaryDirectory()
        let writer = try Y4MWriter(path: directory.file("c.y4m"), frameRate: 60)
        var error: CodecError?
        for number in 0..<300 where error == nil {
            let buffer = PixelBuffer(format: .i420, size: PixelSize(width: 2 + 2 * (number % 2), height: 2))
            do throws(CodecError) {
                try writer.write(Picture(buffer: buffer, time: .zero))
            } catch let failure {
                error = failure
            }
        }
        guard case .cannotWriteFile? = error else {
            Issue.record("it went on: \(String(describing: error))")
            return
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 100)
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
    func aFullDiskIsAnError() throws {
        let writer = try Y4MWriter(path: "/dev/full", frameRate: 60)
        let buffer = PixelBuffer(format: .i420, size: PixelSize(width: 640, height: 480))
        #expect(throws: CodecError.cannotWriteFile(path: "/dev/full", reason: "no space left on device")) {
            for _ in 0..<10 { try writer.write(Picture(buffer: buffer, time: .zero)) }
            try writer.finish()
        }
    }
}
