import BeamMedia
import Testing

@testable import BeamCapture

@Suite struct OutputTurnTests {
    private static let raw = PixelSize(width: 7, height: 4)

    @Test(arguments: Int32(0)..<8) func rectanglesAreTurnedThereAndBack(transform: Int32) {
        let turn = OutputTurn(transform: transform)
        let upright = turn.upright(Self.raw)
        #expect(upright == (transform % 2 == 1 ? PixelSize(width: 4, height: 7) : Self.raw))
        var places: Set<PixelRect> = []
        for y in 0..<Self.raw.height {
            for x in 0..<Self.raw.width {
                let pixel = PixelRect(x: x, y: y, width: 1, height: 1)
                let shown = turn.upright(pixel, of: Self.raw)
                #expect(PixelRect(upright).contains(shown))
                #expect(turn.raw(shown, of: Self.raw) == pixel)
                places.insert(shown)
            }
        }
        #expect(places.count == Self.raw.area)
        let rect = PixelRect(x: 1, y: 2, width: 5, height: 1)
        #expect(turn.raw(turn.upright(rect, of: Self.raw), of: Self.raw) == rect)
    }

    /// A picture of 3 × 2 with a stride of 16 bytes, as it is stored; the numbers are those of the upright picture's pixels,
    /// row by row.
    @Test(
        arguments: [
            (0, [0, 1, 2, 3, 4, 5]), (1, [1, 3, 5, 0, 2, 4]), (2, [5, 4, 3, 2, 1, 0]), (3, [4, 2, 0, 5, 3, 1]),
            (4, [2, 1, 0, 5, 4, 3]), (5, [0, 2, 4, 1, 3, 5]), (6, [3, 4, 5, 0, 1, 2]), (7, [5, 3, 1, 4, 2, 0]),
        ] as [(Int32, [Int])])
    func turnedPicturesAreReadUpright(transform: Int32, stored: [Int]) {
        let (turn, size) = (OutputTurn(transform: transform), PixelSize(width: 3, height: 2))
        let memory = HeapMemory(byteCount: 32)
        let walk = turn.walk(Plane(base: memory.base, stride: 16), size)
        let width = turn.upright(size).width
        let read = (0..<6).map { number in
            let offset =
                walk.first - UnsafeRawPointer(memory.base) + number % width * walk.right + number / width * walk.down
            return stored[offset / 16 * 3 + offset % 16 / 4]
        }
        #expect(read == Array(0..<6))
    }

    @Test func valuesThatTheProtocolDoesNotKnowCountAsUpright() {
        for transform in [-1, 8, Int32.max, Int32.min] { #expect(OutputTurn(transform: transform) == .none) }
        #expect(
            Set(
                (0..<8).map {
                    OutputTurn(transform: $0).upright(PixelRect(x: 0, y: 0, width: 2, height: 1), of: Self.raw)
                }
            ).count == 8)
    }
}

@Suite struct OutputListTests {
    private func output(_ id: UInt32, _ name: String, width: Int = 100) -> WaylandOutput {
        WaylandOutput(
            id: id, name: name, size: PixelSize(width: width, height: 50), turn: .none,
            refreshRate: nil)
    }

    @Test func outputsAreChosenByNameOrNumber() throws {
        var list = OutputList()
        #expect(throws: CaptureError.severalMonitors([])) { try list.choose(nil) }
        list.update(output(9, "HDMI-A-1"))
        #expect(try list.choose(nil).name == "HDMI-A-1")
        list.update(output(3, "DP-1"))
        // One that is off has no mode.
        list.update(output(4, "DP-2", width: 0))
        // One that has changed keeps its number.
        list.update(output(9, "HDMI-A-1", width: 90))
        #expect(try list.choose("0").name == "HDMI-A-1")
        #expect(try list.choose("1").name == "DP-1")
        #expect(try list.choose("HDMI-A-1").id == 9)
        let all = ["0: HDMI-A-1 (90x50)", "1: DP-1 (100x50)"]
        #expect(throws: CaptureError.severalMonitors(all)) { try list.choose(nil) }
        for wanted in ["2", "-1", "DP-2", ""] {
            #expect(throws: CaptureError.noSuchMonitor(wanted, available: all)) { try list.choose(wanted) }
        }
        list.remove(3)
        #expect(list.descriptions == ["0: HDMI-A-1 (90x50)"])
    }
}

/// Frames as a compositor writes them, turned, with red and blue exchanged, upside down, and cut.
@Suite struct ScreenReaderTests {
    private static let raw = PixelSize(width: 150, height: 70)

    /// The raw frame that shows `canvas`, which has the whole output upright.
    private func frame(_ canvas: X11Canvas, _ turn: OutputTurn, isSwapped: Bool) -> [UInt32] {
        var pixels = [UInt32](repeating: 0, count: Self.raw.area)
        for y in 0..<Self.raw.height {
            for x in 0..<Self.raw.width {
                let shown = turn.upright(PixelRect(x: x, y: y, width: 1, height: 1), of: Self.raw)
                let colour = canvas[shown.x, shown.y]
                pixels[y * Self.raw.width + x] =
                    isSwapped ? colour & 0xff00 | colour >> 16 & 0xff | (colour & 0xff) << 16 : colour | 0xab00_0000
            }
        }
        return pixels
    }

    private func read(
        _ reader: inout ScreenReader, _ pixels: [UInt32], isUpsideDown: Bool, hint: DamageRegion?,
        isWanted: Bool = false
    ) -> (canvas: X11Canvas, damage: DamageRegion)? {
        let row = Self.raw.width * 4
        return pixels.withUnsafeBytes { bytes in
            let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 4)
            defer { memory.deallocate() }
            for y in 0..<Self.raw.height {
                let place = isUpsideDown ? Self.raw.height - 1 - y : y
                (memory + place * row).copyMemory(from: bytes.baseAddress! + y * row, byteCount: row)
            }
            let plane =
                isUpsideDown
                ? Plane(base: memory + (Self.raw.height - 1) * row, stride: -row) : Plane(base: memory, stride: row)
            guard let frame = reader.frames.takeFree(allocate: { HeapMemory(byteCount: $0) }) else { return nil }
            let damage = reader.read(plane, within: hint, into: frame, isWanted: isWanted)
            guard isWanted || !damage.isEmpty, let control = CaptureControl() else { return nil }
            return (X11Canvas(Picture(buffer: frame.lend(control), time: .zero)), damage)
        }
    }

    @Test(arguments: Int32(0)..<8) func picturesAreWhatAPersonSees(transform: Int32) throws {
        let turn = OutputTurn(transform: transform)
        let size = turn.upright(Self.raw)
        var random = SystemRandomNumberGenerator()
        for (isSwapped, isUpsideDown) in [(false, false), (true, false), (false, true)] {
            for part in [PixelRect(size), PixelRect(x: 13, y: 5, width: 33, height: 60)] {
                var reader = ScreenReader(
                    .init(size: Self.raw, turn: turn, part: part, isSwapped: isSwapped))
                // All four corners look different.
                var canvas = X11Canvas(size, 0x10_20_30)
                canvas.fill(PixelRect(x: 0, y: 0, width: 40, height: 20), 0x11_22_33)
                canvas.fill(PixelRect(x: 20, y: 30, width: 7, height: 40), 0x99_00_77)
                let first = read(
                    &reader, frame(canvas, turn, isSwapped: isSwapped), isUpsideDown: isUpsideDown, hint: DamageRegion()
                )
                #expect(first?.canvas == canvas.cut(part))
                #expect(first?.damage == DamageRegion(PixelRect(part.size)))
                for round in 0..<10 {
                    let rect = PixelRect(
                        x: Int.random(in: 0..<size.width, using: &random),
                        y: Int.random(in: 0..<size.height, using: &random),
                        width: 1 + round * 3, height: 1 + round
                    ).intersection(PixelRect(size))
                    let before = canvas
                    canvas.fill(rect, UInt32.random(in: 0...0xff_ffff, using: &random))
                    let hint = round % 2 == 0 ? nil : DamageRegion(turn.raw(rect, of: Self.raw))
                    let isWanted = round % 3 == 0
                    let next = read(
                        &reader, frame(canvas, turn, isSwapped: isSwapped), isUpsideDown: isUpsideDown, hint: hint,
                        isWanted: isWanted)
                    if before.cut(part) == canvas.cut(part) {
                        #expect((next == nil) == !isWanted)
                        #expect(next?.damage.isEmpty != false)
                    } else {
                        let changed = rect.intersection(part).moved(by: -part.x, -part.y)
                        #expect(next?.damage.rects.contains { $0.contains(changed) } == true)
                    }
                    if let next { #expect(next.canvas == canvas.cut(part)) }
                }
            }
        }
    }

    /// A buffer that was away for some pictures is behind; all it has missed is caught up with.
    @Test(arguments: [Int32(0), 3]) func everyBufferIsBroughtUpToDate(transform: Int32) throws {
        let turn = OutputTurn(transform: transform)
        let size = turn.upright(Self.raw)
        var reader = ScreenReader(.init(size: Self.raw, turn: turn, part: PixelRect(size), isSwapped: false))
        let control = try #require(CaptureControl())
        var canvas = X11Canvas(size, 0)
        var held: [Picture] = []
        for round in 0..<40 {
            canvas.fill(
                PixelRect(x: round * 3 % 60, y: round * 7 % 60, width: 5, height: 5), UInt32(round + 1) * 0x01_03_05)
            var pixels = frame(canvas, turn, isSwapped: false)
            let frame = try #require(reader.frames.takeFree { HeapMemory(byteCount: $0) })
            pixels.withUnsafeMutableBytes { bytes in
                let plane = Plane(base: bytes.baseAddress!, stride: Self.raw.width * 4)
                _ = reader.read(plane, within: nil, into: frame, isWanted: false)
            }
            let picture = Picture(buffer: frame.lend(control), time: .zero)
            #expect(X11Canvas(picture) == canvas, "round \(round)")
            held.append(picture)
            if held.count == FrameStore.limit - 1 { held.remove(at: round % held.count) }
        }
    }
}
