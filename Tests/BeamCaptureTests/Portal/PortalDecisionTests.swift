import BeamBus
import BeamMedia
import CBeamPortal
import Testing

@testable import BeamCapture

/// What is decided about a portal's answers and a stream's buffers, without a desktop.
struct PortalDecisionTests {
    @Test(
        arguments: [
            (7, true, .metadata, nil), (3, true, .embedded, nil), (1, true, .hidden, "isn't shared"),
            (0, true, nil, nil),
            (7, false, .hidden, nil), (6, false, .metadata, nil), (2, false, nil, "no effect"),
        ] as [(UInt32, Bool, PortalOffer.Cursors?, String?)])
    func theCursorIsAskedForAsFarAsItIsOffered(
        offered: UInt32, isWanted: Bool, mode: PortalOffer.Cursors?, warning: String?
    ) throws {
        let offer = PortalOffer(version: 4, sources: .monitor, cursors: .init(rawValue: offered))
        let selection = try PortalSelection(.any, drawsCursor: isWanted, of: offer)
        #expect(selection.cursor == mode)
        let said = selection.cursorWarning(drawsCursor: isWanted)
        if let warning { #expect(said?.contains(warning) == true) } else { #expect(said == nil) }
    }

    @Test func answersAreReadWithinBounds() {
        #expect(PortalAnswer([.unsigned(0), .entries(["a": .text("b")])]) == .granted(["a": .text("b")]))
        #expect(PortalAnswer([.unsigned(0)]) == .granted([:]))
        #expect(PortalAnswer([.unsigned(1), .entries([:])]) == .declined)
        #expect(PortalAnswer([.unsigned(2), .entries([:])]) == .failed)
        #expect(PortalAnswer([]) == .failed)

        func streams(_ values: [BusValue]) -> [PortalStream] {
            PortalStream.all(in: ["streams": .list(values)], asked: [.monitor, .window])
        }
        func properties(_ values: [String: BusValue]) -> PortalStream? {
            streams([.list([.unsigned(1), .entries(values)])]).first
        }
        #expect(streams([.list([.unsigned(1 << 32), .entries([:])]), .list([]), .text("x")]).isEmpty)
        #expect(streams([.list([.unsigned(5)])]) == [PortalStream(node: 5)])
        #expect(streams(Array(repeating: .list([.unsigned(5)]), count: 100)).count == PortalStream.limit)
        #expect(properties(["size": .list([.integer(0), .integer(-1)])])?.size == nil)
        #expect(properties(["position": .list([.integer(1 << 40), .integer(0)])])?.position == nil)
        #expect(properties(["source_type": .unsigned(9)])?.kind == nil)
    }

    /// wlroots' portal calls a monitor a window.
    @Test func aKindThatWasNotAskedForIsNotBelieved() {
        let answer: [String: BusValue] = [
            "streams": .list([.list([.unsigned(1), .entries(["source_type": .unsigned(2)])])])
        ]
        #expect(PortalStream.all(in: answer, asked: .monitor).first?.kind == .monitor)
        #expect(PortalStream.all(in: answer, asked: [.monitor, .window]).first?.kind == .window)
    }

    @Test func aPauseThatLastsIsTheEnd() {
        var life = StreamLife()
        func state(_ phase: StreamState.Phase) -> StreamState { StreamState(phase: phase) }
        let begin = MediaTime.zero + .seconds(100)
        // Paused before it has streamed: it waits for its source.
        #expect(life.hear(state(.connecting), now: begin) == nil)
        #expect(life.hear(state(.paused), now: begin) == nil)
        #expect(life.hear(state(.paused), now: begin + .seconds(60)) == nil)
        #expect(life.deadline == nil)
        #expect(life.hear(state(.streaming), now: begin + .seconds(61)) == nil)
        // A change of size.
        #expect(life.hear(state(.paused), now: begin + .seconds(70)) == nil)
        #expect(life.deadline == begin + .seconds(72))
        #expect(life.hear(state(.streaming), now: begin + .seconds(70) + .milliseconds(900)) == nil)
        #expect(life.deadline == nil)
        // The end.
        #expect(life.hear(state(.paused), now: begin + .seconds(80)) == nil)
        #expect(life.hear(state(.paused), now: begin + .seconds(82)) == .paused)
        var gone = state(.streaming)
        gone.isSourceGone = true
        #expect(life.hear(gone, now: begin) == .sourceGone)
        #expect(life.hear(StreamState(phase: .failed, reason: "why"), now: begin) == .failed("why"))
    }

    @Test func onlyBuffersThatHoldAPictureAreRead() {
        let size = PixelSize(width: 10, height: 4)
        func read(
            stride: Int = 48, length: Int = 3 * 48 + 40, chunk: Int = 1, isCorrupted: Bool = false,
            crop: PixelRect? = nil, size: PixelSize = size
        ) -> StreamPicture {
            StreamPicture(
                size: size, stride: stride, length: length, chunk: chunk, isCorrupted: isCorrupted, crop: crop)
        }
        #expect(read() == .picture(PixelRect(size), offset: 0))
        #expect(read(length: 3 * 48 + 39) == .none)
        #expect(read(stride: 39) == .none)
        #expect(read(stride: -48) == .none)
        #expect(read(stride: .max) == .none)
        #expect(read(chunk: 0) == .none)
        #expect(read(isCorrupted: true) == .none)
        #expect(read(size: PixelSize(width: 0, height: 0)) == .none)
        let part = PixelRect(x: 2, y: 1, width: 5, height: 2)
        #expect(read(length: 2 * 48 + 28, crop: part) == .picture(part, offset: 48 + 8))
        #expect(read(length: 2 * 48 + 27, crop: part) == .none)
        #expect(
            read(crop: PixelRect(x: -3, y: 3, width: 5, height: 9))
                == .picture(
                    PixelRect(x: 0, y: 3, width: 2, height: 1), offset: 144))
        #expect(read(crop: PixelRect(x: 20, y: 0, width: 5, height: 2)) == .none)
    }

    @Test func partsStandAsInTheDesktop() throws {
        func part(_ x: Int, _ y: Int, _ size: PixelSize?, logical: PixelSize? = nil) -> PortalLayout.Part {
            PortalLayout.Part(position: .init(x: x, y: y), logical: logical ?? size, size: size)
        }
        let small = PixelSize(width: 100, height: 50)
        let large = PixelSize(width: 200, height: 80)
        #expect(PortalLayout([part(0, 0, nil)], region: nil) == nil)

        let one = try #require(PortalLayout([part(500, 70, small)], region: nil))
        #expect(one.size == small)
        #expect(one.places == [PixelRect(small)])

        let two = try #require(PortalLayout([part(-100, 20, small), part(0, 0, large)], region: nil))
        #expect(two.size == PixelSize(width: 300, height: 80))
        #expect(
            two.places == [
                PixelRect(x: 0, y: 20, width: 100, height: 50), PixelRect(x: 100, y: 0, width: 200, height: 80),
            ])

        // The right one is scaled: its position isn't in pixels.
        let scaled = try #require(
            PortalLayout(
                [part(50, 0, large, logical: PixelSize(width: 100, height: 40)), part(0, 0, small)], region: nil))
        #expect(scaled.size == PixelSize(width: 300, height: 80))
        #expect(scaled.places.map(\.x) == [100, 0])
    }

    @Test func aRegionIsCut() throws {
        let part = PortalLayout.Part(position: nil, logical: nil, size: PixelSize(width: 100, height: 50))
        let region = PixelRect(x: 10, y: 20, width: 30, height: 30)
        let cut = try #require(PortalLayout([part], region: region))
        #expect(cut.size == region.size)
        #expect(cut.places == [PixelRect(x: -10, y: -20, width: 100, height: 50)])
        #expect(!cut.isRegionOutside)
        let outside = try #require(PortalLayout([part], region: PixelRect(x: 90, y: 0, width: 11, height: 1)))
        #expect(outside.isRegionOutside)
    }

    @Test func thePointersImageComesOnce() throws {
        var pointer = PortalPointer()
        var buffer = beam_buffer()
        let whole = PixelRect(x: 0, y: 0, width: 100, height: 100)
        pointer.read(buffer)
        #expect(pointer.appearance(in: whole) == nil)
        // 1 × 2 pixels with a stride of 8 bytes, red and half transparent green.
        let pixels: [UInt8] = [0xff, 0, 0, 0xff, 9, 9, 9, 9, 0, 0x80, 0, 0x80]
        pixels.withUnsafeBufferPointer { pixels in
            buffer.has_cursor = 1
            buffer.cursor_id = 1
            (buffer.cursor_x, buffer.cursor_y, buffer.hotspot_x, buffer.hotspot_y) = (40, 30, 1, 2)
            buffer.has_cursor_image = 1
            buffer.cursor_order = beam_pixels_rgbx
            (buffer.cursor_width, buffer.cursor_height, buffer.cursor_stride) = (1, 2, 8)
            buffer.cursor_pixels = pixels.baseAddress
            pointer.read(buffer)
        }
        #expect(pointer.image?.pixels == [0xffff_0000, 0x8000_8000])
        let first = try #require(pointer.appearance(in: whole))
        #expect(first.frame == PixelRect(x: 39, y: 28, width: 1, height: 2))
        // What viewers are told who draw it: where it points.
        let look = try #require(
            PointerLook(
                size: PixelSize(width: 1, height: 2), hotspot: PixelPoint(x: 1, y: 2),
                pixels: [0xffff_0000, 0x8000_8000]))
        let size = PixelSize(width: 200, height: 150)
        #expect(
            pointer.told(at: first.frame.moved(by: 10, 20), in: size)
                == .shown(look, at: PixelPoint(x: 50, y: 50), in: size))
        // It moves, without an image.
        buffer.has_cursor_image = 0
        buffer.cursor_x = 50
        pointer.read(buffer)
        #expect(pointer.appearance(in: whole) == .init(frame: first.frame.moved(by: 10, 0), image: first.image))
        // Its tip is outside of the part that counts.
        #expect(pointer.appearance(in: PixelRect(x: 0, y: 0, width: 50, height: 50)) == nil)
        #expect(
            pointer.appearance(in: PixelRect(x: 50, y: 30, width: 1, height: 1))?.frame
                == PixelRect(x: -1, y: -2, width: 1, height: 2))
        // A program has hidden it.
        buffer.has_cursor_image = 1
        buffer.cursor_pixels = nil
        pointer.read(buffer)
        #expect(pointer.appearance(in: whole) == nil)
        #expect(pointer.told(at: first.frame, in: size) == nil)
        // A hotspot out of all bounds.
        var far = buffer
        far.hotspot_x = .min
        far.cursor_x = .max
        pointer.read(far)
        far.cursor_id = 0
        pointer.read(far)
        #expect(pointer.appearance(in: whole) == nil)
    }

    /// On a monitor that is mounted otherwise the pointer is where it was, and upright.
    @Test(arguments: Int32(0)..<8) func thePointerIsTurnedWithThePicture(transform: Int32) throws {
        let turn = OutputTurn(transform: transform)
        var pointer = PortalPointer()
        pointer.setTurn(turn)
        // 2 × 3 pixels, its tip in the second row.
        let pixels: [UInt32] = [1, 2, 3, 4, 5, 6].map { 0xff00_0000 | $0 }
        var buffer = beam_buffer()
        pixels.withUnsafeBytes { bytes in
            buffer.has_cursor = 1
            buffer.cursor_id = 1
            (buffer.cursor_x, buffer.cursor_y, buffer.hotspot_x, buffer.hotspot_y) = (40, 30, 0, 1)
            buffer.has_cursor_image = 1
            buffer.cursor_order = beam_pixels_bgrx
            (buffer.cursor_width, buffer.cursor_height, buffer.cursor_stride) = (2, 3, 8)
            buffer.cursor_pixels = bytes.bindMemory(to: UInt8.self).baseAddress
            pointer.read(buffer)
        }
        let part = PixelRect(x: 10, y: 20, width: 60, height: 30)
        let image = try #require(pointer.image)
        let appearance = try #require(pointer.appearance(in: part))
        #expect(image.size == appearance.frame.size)
        // Each pixel is where the same pixel of the picture is.
        for (index, pixel) in pixels.enumerated() {
            let raw = PixelRect(x: 30 + index % 2, y: 9 + index / 2, width: 1, height: 1)
            let shown = turn.upright(raw, of: part.size).moved(by: -appearance.frame.x, -appearance.frame.y)
            try #require(PixelRect(image.size).contains(shown))
            #expect(image.pixels[shown.y * image.size.width + shown.x] == pixel)
            if index == 2 { #expect([image.hotspot.x, image.hotspot.y] == [shown.x, shown.y]) }
        }
        // Turned back, it is drawn anew, also where its frame is the same.
        pointer.setTurn(.none)
        #expect(pointer.image?.pixels == pixels)
        #expect((pointer.appearance(in: part)?.image == appearance.image) == (turn == .none))
    }

    /// Each says what to install or do.
    @Test(
        arguments: [
            (.noLibrary(name: "PipeWire", package: "libpipewire-0.3-0", reason: "gone"), "libpipewire-0.3-0"),
            (.noSessionBus(reason: "gone"), "DBUS_SESSION_BUS_ADDRESS"),
            (.noPortal(desktop: "GNOME"), "Install xdg-desktop-portal and xdg-desktop-portal-gnome"),
            (.noPortal(desktop: "ubuntu:GNOME"), "xdg-desktop-portal-gnome"),
            (.noBackend(desktop: "sway"), "Install xdg-desktop-portal-wlr"),
            (.noBackend(desktop: "KDE"), "Install xdg-desktop-portal-kde"),
            (.noBackend(desktop: nil), "XDG_CURRENT_DESKTOP is not set"),
            (.noBackend(desktop: "Other"), "portals.conf"),
            (.notOffered(.window, offersWindows: false), "--choose monitor"),
            (.notOffered(.monitor, offersWindows: true), "--choose window"),
            (.failed(call: "Start", desktop: "sway"), "slurp"), (.failed(call: "Start", desktop: "KDE"), "restart"),
            (.portalGone(call: "Start"), "Share again"), (.noAnswer(call: "Start", seconds: 10), "10 s"),
            (.noPipeWire(reason: "gone"), "systemctl"),
        ] as [(PortalTrouble, String)])
    func eachTroubleSaysWhatToDo(trouble: PortalTrouble, hint: String) {
        #expect(trouble.description.contains(hint), "\(trouble)")
        #expect(trouble.description.hasSuffix("."))
    }
}
