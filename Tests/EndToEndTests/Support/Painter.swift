import CXCB
import Foundation

/// Paints an X screen: a still background like a desktop's and, if it moves, motion in the lower half. The painting
/// disappears with its owner.
final class Painter: Sendable {
    private struct State: Sendable {
        var framesPerSecond: Int
        var painted = 0
        var isFrozen = false
        var stops = false
        var failure: String?
    }

    private let state: Monitor<State>

    /// Paints the background, and the moving half `framesPerSecond` times a second; 0 paints the background only.
    init(_ display: String, framesPerSecond: Int) throws {
        state = Monitor(State(framesPerSecond: framesPerSecond))
        let state = state
        Thread.detachNewThread {
            do {
                try Self.paint(Canvas(XConnection(display)), state)
            } catch {
                state.withLock { $0.failure = "\(error)" }
            }
        }
        let isUp = state.wait(timeout: 30) { $0.painted > 0 || $0.failure != nil ? $0.painted > 0 : nil }
        guard isUp == true else { throw HarnessError(state.current.failure ?? "nothing is painted on \(display)") }
    }

    deinit { state.withLock { $0.stops = true } }

    /// Frames so far, including the background.
    var painted: Int { state.current.painted }

    /// Stops the motion.
    func freeze() {
        state.withLock { $0.framesPerSecond = 0 }
        _ = state.wait(timeout: 5) { $0.isFrozen ? true : nil }
    }

    /// Starts or continues the motion.
    func move(framesPerSecond: Int) { state.withLock { $0.framesPerSecond = framesPerSecond } }

    private static func paint(_ canvas: Canvas, _ state: Monitor<State>) throws {
        canvas.paintBackground()
        canvas.connection.synchronise()
        state.withLock { $0.painted = 1 }
        var frame = 0
        var due = secondsNow()
        while !state.current.stops && !canvas.connection.isBroken {
            let framesPerSecond = state.withLock { state in
                state.isFrozen = state.framesPerSecond == 0
                return state.framesPerSecond
            }
            guard framesPerSecond > 0 else {
                pause(seconds: 0.02)
                due = secondsNow()
                continue
            }
            due += 1 / Double(framesPerSecond)
            let wait = due - secondsNow()
            if wait > 0 { pause(seconds: wait) }
            frame += 1
            canvas.paintMotion(frame)
            canvas.connection.synchronise()
            state.withLock { $0.painted += 1 }
        }
    }
}

/// A window over the whole screen, with drawing of rectangles.
private final class Canvas {
    let connection: XConnection
    private let window: xcb_window_t
    private let context: xcb_gcontext_t
    private let width: Int
    private let height: Int

    init(_ connection: XConnection) {
        self.connection = connection
        width = Int(connection.screen.width_in_pixels)
        height = Int(connection.screen.height_in_pixels)
        window = xcb_generate_id(connection.raw)
        context = xcb_generate_id(connection.raw)
        xcb_create_window(
            connection.raw, 0, window, connection.screen.root, 0, 0, UInt16(width), UInt16(height), 0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), connection.screen.root_visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue, [connection.screen.black_pixel, 1])
        xcb_create_gc(connection.raw, context, window, 0, nil)
        xcb_map_window(connection.raw, window)
        connection.synchronise()
    }

    private func fill(_ colour: UInt32, _ rectangles: [xcb_rectangle_t]) {
        xcb_change_gc(connection.raw, context, XCB_GC_FOREGROUND.rawValue, [colour])
        xcb_poly_fill_rectangle(connection.raw, window, context, UInt32(rectangles.count), rectangles)
    }

    private func rectangle(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> xcb_rectangle_t {
        xcb_rectangle_t(x: Int16(x), y: Int16(y), width: UInt16(width), height: UInt16(height))
    }

    /// Coloured bars with dashes like lines of text; no two places are alike, so that a shift would be noticed.
    func paintBackground() {
        for bar in 0..<8 {
            let left = width * bar / 8
            let right = width * (bar + 1) / 8
            let colour = UInt32(0x30 + bar * 0x18) << 16 | UInt32(0xe0 - bar * 0x18) << 8 | UInt32(0x40 + bar * 9)
            fill(colour, [rectangle(left, 0, right - left, height)])
        }
        var random = SplitMix64(seed: 7)
        var dashes: [xcb_rectangle_t] = []
        for line in stride(from: 12, to: height - 16, by: 24) {
            var x = 16
            while x < width - 60 {
                let length = Int.random(in: 6...40, using: &random)
                dashes.append(rectangle(x, line, length, 8))
                x += length + Int.random(in: 6...14, using: &random)
            }
        }
        fill(0x20_20_28, dashes)
    }

    /// The lower half: a band that changes its colour, and boxes that move across it.
    func paintMotion(_ frame: Int) {
        let top = height / 2
        let shade = UInt32(frame * 5 % 256)
        fill(0x40_40_00 | shade, [rectangle(0, top, width, height - top)])
        for box in 0..<12 {
            let side = height / 16
            let x = (frame * (4 + box) + box * width / 12) % max(1, width - side)
            let y = top + (height - top - side) * box / 12
            let colour = UInt32(truncatingIfNeeded: (box + 1) * 0x15_27_3b) & 0xff_ff_ff
            fill(colour, [rectangle(x, y, side, side)])
        }
    }
}

/// Random numbers that are the same in every run.
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
