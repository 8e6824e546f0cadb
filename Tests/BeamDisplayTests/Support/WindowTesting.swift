import BeamDisplay
import BeamMedia
import CPango
import Foundation
import Testing

/// Tests with real windows run one after another, on the main thread and one X server.
@Suite(.serialized, .enabled(if: TestDisplay.isAvailable, "Xvfb isn't installed")) @MainActor struct WindowTests {}

extension WindowTests {
    /// Opens a window on the shared display.
    static func open(
        _ renderer: RendererChoice = .software, title: String = "BeamRoom", fullscreen: Bool = false,
        statistics: Bool = false
    ) throws -> VideoWindow {
        try VideoWindow(
            WindowOptions(
                title: title, isFullscreen: fullscreen, renderer: renderer, display: TestDisplay.shared.get().name,
                showsStatistics: statistics))
    }

    /// Handles events until `condition` holds for one round of events, or ten seconds have passed.
    static func wait(_ window: VideoWindow, until condition: ([WindowEvent]) throws -> Bool) rethrows -> Bool {
        let end = Date(timeIntervalSinceNow: 10)
        while Date() < end {
            if try condition(window.waitForEvents(timeout: .milliseconds(50))) { return true }
        }
        return false
    }

    /// Handles events until nothing has happened for 0.1 s.
    static func settle(_ window: VideoWindow) {
        while !window.waitForEvents(timeout: .milliseconds(100)).isEmpty {}
    }

    /// Writes the window's content to a file if `BEAMROOM_SCREENSHOTS` is set.
    static func keep(_ window: VideoWindow, as name: String) {
        guard keepsPictures, let buffer = window.readBack() else { return }
        keep(buffer, as: name)
    }

    private static var keepsPictures: Bool { ProcessInfo.processInfo.environment["BEAMROOM_SCREENSHOTS"] != nil }

    /// Writes a bgrx picture to a file if `BEAMROOM_SCREENSHOTS` is set.
    static func keep(_ buffer: PixelBuffer, as name: String) {
        guard let folder = ProcessInfo.processInfo.environment["BEAMROOM_SCREENSHOTS"] else { return }
        let plane = buffer.planes[0]
        let surface = cairo_image_surface_create_for_data(
            plane.base.assumingMemoryBound(to: UInt8.self), CAIRO_FORMAT_RGB24, Int32(buffer.size.width),
            Int32(buffer.size.height), Int32(plane.stride))
        cairo_surface_write_to_png(surface, "\(folder)/\(name).png")
        cairo_surface_destroy(surface)
    }
}

extension VideoWindow {
    /// Shows a picture of the source in focus.
    @discardableResult func show(_ picture: Picture) -> Bool {
        guard let source = focus.source else { return false }
        return show([(source, picture)]).contains(source)
    }
}
