import BeamMedia
import CXCB

/// The memory layout of a drawable's pixels, and their conversion to BGRX.
final class PixelLayout: Sendable {
    private struct Channel: Sendable, Hashable {
        let shift: Int
        let bits: Int

        init?(mask: UInt32) {
            guard mask != 0 else { return nil }
            shift = mask.trailingZeroBitCount
            bits = (~(mask >> shift)).trailingZeroBitCount
            guard bits <= 12, mask >> shift == (1 << bits) - 1 else { return nil }
        }

        func value(_ pixel: UInt32) -> UInt32 {
            let largest = UInt32(1) << bits - 1
            return ((pixel >> shift & largest) * 255 + largest / 2) / largest
        }
    }

    /// The visual's id. Drawables with the same id have the same layout.
    let visual: xcb_visualid_t
    /// The server's pixels are BGRX already.
    let isBGRX: Bool
    let bytesPerPixel: Int
    private let scanlinePad: Int
    private let channels: (red: Channel, green: Channel, blue: Channel)
    /// For 16-bit pixels: BGRX for each value.
    private let table: [UInt32]

    /// The layout for a visual. Throws for visuals whose pixels are palette indices, not colours.
    init(_ connection: XConnection, visual id: xcb_visualid_t) throws(CaptureError) {
        func unsupported(_ reason: String) -> CaptureError {
            .unsupportedDisplay(name: connection.name, reason: reason)
        }
        guard let setup = xcb_get_setup(connection.raw), let (depth, visual) = Self.find(id, in: setup) else {
            throw unsupported("it doesn't say what its pixels look like")
        }
        guard
            UInt32(visual._class) == XCB_VISUAL_CLASS_TRUE_COLOR.rawValue
                || UInt32(visual._class) == XCB_VISUAL_CLASS_DIRECT_COLOR.rawValue
        else {
            throw unsupported("its pixels are \(depth)-bit indices into a table of colours; a depth of 24 is needed")
        }
        guard UInt32(setup.pointee.image_byte_order) == XCB_IMAGE_ORDER_LSB_FIRST.rawValue else {
            throw unsupported("its pixels are in big-endian order")
        }
        guard let format = Self.format(depth: depth, in: setup), [16, 32].contains(format.bits_per_pixel),
            let red = Channel(mask: visual.red_mask), let green = Channel(mask: visual.green_mask),
            let blue = Channel(mask: visual.blue_mask)
        else { throw unsupported("its pixels of \(depth) bits are packed in an unusual way; a depth of 24 is needed") }
        self.visual = id
        bytesPerPixel = Int(format.bits_per_pixel) / 8
        scanlinePad = Int(format.scanline_pad) / 8
        channels = (red, green, blue)
        isBGRX =
            format.bits_per_pixel == 32
            && (visual.red_mask, visual.green_mask, visual.blue_mask) == (0xff_0000, 0xff00, 0xff)
        table =
            format.bits_per_pixel == 16
            ? (0..<65536).map { blue.value($0) | green.value($0) << 8 | red.value($0) << 16 } : []
    }

    /// Bytes from one row to the next in an image of `width` pixels as the server writes it.
    func stride(width: Int) -> Int { (width * bytesPerPixel + scanlinePad - 1) / scanlinePad * scanlinePad }

    /// Converts `size` pixels of the server's image `source` to BGRX memory with `stride` bytes per row.
    func copy(_ source: UnsafeRawPointer, size: PixelSize, to destination: UnsafeMutableRawPointer, stride: Int) {
        let sourceStride = self.stride(width: size.width)
        for row in 0..<size.height {
            let from = source + row * sourceStride
            let to = destination + row * stride
            if isBGRX {
                to.copyMemory(from: from, byteCount: size.width * 4)
            } else if bytesPerPixel == 2 {
                table.withUnsafeBufferPointer { table in
                    for x in 0..<size.width {
                        let pixel = from.loadUnaligned(fromByteOffset: 2 * x, as: UInt16.self)
                        to.storeBytes(of: table[Int(pixel)], toByteOffset: 4 * x, as: UInt32.self)
                    }
                }
            } else {
                let (red, green, blue) = channels
                for x in 0..<size.width {
                    let pixel = from.loadUnaligned(fromByteOffset: 4 * x, as: UInt32.self)
                    let bgrx = blue.value(pixel) | green.value(pixel) << 8 | red.value(pixel) << 16
                    to.storeBytes(of: bgrx, toByteOffset: 4 * x, as: UInt32.self)
                }
            }
        }
    }

    /// Blends `size` pixels of the server's image `source` with BGRX memory. Only for a BGRX layout whose fourth byte is
    /// alpha, by which the colours are multiplied.
    func blend(_ source: UnsafeRawPointer, size: PixelSize, over destination: UnsafeMutableRawPointer, stride: Int) {
        let sourceStride = self.stride(width: size.width)
        for row in 0..<size.height {
            let from = source + row * sourceStride
            let to = destination + row * stride
            for x in 0..<size.width {
                let pixel = from.loadUnaligned(fromByteOffset: 4 * x, as: UInt32.self)
                guard pixel >> 24 != 0 else { continue }
                let below = to.load(fromByteOffset: 4 * x, as: UInt32.self)
                to.storeBytes(of: PointerImage.over(pixel, below), toByteOffset: 4 * x, as: UInt32.self)
            }
        }
    }

    private static func find(
        _ id: xcb_visualid_t, in setup: UnsafePointer<xcb_setup_t>
    ) -> (depth: UInt8, visual: xcb_visualtype_t)? {
        var screens = xcb_setup_roots_iterator(setup)
        while screens.rem > 0 {
            var depths = xcb_screen_allowed_depths_iterator(screens.data)
            while depths.rem > 0 {
                var visuals = xcb_depth_visuals_iterator(depths.data)
                while visuals.rem > 0 {
                    if visuals.data.pointee.visual_id == id { return (depths.data.pointee.depth, visuals.data.pointee) }
                    xcb_visualtype_next(&visuals)
                }
                xcb_depth_next(&depths)
            }
            xcb_screen_next(&screens)
        }
        return nil
    }

    private static func format(depth: UInt8, in setup: UnsafePointer<xcb_setup_t>) -> xcb_format_t? {
        UnsafeBufferPointer(
            start: xcb_setup_pixmap_formats(setup), count: Int(xcb_setup_pixmap_formats_length(setup))
        )
        .first { $0.depth == depth }
    }
}
