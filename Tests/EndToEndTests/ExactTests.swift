import CXCB
import Foundation
import Testing

/// The picture in a viewer's window against the screen that is shared, pixel for pixel.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct ExactTests {
        /// A shared screen, and a viewer that shows it in a window of the same size.
        private struct Pair {
            let screen: XServer
            let viewerScreen: XServer
            let host: ProgramProcess
            let viewer: ProgramProcess

            init(
                _ options: [String] = [], renderer: String = "software", width: Int = 640, height: Int = 360
            ) throws {
                screen = try XServer(width: width, height: height)
                viewerScreen = try XServer(width: width, height: height)
                let ports = try Ports()
                host = try Program.share(
                    ["--display", screen.display, "--no-cursor", "--no-frame"] + options, ports: ports)
                try host.waitFor("ready")
                viewer = try Program.watch(
                    [ports.target, "--fullscreen", "--renderer", renderer], display: viewerScreen.display)
                try viewer.waitFor("first-frame")
            }

            func end() {
                viewer.end()
                host.end()
            }

            /// The viewer has compared what it shows with the host's hashes, as its last figures say.
            var isVerified: Bool { viewer.events("stats").last?.bool("exactVerified") == true }

            /// Where the window differs from the screen.
            var difference: String {
                get throws {
                    let (one, other) = (
                        try Screenshot.take(of: screen.display), try Screenshot.take(of: viewerScreen.display)
                    )
                    let places = (0..<one.height).flatMap { y in
                        (0..<one.width).filter { x in
                            let place = 4 * (y * one.width + x)
                            return one.bytes[place..<place + 3] != other.bytes[place..<place + 3]
                        }.map { (x: $0, y: y) }
                    }
                    let (x, y) = (places.map(\.x), places.map(\.y))
                    return
                        "\(places.count) pixels, columns \(x.min() ?? 0) to \(x.max() ?? 0), rows \(y.min() ?? 0) to \(y.max() ?? 0)"
                }
            }

            /// Whether the window shows the screen, of each pixel blue, green and red.
            var isEqual: Bool {
                get throws {
                    try Screenshot.take(of: screen.display).isEqual(to: Screenshot.take(of: viewerScreen.display))
                }
            }
        }

        @Test func aStillScreenIsEqual() throws {
            let pair = try Pair()
            defer { pair.end() }
            let painter = try Painter(pair.screen.display, framesPerSecond: 0)
            #expect(try eventually(timeout: 30) { try pair.isEqual })
            #expect(painter.painted == 1)
            #expect(
                eventually(timeout: 30) { pair.viewer.events("stats").last?.number("exact") == 1 },
                "\(pair.viewer.events("stats").last.map { "\($0)" } ?? "no figures")")
            // The host's hashes say the same, and again after a change.
            #expect(eventually(timeout: 30) { pair.isVerified })
            let pen = try Pen(pair.screen.display)
            pen.fill(x: 100, y: 50, width: 30, height: 30, colour: 0x12_34_56)
            #expect(try eventually(timeout: 30) { try pair.isEqual })
            let seen = pair.viewer.events("stats").count
            #expect(eventually(timeout: 30) { pair.viewer.events("stats").count > seen + 1 && pair.isVerified })
            #expect(pair.viewer.events("stats").allSatisfy { $0.number("exactWrongRows") ?? 0 == 0 })
        }

        /// Something small moves without end, fifty times a second. All that rests beside it becomes exact, also so much noise
        /// that it can't be compressed between two moves.
        @Test func whatRestsBesideMotionIsExact() throws {
            let pair = try Pair(width: 1920, height: 1080)
            defer { pair.end() }
            let pen = try Pen(pair.screen.display)
            var places: [[xcb_rectangle_t]] = Array(repeating: [], count: 256)
            for y in 0..<Int16(1080) {
                for x in stride(from: Int16(0), to: 1920, by: 2) {
                    places[.random(in: 0..<256)].append(xcb_rectangle_t(x: x, y: y, width: 2, height: 1))
                }
            }
            for place in places { pen.fill(place, colour: .random(in: 0...0xff_ff_ff)) }
            let before = pair.viewer.events("stats").count
            var shares: [Double] = []
            for step in 0..<2000 where shares.last != 1 {
                pen.fill(x: 8, y: 8, width: 12, height: 12, colour: step % 2 == 0 ? 0xff_ff_ff : 0)
                pause(seconds: 0.02)
                // Those of the first second may be older than the noise.
                guard step % 25 == 0 else { continue }
                shares = pair.viewer.events("stats").dropFirst(before + 1).map { $0.number("exact") ?? 0 }
            }
            #expect(shares.last == 1, "\(shares)")
        }

        /// Once it is verified, nothing more is sent than to say that both are there.
        @Test func aVerifiedScreenCostsNothing() throws {
            let pair = try Pair()
            defer { pair.end() }
            let painter = try Painter(pair.screen.display, framesPerSecond: 0)
            #expect(eventually(timeout: 30) { pair.isVerified })
            // Hellos are answered each second; the viewer would ask again after two.
            pause(seconds: 3)
            func sent(_ figure: String) -> Double { pair.host.events("stats").last?.number(figure) ?? 0 }
            let begin = (datagrams: sent("datagrams"), bytes: sent("bytes"))
            pause(seconds: 6)
            let (datagrams, bytes) = (sent("datagrams") - begin.datagrams, sent("bytes") - begin.bytes)
            report("verified screen at rest", "\(Int(datagrams)) datagrams, \(Int(bytes)) bytes in 6 s")
            #expect(datagrams <= 9 && bytes <= 9 * 80)
            #expect(pair.isVerified && painter.painted == 1)
        }

        /// Small changes, each until it is seen, and then after motion that goes by video.
        @Test func smallChangesComeExactly() throws {
            let pair = try Pair()
            defer { pair.end() }
            let painter = try Painter(pair.screen.display, framesPerSecond: 0)
            #expect(try eventually(timeout: 30) { try pair.isEqual })
            let before = pair.viewer.events("stats").last?.number("frames") ?? 0
            let pen = try Pen(pair.screen.display)
            for step in 0..<40 {
                pen.fill(x: 13 * step, y: 7 * step % 300, width: 9, height: 17, colour: 0xff_30_10 + UInt32(step * 999))
                #expect(try eventually(timeout: 20) { try pair.isEqual }, "change \(step)")
            }
            painter.move(framesPerSecond: 30)
            pause(seconds: 1)
            painter.freeze()
            #expect(try eventually(timeout: 30) { try pair.isEqual })
            let (patches, frames) = (
                pair.host.events("stats").last?.number("patches") ?? 0,
                (pair.viewer.events("stats").last?.number("frames") ?? 0) - before
            )
            report("exact", "\(Int(patches)) patches, \(Int(frames)) frames")
            #expect(patches >= 40)
        }

        /// Lines of a terminal, in a window that isn't on the grid of tiles: while they scroll, the window stays exact,
        /// which the video alone doesn't.
        @Test(arguments: ["software", "opengl"]) func whatIsScrolledIsMoved(renderer: String) throws {
            let pair = try Pair(renderer: renderer, width: 1021, height: 613)
            defer { pair.end() }
            let pen = try Pen(pair.screen.display)
            let (left, top, width, height, step) = (37, 29, 900, 520, 17)
            var number = 0
            func line(_ y: Int) {
                let letters = (0..<90).map { letter in
                    number = (number &* 1_103_515_245 &+ 12345) & 0x7fff_ffff
                    return xcb_rectangle_t(
                        x: Int16(left + 10 * letter), y: Int16(y + 3), width: UInt16(1 + number >> 8 % 8),
                        height: UInt16(1 + number >> 12 % 12))
                }
                pen.fill(x: left, y: y, width: width, height: step, colour: 0xf4f0e8)
                pen.fill(letters, colour: UInt32(number >> 4 & 0x3f_3f_3f))
            }
            for y in stride(from: top, to: top + height - step, by: step) { line(y) }
            #expect(try eventually(timeout: 30) { try pair.isEqual })
            let before = pair.viewer.events("stats").count
            func exactSeconds() -> Int {
                pair.viewer.events("stats").dropFirst(before).count { $0.number("exact") ?? 0 > 0.9 }
            }
            let begin = ContinuousClock.now
            // The video alone leaves only the quarter around the lines exact. Shorter than the programs' time limit;
            // all events are read each time, so not after each line.
            while exactSeconds() < 1, begin.duration(to: .now) < .seconds(30) {
                for _ in 0..<30 {
                    pen.scroll(x: left, y: top, width: width, height: height, by: step)
                    line(top + height - step)
                    pause(seconds: 0.03)
                }
            }
            let shares = pair.viewer.events("stats").dropFirst(before).compactMap { $0.number("exact") }
            #expect(exactSeconds() >= 1, "\(shares)")
            let isEqual = try eventually(timeout: 30) { try pair.isEqual }
            let difference = isEqual ? "" : try pair.difference
            let figures = pair.viewer.events("stats").last.map { "\($0)" } ?? ""
            #expect(isEqual, "\(difference), \(figures)")
        }

        /// Without patches the video is as near as it gets.
        @Test func videoAloneIsNotEqual() throws {
            let pair = try Pair(["--no-exact"])
            defer { pair.end() }
            let painter = try Painter(pair.screen.display, framesPerSecond: 0)
            let pen = try Pen(pair.screen.display)
            // Coloured pixels side by side: 4:2:0 has one colour for both.
            for x in 0..<100 {
                pen.fill(x: 2 * x, y: 40, width: 1, height: 40, colour: x % 2 == 0 ? 0xff0000 : 0x0000ff)
            }
            #expect(!eventually(timeout: 3) { (try? pair.isEqual) == true })
            #expect(pair.viewer.events("stats").allSatisfy { $0.number("exact") == nil })
            #expect(painter.painted == 1)
        }
    }
}

extension Screenshot {
    func isEqual(to other: Screenshot) -> Bool {
        guard width == other.width, height == other.height else { return false }
        return bytes.withUnsafeBytes { own in
            other.bytes.withUnsafeBytes { theirs in
                let (own, theirs) = (own.bindMemory(to: UInt32.self), theirs.bindMemory(to: UInt32.self))
                var index = 0
                // A loop, because a closure for each pixel takes a second in builds without optimisation.
                while index < own.count {
                    if (own[index] ^ theirs[index]) & 0xff_ffff != 0 { return false }
                    index += 1
                }
                return true
            }
        }
    }
}

/// Fills rectangles of the topmost window of a screen.
final class Pen {
    private let connection: XConnection
    private let window: xcb_window_t
    private let context: xcb_gcontext_t

    init(_ display: String) throws {
        connection = try XConnection(display)
        window = connection.visibleWindows().last?.id ?? connection.screen.root
        context = xcb_generate_id(connection.raw)
        xcb_create_gc(connection.raw, context, window, 0, nil)
    }

    func fill(x: Int, y: Int, width: Int, height: Int, colour: UInt32) {
        fill(
            [xcb_rectangle_t(x: Int16(x), y: Int16(y), width: UInt16(width), height: UInt16(height))], colour: colour)
    }

    func fill(_ rects: [xcb_rectangle_t], colour: UInt32) {
        var values = [colour]
        xcb_change_gc(connection.raw, context, XCB_GC_FOREGROUND.rawValue, &values)
        xcb_poly_fill_rectangle(connection.raw, window, context, UInt32(rects.count), rects)
        connection.synchronise()
    }

    /// Moves what is in a rectangle up; the lowest rows of it stay as they are.
    func scroll(x: Int, y: Int, width: Int, height: Int, by step: Int) {
        xcb_copy_area(
            connection.raw, window, window, context, Int16(x), Int16(y + step), Int16(x), Int16(y), UInt16(width),
            UInt16(height - step))
        connection.synchronise()
    }
}
