import BeamMedia
import CSDL2
import Foundation
import Testing

@testable import BeamDisplay

extension WindowTests {
    @Suite(.serialized) @MainActor struct Life {
        @Test func softwareIsChosenWithoutAGraphicsProcessor() throws {
            let window = try WindowTests.open(.automatic)
            let isLikely = GraphicsHardware.isLikely(driver: "x11", display: ":0")
            #expect(isLikely || window.rendererName == "software")
        }

        @Test(arguments: VerticalSync.allCases) func emulatedOpenGLIsUsedWhenRequested(sync: VerticalSync) throws {
            let window = try VideoWindow(
                WindowOptions(renderer: .opengl, verticalSync: sync, display: TestDisplay.shared.get().name))
            #expect(window.rendererName.hasPrefix("OpenGL ("))
            for y in [100, 200] as [UInt8] {
                window.show(TestPictures.plain(PixelSize(width: 320, height: 180), y: y))
                WindowTests.settle(window)
            }
            #expect(try #require(window.readBack()).rgb(160, 90)[1] > 200)
        }

        @Test func theFirstPictureGivesTheWindowItsSize() throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open()
            #expect(display.windows().first.map { [$0.width, $0.height] } == [960, 540])
            window.show(TestPictures.plain(PixelSize(width: 400, height: 300), y: 100))
            WindowTests.settle(window)
            #expect(display.windows().first.map { [$0.width, $0.height] } == [400, 300])
            // Still in the middle of the screen.
            #expect(display.windows().first.map { [$0.x, $0.y] } == [440, 210])
            // At most 90 % of the screen: 648 of 720 rows.
            window.show(TestPictures.plain(PixelSize(width: 1080, height: 1920), y: 100))
            WindowTests.settle(window)
            #expect(display.windows().first.map { [$0.width, $0.height] } == [364, 648])
        }

        @Test("A window that a person has resized keeps its size", .enabled(if: Tool.exists("xdotool")))
        func resizedByHand() throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open(title: "resized by hand")
            window.show(TestPictures.plain(PixelSize(width: 400, height: 300), y: 100))
            WindowTests.settle(window)
            try display.xdotool("search", "--name", "resized by hand", "windowsize", "700", "500")
            #expect(WindowTests.wait(window) { $0.contains(.resized(PixelSize(width: 700, height: 500))) })
            window.show(TestPictures.plain(PixelSize(width: 300, height: 400), y: 200))
            WindowTests.settle(window)
            let buffer = try #require(window.readBack())
            #expect(buffer.size == PixelSize(width: 700, height: 500))
            #expect(buffer.rgb(350, 250)[0] > 200)
            #expect(buffer.rgb(10, 250) == [0, 0, 0])
        }

        @Test func closingIsAnEvent() throws {
            let window = try WindowTests.open()
            WindowTests.settle(window)
            try TestDisplay.shared.get().askToClose()
            #expect(WindowTests.wait(window) { $0.contains(.quit) })
        }

        // SDL's dummy driver replaces Wayland and others, whose events don't come through an X connection.
        @Test func anotherThreadWakesItWithoutX11() async {
            await #expect(processExitsWith: .success) {
                setenv("SDL_VIDEODRIVER", "dummy", 1)
                try await Self.wakeFromThread()
            }
        }

        static func wakeFromThread() throws {
            let window = try VideoWindow(WindowOptions())
            window.show(TestPictures.bars(PixelSize(width: 320, height: 200)))
            guard window.readBack()?.rgb(20, 100).allSatisfy({ $0 > 250 }) == true else {
                throw TestFailure("no picture")
            }
            WindowTests.settle(window)
            Thread.detachNewThread {
                Thread.sleep(forTimeInterval: 0.1)
                for _ in 0..<1000 { window.wake() }
            }
            guard window.waitForEvents(timeout: .seconds(60)) == [.wake] else { throw TestFailure("not woken") }
        }

        @Test func anotherThreadWakesIt() throws {
            let window = try WindowTests.open()
            WindowTests.settle(window)
            #expect(window.waitForEvents(timeout: .zero).isEmpty)
            Thread.detachNewThread {
                Thread.sleep(forTimeInterval: 0.1)
                for _ in 0..<1000 { window.wake() }
            }
            #expect(window.waitForEvents(timeout: .seconds(60)) == [.wake])
            Thread.sleep(forTimeInterval: 0.1)
            // The thousand calls count as one, or as two if the first was taken in between.
            _ = window.waitForEvents(timeout: .zero)
            #expect(window.waitForEvents(timeout: .zero).isEmpty)
        }

        @Test func waitingTakesNoProcessorTime() throws {
            let window = try WindowTests.open()
            window.show(TestPictures.plain(PixelSize(width: 400, height: 300), y: 100))
            WindowTests.settle(window)
            func used() -> Double {
                var time = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
            }
            let before = used()
            #expect(window.waitForEvents(timeout: .seconds(1)).isEmpty)
            #expect(used() - before < 0.1)
        }

        @Test("Text is visible, with and without a picture", arguments: [RendererChoice.software, .opengl])
        func words(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer)
            window.setMessage(WindowMessage(headline: "Connecting to Anna’s iPhone…", detail: "192.168.1.23"))
            #expect(try #require(window.readBack()).paintedPixels > 2000)
            WindowTests.keep(window, as: "connecting-\(renderer.rawValue)")
            window.setMessage(
                WindowMessage(
                    headline: "Compare this code", detail: "Accept on Anna’s iPhone if it shows the same digits.",
                    code: "482913"))
            #expect(try #require(window.readBack()).paintedPixels > 2000)
            WindowTests.keep(window, as: "code-\(renderer.rawValue)")

            let picture = TestPictures.bars(PixelSize(width: 960, height: 540))
            window.setMessage(nil)
            window.show(picture)
            let bright = try #require(window.readBack()).rgb(10, 10)
            window.setMessage(WindowMessage(headline: "No data for 3 s", detail: "Reconnecting…"))
            let stalled = try #require(window.readBack())
            WindowTests.keep(window, as: "stall-\(renderer.rawValue)")
            for (dim, full) in zip(stalled.rgb(10, 10), bright) { #expect(abs(dim - full * 45 / 100) <= 2) }
            #expect(stalled.rgb(480, 270) != stalled.rgb(480, 10))
            window.setMessage(nil)
            #expect(try #require(window.readBack()).rgb(480, 270) == window.readBack()?.rgb(480, 10))
        }

        @Test("Both renderers draw panels in the same way")
        func panelsAgree() throws {
            var shown: [PixelBuffer] = []
            for renderer in [RendererChoice.software, .opengl] {
                let window = try WindowTests.open(renderer, statistics: true)
                window.show(TestPictures.bars(PixelSize(width: 960, height: 540)))
                window.setOverlay(["Size\t960×540", "Rate\t60 fps", "Bit rate\t7.9 Mbit/s", "Loss\t0.0 %"])
                window.setMessage(WindowMessage(headline: "Reconnecting…"))
                shown.append(try #require(window.readBack()))
                window.setMessage(nil)
                WindowTests.keep(window, as: "statistics-\(renderer.rawValue)")
            }
            #expect(try #require(shown[0].largestDifference(shown[1])) <= 2)
        }

        @Test("Statistics stay legible while only parts of the picture are drawn")
        func statisticsOverDamage() throws {
            let size = PixelSize(width: 640, height: 360)
            let window = try WindowTests.open(statistics: true)
            window.show(TestPictures.plain(size, y: 120))
            window.setOverlay(["Size\t640×360"])
            let before = try #require(window.readBack())
            var picture = TestPictures.plain(size, y: 120)
            for part in [
                PixelRect(x: 20, y: 20, width: 10, height: 10), PixelRect(x: 400, y: 200, width: 40, height: 40),
            ] {
                picture.damage = DamageRegion(part)
                for _ in 0..<5 { window.show(picture) }
            }
            // Blending the panel over itself would darken it.
            #expect(try #require(window.readBack()).largestDifference(before) == 0)
        }

        @Test func theWindowsMemoryIsPrivate() throws {
            let window = try WindowTests.open()
            window.show(TestPictures.plain(PixelSize(width: 400, height: 300), y: 100))
            WindowTests.settle(window)
            let segments = SharedMemory.segments()
            #expect(!segments.isEmpty)
            for (_, identifier) in segments {
                var segment = shmid_ds()
                #expect(shmctl(identifier, IPC_STAT, &segment) == 0)
                #expect(segment.shm_perm.mode & 0o777 == 0o600)
            }
        }

        @Test func aMissingDisplayIsAClearError() {
            #expect {
                try VideoWindow(WindowOptions(display: ":987"))
            } throws: { error in
                let text = "\(error)"
                return text.contains(":987") && text.contains("--display") && text.contains("--no-window")
            }
        }

        // In separate processes, because they end.
        @Test func aLostDisplayEndsTheProgramOnAnotherThread() async {
            await #expect(processExitsWith: .exitCode(7)) { try await Self.loseDisplay(.software) }
        }

        @Test func aLostDisplayEndsTheProgramOnAnotherThreadWithOpenGL() async {
            await #expect(processExitsWith: .exitCode(7)) { try await Self.loseDisplay(.opengl) }
        }

        /// Ends with status 7 when the loss is noticed.
        static func loseDisplay(_ renderer: RendererChoice) throws {
            let display = try TestDisplay(width: 800, height: 600)
            let window = try VideoWindow(
                WindowOptions(renderer: renderer, display: display.name), whenLost: { _exit(7) })
            let picture = TestPictures.plain(PixelSize(width: 400, height: 300), y: 100)
            window.show(picture)
            WindowTests.settle(window)
            display.kill()
            while true {
                window.show(picture)
                _ = window.waitForEvents(timeout: .milliseconds(50))
            }
        }

        @Test func aWindowThatNobodyCanSeeIsDrawnWhenItIsSeenAgain() throws {
            let display = try TestDisplay.shared.get()
            let window = try WindowTests.open()
            let size = PixelSize(width: 400, height: 300)
            #expect(window.show(TestPictures.plain(size, y: 60)))
            WindowTests.settle(window)
            let place = try #require(display.windows().first)
            func shown() -> Int { display.screenPixel(x: place.x + 50, y: place.y + 50).first ?? -1 }
            let dark = shown()
            // Another program's window covers it.
            let cover = display.cover()
            WindowTests.settle(window)
            for y in 100..<200 { #expect(!window.show(TestPictures.plain(size, y: UInt8(y)))) }
            display.uncover(cover)
            #expect(WindowTests.wait(window) { _ in shown() > dark + 100 })
            // Partly covered: somebody can see the rest.
            let part = display.cover(PixelRect(x: place.x, y: place.y, width: 20, height: 20))
            WindowTests.settle(window)
            #expect(window.show(TestPictures.plain(size, y: 60)))
            #expect(WindowTests.wait(window) { _ in shown() == dark })
            display.uncover(part)
        }

        @Test(
            "Text and the window follow the display's scale, also when it changes",
            arguments: [
                RendererChoice.software, .opengl,
            ])
        func scale(renderer: RendererChoice) throws {
            let display = try TestDisplay.shared.get()
            defer { display.setResources(nil) }
            func words(_ resources: String?) throws -> (window: [Int], words: Int) {
                display.setResources(resources)
                let window = try WindowTests.open(renderer)
                WindowTests.settle(window)
                window.setMessage(WindowMessage(headline: "Looking for hosts…", detail: "Start one."))
                let place = try #require(display.windows().first)
                return ([place.width, place.height], try #require(window.readBack()).paintedPixels)
            }
            let small = try words("Xft.dpi:\t96\n")
            let middle = try words("Xft.antialias:\t1\nXft.dpi:\t120\n")
            #expect(small.window == [960, 540])
            // At most 90 % of 1280 × 720.
            #expect(middle.window == [1152, 648])
            #expect(middle.words > small.words * 14 / 10)
            // A picture is shown pixel for pixel, or by a whole factor.
            let window = try WindowTests.open(renderer)
            window.show(TestPictures.bars(PixelSize(width: 1000, height: 600)))
            window.setMessage(WindowMessage(headline: "Hello"))
            let before = try #require(window.readBack())
            #expect(before.size == PixelSize(width: 1000, height: 600))
            display.setResources("Xft.dpi:\t192\n")
            WindowTests.settle(window)
            let after = try #require(window.readBack())
            #expect(after.size == before.size)
            #expect(after.differingPixels(from: before) > 500)
            window.show(TestPictures.bars(PixelSize(width: 480, height: 300)))
            WindowTests.settle(window)
            #expect(window.readBack()?.size == PixelSize(width: 960, height: 600))
        }

        @Test func theFirstWindowFitsIntoTheWorkArea() throws {
            let display = try TestDisplay.shared.get()
            let area = PixelRect(x: 80, y: 40, width: 900, height: 500)
            display.setWorkArea(area)
            defer { display.setWorkArea(nil) }
            display.setResources("Xft.dpi:\t192\n")
            defer { display.setResources(nil) }
            let window = try WindowTests.open()
            for size in [nil, PixelSize(width: 400, height: 200), PixelSize(width: 3840, height: 2160)] {
                if let size { window.show(TestPictures.plain(size, y: 100)) }
                WindowTests.settle(window)
                let shown = try #require(display.windows().first)
                let rect = PixelRect(x: shown.x, y: shown.y, width: shown.width, height: shown.height)
                #expect(area.contains(rect), "\(rect)")
            }
        }

        @Test("The statistics can be read over white", arguments: [RendererChoice.software, .opengl])
        func statisticsOverWhite(renderer: RendererChoice) throws {
            let window = try WindowTests.open(renderer, statistics: true)
            window.show(TestPictures.plain(PixelSize(width: 640, height: 360), y: 235))
            window.setOverlay(["Picture\t640×360"])
            let buffer = try #require(window.readBack())
            #expect(buffer.rgb(600, 300).allSatisfy { $0 > 250 })
            func luminance(_ colour: [Double]) -> Double {
                let linear = colour.map { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }
                return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
            }
            // Inside the panel, left of the text.
            let panel = luminance(buffer.rgb(18, 26).map { Double($0) / 255 })
            let text = luminance([Theme.muted.red, Theme.muted.green, Theme.muted.blue])
            #expect((text + 0.05) / (panel + 0.05) >= 4.5, "\(buffer.rgb(18, 26))")
        }
    }
}
