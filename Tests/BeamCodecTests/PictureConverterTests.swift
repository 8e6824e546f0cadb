import BeamCodec
import BeamMedia
import BeamPixels
import Testing

@Suite struct PictureConverterTests {
    private func bgrx(_ size: PixelSize, blue: UInt8, green: UInt8, red: UInt8) -> PixelBuffer {
        let buffer = PixelBuffer(format: .bgrx, size: size)
        paint(buffer, PixelRect(size), blue: blue, green: green, red: red)
        return buffer
    }

    private func paint(_ buffer: PixelBuffer, _ rect: PixelRect, blue: UInt8, green: UInt8, red: UInt8) {
        for y in rect.y..<rect.maxY {
            let row = buffer.row(0, y)
            for x in rect.x..<rect.maxX {
                (row[4 * x], row[4 * x + 1], row[4 * x + 2], row[4 * x + 3]) = (blue, green, red, 0)
            }
        }
    }

    @Test func aPictureInTheRightFormatIsHandedOn() throws {
        let picture = MovingContent(PixelSize(width: 33, height: 17)).picture(0)
        let converted = try PictureConverter().convert(picture, to: picture.size)
        #expect(converted.buffer === picture.buffer)
    }

    @Test func onlyDamageIsConverted() throws {
        let size = PixelSize(width: 100, height: 50)
        let converter = PictureConverter()
        let source = bgrx(size, blue: 0, green: 0, red: 0)
        var converted: Picture? = try converter.convert(Picture(buffer: source, time: .zero), to: size)
        let memory = converted?.buffer.planes[0].base
        #expect(converted?.buffer.row(0, 0)[0] == 16)
        converted = nil
        // All of it becomes white, but the damage names a corner only.
        paint(source, PixelRect(size), blue: 255, green: 255, red: 255)
        let damage = DamageRegion(PixelRect(x: 0, y: 0, width: 10, height: 10))
        converted = try converter.convert(Picture(buffer: source, time: .zero, damage: damage), to: size)
        #expect(converted?.buffer.planes[0].base == memory)
        #expect(converted?.buffer.row(0, 9)[9] == 235)
        #expect(converted?.buffer.row(0, 20)[20] == 16)
        #expect(converted?.damage == damage)
        // While a picture is held, the next one is converted as a whole into other memory.
        let next = try converter.convert(Picture(buffer: source, time: .zero, damage: damage), to: size)
        #expect(next.buffer.planes[0].base != memory)
        #expect(next.buffer.row(0, 20)[20] == 235)
        #expect(converted?.buffer.row(0, 20)[20] == 16)
    }

    @Test func allFormatsConvertToTheSameColour() throws {
        // Pure red in each format: BT.709 limited is 63, 102, 240.
        let size = PixelSize(width: 64, height: 48)
        func yuv(_ format: PixelFormat, _ y: UInt8, _ u: UInt8, _ v: UInt8, _ colour: ColourDescription) -> Picture {
            let buffer = PixelBuffer(format: format, size: size)
            buffer.fill(y, u, v)
            return Picture(buffer: buffer, colour: colour, time: .zero)
        }
        let pictures = [
            Picture(buffer: bgrx(size, blue: 0, green: 0, red: 255), time: .zero),
            yuv(.i420, 63, 102, 240, .bt709Limited),
            yuv(.i444, 63, 102, 240, .bt709Limited),
            yuv(.i420, 54, 99, 255, ColourDescription(matrix: .bt709, isFullRange: true)),
            yuv(.i420, 81, 90, 240, ColourDescription(matrix: .bt601, isFullRange: false)),
            yuv(.i444, 76, 85, 255, ColourDescription(matrix: .bt601, isFullRange: true)),
            yuv(.i420, 74, 97, 240, ColourDescription(matrix: .bt2020, isFullRange: false)),
        ]
        for picture in pictures {
            for target in [size, PixelSize(width: 33, height: 21), PixelSize(width: 128, height: 100)] {
                let converted = try PictureConverter().convert(picture, to: target)
                #expect(converted.size == target)
                #expect(converted.format == .i420 && converted.colour == .bt709Limited)
                for (plane, expected) in [63, 102, 240].enumerated() {
                    let rows = PixelFormat.i420.plane(plane, of: target).rows
                    for y in [0, rows / 2, rows - 1] {
                        let row = converted.buffer.row(plane, y)
                        for x in [0, row.count / 2, row.count - 1] {
                            let difference = abs(Int(row[x]) - expected)
                            #expect(
                                difference <= 2,
                                "\(picture.format) \(picture.colour) \(target) plane \(plane) \(x),\(y)")
                        }
                    }
                }
            }
        }
    }

    @Test func scalingDoesNotShiftThePicture() throws {
        // A white square covers the middle half of both axes before and after scaling.
        let size = PixelSize(width: 256, height: 128)
        let source = bgrx(size, blue: 0, green: 0, red: 0)
        paint(source, PixelRect(x: 64, y: 32, width: 128, height: 64), blue: 255, green: 255, red: 255)
        let target = PixelSize(width: 128, height: 64)
        let scaled = try PictureConverter().convert(Picture(buffer: source, time: .zero), to: target)
        let row = scaled.buffer.row(0, 32)
        #expect(row[30] < 20 && row[33] > 230 && row[94] > 230 && row[97] < 20)
        #expect(scaled.buffer.row(0, 14)[64] < 20)
        #expect(scaled.buffer.row(0, 17)[64] > 230)
    }

    @Test func impossibleSizesAreRefused() {
        let picture = Picture(buffer: PixelBuffer(format: .bgrx, size: PixelSize(width: 4, height: 4)), time: .zero)
        let size = PixelSize(width: 0, height: 4)
        #expect(throws: CodecError.unsupportedSize(size)) { try PictureConverter().convert(picture, to: size) }
    }
}
