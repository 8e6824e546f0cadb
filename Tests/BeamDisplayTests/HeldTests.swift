import BeamMedia
import Testing

@testable import BeamDisplay

extension WindowTests {
    /// A held picture, and notices.
    @Suite(.serialized) @MainActor struct Held {
        static let paused = WindowMessage(headline: "desk has paused")

        @Test("A held picture has no colours and is darker, in both renderers alike", arguments: [1, 2, 3])
        func grey(divisor: Int) throws {
            var shown: [PixelBuffer] = []
            for renderer in [RendererChoice.software, .opengl] {
                // At its own size, magnified, and scaled.
                let size = PixelSize(width: 1280 / divisor, height: 720 / divisor)
                let window = try WindowTests.open(renderer, fullscreen: true)
                window.show(TestPictures.bars(size))
                WindowTests.settle(window)
                let bright = try #require(window.readBack())
                window.setHeld(Self.paused)
                let held = try #require(window.readBack())
                WindowTests.keep(window, as: "held-\(divisor)-\(renderer.rawValue)")
                for x in stride(from: 80, to: 1280, by: 160) {
                    let (rgb, old) = (held.rgb(x, 100), bright.rgb(x, 100))
                    #expect((rgb.max() ?? 0) - (rgb.min() ?? 0) <= 1, "\(x)")
                    #expect(rgb[0] <= (old.max() ?? 0) / 2 + 1)
                    let luma = 0.2126 * Double(old[0]) + 0.7152 * Double(old[1]) + 0.0722 * Double(old[2])
                    #expect(abs(Double(rgb[0]) - luma * (1 - Theme.dimming)) <= 2, "\(x)")
                }
                // The words are in the middle.
                #expect((0..<1280).contains { held.rgb($0, 360)[0] > 200 })
                // A picture that comes meanwhile is grey, too, and so is a part.
                var next = TestPictures.bars(size)
                next.damage = DamageRegion(PixelRect(x: 0, y: 0, width: size.width / 2, height: 16))
                window.show(next)
                #expect(window.readBack()?.differingPixels(from: held) == 0)
                shown.append(held)
                window.setHeld(nil)
                #expect(window.readBack()?.differingPixels(from: bright) == 0)
            }
            #expect(try #require(shown[0].largestDifference(shown[1])) <= 3 || divisor == 3)
        }

        @Test("A message takes the place of the words, and the picture stays grey")
        func message() throws {
            let window = try WindowTests.open()
            window.show(TestPictures.bars(PixelSize(width: 640, height: 360)))
            window.setHeld(Self.paused)
            let held = try #require(window.readBack())
            window.setMessage(WindowMessage(headline: "Reconnecting… the connection was lost"))
            let both = try #require(window.readBack())
            #expect(both.differingPixels(from: held) > 500)
            #expect(both.rgb(200, 20) == held.rgb(200, 20))
            window.setMessage(nil)
            #expect(window.readBack()?.differingPixels(from: held) == 0)
        }

        @Test("A notice covers little, leaves the picture as it is, and goes", arguments: Captions.renderers)
        func notice(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer)
            window.show(TestPictures.bars(PixelSize(width: 960, height: 540)))
            window.setCaptions([Captions.said])
            WindowTests.settle(window)
            let bare = try #require(window.readBack())
            window.setNotice(
                WindowNotice(text: "desk's battery is at 14 %", isWarning: true, time: .milliseconds(600)))
            let shown = try #require(window.readBack())
            WindowTests.keep(window, as: "notice-\(renderer.rawValue)")
            #expect((1000..<30_000).contains(shown.differingPixels(from: bare)))
            #expect(shown.rgb(200, 270) == bare.rgb(200, 270))
            #expect(WindowTests.wait(window) { _ in window.readBack()?.differingPixels(from: bare) == 0 })
            // The same again changes nothing, another one does.
            window.setNotice(
                WindowNotice(text: "desk's battery is at 14 %", isWarning: true, time: .milliseconds(600)))
            #expect(window.readBack()?.differingPixels(from: bare) == 0)
            window.setNotice(WindowNotice(text: "The connection is unstable", time: nil))
            #expect((window.readBack()?.differingPixels(from: bare) ?? 0) > 1000)
            window.setNotice(nil)
            #expect(window.readBack()?.differingPixels(from: bare) == 0)
        }
    }
}
