import CXCB
import Foundation

/// Reads the test pattern's blocks from a screen that shows it unscaled, whenever something is drawn, and notes each
/// frame's age. It shares no code with the program: 128 blocks from the left, the most significant bit first: 0xBEA4,
/// the frame's number (32 bits), its capture time in nanoseconds of the monotonic clock (64), and CRC-16/CCITT-FALSE of
/// both (16).
final class PatternReader: Sendable {
    struct State: Sendable {
        /// Milliseconds from capture to screen, of each frame that was read.
        var latencies: [Double] = []
        /// How often something was drawn without a new, readable number.
        var misses = 0
        var stops = false
        var failure: String?
    }

    let state = Monitor(State())

    init(_ display: String) {
        let state = state
        Thread.detachNewThread {
            do {
                try Self.watch(Blocks(display), state)
            } catch {
                state.withLock { $0.failure = "\(error)" }
            }
        }
    }

    deinit { state.withLock { $0.stops = true } }

    private static func watch(_ blocks: Blocks, _ state: Monitor<State>) throws {
        var last: UInt32?
        while !state.withLock(\.stops) {
            guard blocks.waitForDrawing(milliseconds: 100) else { continue }
            let frame = try blocks.read()
            let now = secondsNow()
            state.withLock { state in
                if let frame, frame.number != last {
                    state.latencies.append(now * 1000 - Double(frame.time) / 1e6)
                } else {
                    state.misses += 1
                }
            }
            last = frame?.number ?? last
        }
    }
}

private final class Blocks {
    private let connection: XConnection
    /// In pixels, for screens between 720p and 1440p; the blocks are in two rows.
    private static let side = 16
    private static let columns = 64

    init(_ display: String) throws {
        connection = try XConnection(display)
        guard Int(connection.screen.width_in_pixels) > (Self.columns + 2) * Self.side else {
            throw HarnessError("\(display) is too narrow for the pattern's blocks")
        }
        let version = xcb_damage_query_version_reply(
            connection.raw, xcb_damage_query_version(connection.raw, 1, 1), nil)
        guard version != nil else { throw HarnessError("\(display) has no DAMAGE extension") }
        free(version)
        xcb_damage_create(
            connection.raw, xcb_generate_id(connection.raw), connection.screen.root,
            UInt8(XCB_DAMAGE_REPORT_LEVEL_RAW_RECTANGLES.rawValue))
        connection.synchronise()
    }

    func waitForDrawing(milliseconds: Int32) -> Bool {
        if takeEvents() { return true }
        var entry = pollfd(fd: xcb_get_file_descriptor(connection.raw), events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
        return takeEvents()
    }

    private func takeEvents() -> Bool {
        var hasSome = false
        while let event = xcb_poll_for_event(connection.raw) {
            hasSome = true
            free(event)
        }
        return hasSome
    }

    /// Nil if the blocks are missing or incomplete.
    func read() throws -> (number: UInt32, time: UInt64)? {
        let (side, width) = (Self.side, Self.columns * Self.side)
        // The middle line of each row of blocks.
        let cookies = (0..<2).map { row in
            xcb_get_image(
                connection.raw, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), connection.screen.root, Int16(side),
                Int16((row + 1) * side + side / 2), UInt16(width), 1, ~0)
        }
        var bits: [Bool?] = []
        for cookie in cookies {
            guard let reply = xcb_get_image_reply(connection.raw, cookie, nil) else {
                throw HarnessError("the screen can't be read")
            }
            defer { free(reply) }
            guard Int(xcb_get_image_data_length(reply)) == width * 4, let data = xcb_get_image_data(reply) else {
                throw HarnessError("the screen has another pixel format than 4 bytes a pixel")
            }
            for column in 0..<Self.columns {
                // Green, in the middle of the block.
                let value = data[(column * side + side / 2) * 4 + 1]
                bits.append(value < 100 ? false : value > 155 ? true : nil)
            }
        }
        guard !bits.contains(nil) else { return nil }
        func number(_ range: Range<Int>) -> UInt64 { bits[range].reduce(0) { $0 << 1 | ($1 == true ? 1 : 0) } }
        var check: UInt16 = 0xFFFF
        for start in stride(from: 16, to: 112, by: 8) {
            check ^= UInt16(number(start..<start + 8)) << 8
            for _ in 0..<8 { check = check & 0x8000 != 0 ? check << 1 ^ 0x1021 : check << 1 }
        }
        guard number(0..<16) == 0xBEA4, number(112..<128) == UInt64(check) else { return nil }
        return (UInt32(number(16..<48)), number(48..<112))
    }
}
