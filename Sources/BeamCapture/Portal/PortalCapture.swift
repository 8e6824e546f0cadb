import BeamMedia
import Glibc

/// A session with the portal and its streams, as one picture. Used by one thread at a time.
final class PortalCapture {
    /// Why it can't go on.
    enum End: Equatable {
        /// At the desktop, by a person, or because the window was closed.
        case closed
        /// Something broke, and may return. For a person, as part of a sentence.
        case broken(String)
    }

    /// How long a stream's format may take to be agreed upon: usually some milliseconds.
    private static let formatTimeout = Duration.seconds(10)
    /// How long a first picture is waited for, whose size may be another. Some portals send none before something changes.
    private static let pictureTimeout = Duration.milliseconds(500)
    /// X11's limit, and as much memory as one buffer may take.
    private static let limits = (side: 32767, area: 1 << 28)

    private static func fits(_ size: PixelSize) -> Bool {
        max(size.width, size.height) <= limits.side && size.area <= limits.area
    }

    private let session: PortalSession
    private let remote: PipeWireRemote
    private let parts: [PortalPart]
    private let region: PixelRect?
    private let drawsCursor: Bool
    private(set) var layout: PortalLayout
    /// The parts have grown beyond the limits; `layout` isn't theirs.
    private var isTooLarge = false

    /// Asks the desktop, and waits until the size of its picture is known. The calling thread must `enter` before it goes
    /// on.
    init(
        _ options: PortalOptions, while isWanted: @escaping () -> Bool, say: @escaping (String) -> Void
    ) throws(CaptureError) {
        do throws(PortalTrouble) {
            let session = try PortalSession(options, while: isWanted, say: say)
            guard let descriptor = session.takeDescriptor() else {
                throw .noPipeWire(reason: "its connection is in use")
            }
            let remote = try PipeWireRemote(descriptor: descriptor)
            remote.enter()
            defer { remote.leave() }
            var parts: [PortalPart] = []
            for stream in session.streams {
                parts.append(try PortalPart(remote, stream, maxFrameRate: options.maxFrameRate))
            }
            try Self.await(parts, remote, isWanted)
            self.session = session
            self.remote = remote
            self.parts = parts
        } catch {
            throw .portal(error)
        }
        region = options.region
        drawsCursor = options.drawsCursor && session.selection.cursor == .metadata
        guard let layout = Self.layout(parts, region) else {
            throw .portal(.noPictures(reason: "their size is unknown"))
        }
        self.layout = layout
        if layout.isRegionOutside, let region {
            throw .regionOffScreen(
                region, screen: PortalLayout(parts.map(\.layoutPart), region: nil)?.size ?? layout.size)
        }
        guard Self.fits(layout.size) else {
            throw .noMemory(layout.size, reason: "it is too large")
        }
    }

    /// Waits for the streams' formats, and for a moment for their first pictures.
    private static func await(
        _ parts: [PortalPart], _ remote: PipeWireRemote, _ isWanted: () -> Bool
    ) throws(PortalTrouble) {
        let begin = MediaTime.now
        while true {
            guard remote.turn() else { throw .noPipeWire(reason: "the connection was lost") }
            for part in parts {
                switch part.hear(now: .now) {
                case .failed(let reason): throw .noPictures(reason: Self.words(reason))
                case .sourceGone, .paused: throw .noPictures(reason: "their source is gone")
                case nil:
                    _ = part.take(now: .now)
                    _ = part.finish()
                }
            }
            let age = MediaTime.now - begin
            if parts.allSatisfy({ $0.hasPicture }) { return }
            if parts.allSatisfy({ $0.state.order != nil }), age >= Self.pictureTimeout { return }
            guard age < Self.formatTimeout else {
                throw .noPictures(
                    reason:
                        "their format couldn't be agreed upon for 10 s. Look whether wireplumber runs; if it does, this desktop "
                        + "may have only graphics memory (DMA-BUF) that isn't linear, which can't be read")
            }
            guard isWanted() else { throw .abandoned }
            var entry = remote.pollEntry
            _ = poll(&entry, 1, 20)
        }
    }

    static func words(_ reason: String) -> String {
        // What a source offers, and what is asked for, have nothing in common.
        if reason.contains("format") || reason.isEmpty {
            return "it offers them only in a layout that can't be read, as graphics memory (DMA-BUF) that isn't linear"
                + (reason.isEmpty ? "" : " (\(reason))")
        }
        return reason
    }

    var warnings: [String] {
        guard parts.contains(where: \.isInGraphicsMemory) else { return session.warnings }
        return session.warnings + [
            "This desktop hands out its picture in the graphics device's memory only. Reading it there can be slow."
        ]
    }

    /// Person-facing.
    var description: String {
        guard parts.count == 1 else { return "\(parts.count) parts of the desktop" }
        return switch parts[0].source.kind {
        case .monitor: "a monitor of the desktop"
        case .window: "a window of the desktop"
        case .virtual: "a virtual monitor of the desktop"
        case nil: "a part of the desktop"
        }
    }

    func enter() { remote.enter() }
    func leave() { remote.leave() }

    var pollEntries: [pollfd] { [remote.pollEntry, session.pollEntry] }
    /// When to turn again, even if nothing happens.
    var deadline: MediaTime? { parts.compactMap(\.deadline).min() }

    /// Handles what has come, without waiting.
    func turn() -> End? {
        if isTooLarge { return .broken("its picture has become too large") }
        guard remote.turn() else { return .broken("the connection to PipeWire was lost") }
        switch session.news() {
        case .closed: return .closed
        case .portalGone: return .broken("xdg-desktop-portal has ended")
        case nil: break
        }
        let now = MediaTime.now
        for part in parts {
            switch part.hear(now: now) {
            case nil: continue
            // A window that was closed shows as any of these, by the desktop (GNOME: the stream stops).
            case .some where part.source.kind == .window: return .closed
            case .sourceGone: return .broken("its source was removed")
            case .paused: return .broken("its stream stopped")
            case .failed(let reason): return .broken(reason.isEmpty ? "its stream failed" : reason)
            }
        }
        return nil
    }

    /// Takes the pictures that have come. The damage is in the picture's coordinates; nil: the layout has changed.
    ///
    /// A small change is returned before all of its picture is compared: `finish` has to be called before the next turn.
    func take() -> DamageRegion? {
        let now = MediaTime.now
        let changes = parts.map { $0.take(now: now) }
        if changes.contains(where: \.isResized) || parts.contains(where: { !$0.hasPicture }),
            let layout = Self.layout(parts, region), layout != self.layout || changes.contains(where: \.isResized)
        {
            guard Self.fits(layout.size) else {
                isTooLarge = true
                return DamageRegion()
            }
            self.layout = layout
            return nil
        }
        return inPicture(changes.map(\.damage))
    }

    /// Compares the rest of the pictures that were taken, and returns what else has changed.
    func finish() -> DamageRegion { inPicture(parts.map { $0.finish() }) }

    /// The damage of each part, in the picture's coordinates.
    private func inPicture(_ damage: [DamageRegion]) -> DamageRegion {
        var all = DamageRegion()
        for (damage, place) in zip(damage, layout.places) {
            for rect in damage.rects {
                all.insert(rect.moved(by: place.x, place.y).intersection(PixelRect(layout.size)))
            }
        }
        return all
    }

    /// Every part has sent a picture, and the region lies in them.
    var isComplete: Bool { !isTooLarge && !layout.isRegionOutside && parts.allSatisfy { $0.hasPicture } }

    func copy(_ region: DamageRegion, into frame: Frame) {
        for (part, place) in zip(parts, layout.places) { part.copy(region, to: place, in: frame) }
    }

    // MARK: The pointer

    /// Where the pointer is drawn, and which part's it is. Equal values look the same.
    struct Pointer: Equatable {
        var part: Int
        var appearance: PortalPointer.Appearance
        /// In the picture's coordinates; may extend beyond it.
        var frame: PixelRect
    }

    var pointer: Pointer? {
        guard drawsCursor else { return nil }
        for (index, (part, place)) in zip(parts, layout.places).enumerated() {
            guard let appearance = part.pointer.appearance(in: part.crop) else { continue }
            return Pointer(part: index, appearance: appearance, frame: appearance.frame.moved(by: place.x, place.y))
        }
        return nil
    }

    /// The pointer comes beside the pictures.
    var hasPointer: Bool { drawsCursor }

    /// What viewers are told of it, so that they draw it; nil: it is in the pictures, or too large for that.
    func told(_ pointer: Pointer?) -> ScreenPointer? {
        guard drawsCursor else { return nil }
        guard let pointer else { return .hidden }
        return parts[pointer.part].pointer.told(at: pointer.frame, in: layout.size)
    }

    func draw(_ pointer: Pointer, into frame: Frame) {
        parts[pointer.part].pointer.image?.draw(at: pointer.frame, into: frame)
    }

    private static func layout(_ parts: [PortalPart], _ region: PixelRect?) -> PortalLayout? {
        PortalLayout(parts.map(\.layoutPart), region: region)
    }
}

extension PortalPart {
    fileprivate var layoutPart: PortalLayout.Part {
        PortalLayout.Part(position: source.position, logical: source.size, size: size)
    }
}
