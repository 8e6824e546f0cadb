import BeamClock
import BeamMedia
import CXCB
import Foundation
import Testing

@testable import BeamCapture

extension X11Tests {
    @Suite struct Waiting {
        /// An event that came with a reply has left the socket, which doesn't wake for it any more.
        @Test func anEventThatCameWithAReplyIsNotSleptOver() throws {
            let scene = try X11Scene()
            let control = try X11Source.makeControl()
            let connection = try XConnection(display: scene.server.display, control: control)
            xcb_change_window_attributes(
                connection.raw, connection.root, XCB_CW_EVENT_MASK.rawValue, [XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue])
            _ = try connection.screenSize()
            scene.painter.set("_NET_CURRENT_DESKTOP", [1], of: scene.painter.root)
            _ = try connection.screenSize()

            let deadline = MediaTime.now + .seconds(20)
            connection.wait(until: deadline)
            #expect(MediaTime.now < deadline)
            // Waiting again loses nothing, either.
            connection.wait(until: deadline)
            #expect(MediaTime.now < deadline)
            guard case .propertyChanged(connection.root, _) = connection.nextEvent(isRead: true) else {
                Issue.record("the event is lost")
                return
            }
            #expect(connection.nextEvent() == nil)
        }
    }

    /// Servers that lack optional extensions.
    @Suite struct LesserServers {
        @Test(arguments: [
            (["MIT-SHM"], "through the connection"), (["DAMAGE"], "doesn't report changes"),
            (["XFIXES"], "doesn't report changes"),
            (["MIT-SHM", "DAMAGE", "XFIXES", "COMPOSITE", "RANDR"], "it has no"),
        ])
        func capturingWorksWithoutOptionalExtensions(without: [String], warning: String) throws {
            var scene = try X11Scene(without: without)
            let source = try X11Source(scene.options())
            #expect(source.info.warnings.contains { $0.contains(warning) })
            let recording = X11Recording(source)
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas))
            for rect in [
                PixelRect(x: 100, y: 50, width: 20, height: 10), PixelRect(x: 0, y: 200, width: 640, height: 3),
                PixelRect(x: 600, y: 0, width: 40, height: 480),
            ] {
                let before = recording.shots.count
                scene.paint(rect, UInt32.random(in: 0...0xff_ffff))
                #expect(recording.wait(for: scene.canvas))
                #expect(recording.shots.count == before + 1)
                #expect(recording.shots.last?.damage.rects.reduce(rect) { $0.union($1) } == rect)
            }
            // A still screen delivers nothing, even if the server has to be polled.
            let count = recording.shots.count
            Thread.sleep(forTimeInterval: 0.5)
            #expect(recording.shots.count == count)
        }

        @Test(arguments: [["GLX"], ["MIT-SHM"], ["DAMAGE"]])
        func sixteenBitsAPixel(without: [String]) throws {
            var scene = try X11Scene(depth: 16, without: without)
            let recording = X11Recording(try X11Source(scene.options()))
            defer { recording.stop() }
            // 5, 6 and 5 bits; the odd width makes rows padded.
            let rect = PixelRect(x: 101, y: 51, width: 33, height: 7)
            scene.painter.fill(
                [(PixelRect(scene.canvas.size), 0b10000_010000_00001), (rect, 0b11111_000000_11110)])
            scene.canvas.fill(PixelRect(scene.canvas.size), 0x84_41_08)
            scene.canvas.fill(rect, 0xff_00_f7)
            #expect(recording.wait(for: scene.canvas))
        }

        @Test func indexedPixelsAreRefusedWithAReason() throws {
            let server = try X11TestServer(depth: 8)
            let error = #expect(throws: CaptureError.self) { try X11Source(X11Options(display: server.display)) }
            #expect(error?.description.contains("8-bit indices") == true)
        }
    }

    @Suite struct Failures {
        @Test(arguments: [true, false])
        func aServerThatGoesAwayEndsTheCapture(isActive: Bool) throws {
            let scene = try X11Scene()
            let recording = X11Recording(try X11Source(scene.options(cursor: true)), isActive: isActive)
            defer { recording.stop() }
            #expect(!isActive || recording.wait { !$0.isEmpty })
            scene.server.kill()
            #expect(recording.waitForEnd() == .serverGone(display: scene.server.display))
        }

        /// A viewer that changes layers may pause the capture for microseconds. The encoder has dropped its picture by then.
        @Test func afterAPauseOfNoLengthTheWholePictureComesAgain() throws {
            let scene = try X11Scene()
            let recording = X11Recording(try X11Source(scene.options()))
            defer { recording.stop() }
            for count in 1...100 {
                try #require(recording.wait { $0.count == count }, "pause \(count)")
                #expect(recording.shots.last?.damage == DamageRegion(PixelRect(scene.canvas.size)))
                recording.source.setActive(false)
                recording.source.setActive(true)
            }
        }

        @Test func aServerThatHangsDoesntKeepTheCaptureFromStopping() throws {
            let scene = try X11Scene()
            let recording = X11Recording(try X11Source(scene.options()), isActive: false)
            kill(scene.server.pid, SIGSTOP)
            defer { kill(scene.server.pid, SIGCONT) }
            recording.source.setActive(true)
            recording.settle()
            #expect(recording.stop() == nil)
        }

        @Test func displaysThatCantBeOpened() {
            let missing = #expect(throws: CaptureError.self) { try X11Source(X11Options(display: ":4242")) }
            #expect(missing?.description.contains(":4242") == true)
            #expect(missing?.description.contains("--display") == true)
            let nonsense = #expect(throws: CaptureError.self) { try X11Source(X11Options(display: "nonsense")) }
            #expect(nonsense?.description.contains("--display") == true)
            #expect(throws: CaptureError.self) { try X11Source.monitors(display: ":4242") }
        }
    }
}
