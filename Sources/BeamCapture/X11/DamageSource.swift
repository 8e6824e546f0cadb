import BeamMedia
import CXCB
import Glibc

/// Tells what has changed of the picture, and fetches it.
protocol DamageSource: AnyObject {
    /// True: nothing wakes the capture thread; it has to ask again and again.
    var isPolled: Bool { get }
    /// The picture comes from elsewhere from now on.
    func targetChanged()
    /// Sends the question, without waiting.
    func ask()
    /// What has changed since the last question, in the picture's coordinates, and not beyond it.
    func answer(for target: CaptureTarget) throws(Grabber.Failure) -> DamageRegion
    /// Brings `region` of `frame` up to date. Returns what has changed since the answer: where the display goes on changing,
    /// some of that may be in the frame already, and all of it has to be fetched again.
    func fetch(
        _ region: DamageRegion, of target: CaptureTarget, into frame: Frame
    ) throws(Grabber.Failure) -> DamageRegion
}

/// Damage as the X server reports it: one event when something changes after a rest; then the region is asked for, once a
/// picture, whatever was drawn.
final class ReportedDamage: DamageSource {
    private let connection: XConnection
    private let grabber: Grabber
    private let damage: xcb_damage_damage_t
    private let region: xcb_xfixes_region_t
    private var question: UInt32?

    let isPolled = false

    /// Watches a window and all inside it. Both resources end with the connection.
    init(_ connection: XConnection, window: xcb_window_t, grabber: Grabber) throws(XFailure) {
        self.connection = connection
        self.grabber = grabber
        damage = connection.makeID()
        region = connection.makeID()
        xcb_xfixes_create_region(connection.raw, region, 0, nil)
        try connection.check(
            xcb_damage_create_checked(
                connection.raw, damage, window, UInt8(XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY.rawValue)))
    }

    func targetChanged() {}

    func ask() {
        xcb_damage_subtract(connection.raw, damage, 0, region)
        question = xcb_xfixes_fetch_region(connection.raw, region).sequence
    }

    func answer(for target: CaptureTarget) throws(Grabber.Failure) -> DamageRegion {
        guard let question else { return DamageRegion() }
        self.question = nil
        do throws(XFailure) {
            let reply = try connection.reply(question, as: xcb_xfixes_fetch_region_reply_t.self)
            let rectangles = UnsafeBufferPointer(
                start: xcb_xfixes_fetch_region_rectangles(reply.pointer),
                count: Int(xcb_xfixes_fetch_region_rectangles_length(reply.pointer)))
            return Self.region(rectangles, target)
        } catch {
            throw .x(error)
        }
    }

    func fetch(
        _ region: DamageRegion, of target: CaptureTarget, into frame: Frame
    ) throws(Grabber.Failure) -> DamageRegion {
        // The question goes with the last request for pixels, and costs no wait of its own.
        try grabber.grab(region, of: target, into: frame, afterRequests: ask)
        return try answer(for: target)
    }

    /// The server lists rectangles row by row. Very many are joined with their neighbours first, since each one inserted
    /// is compared with all.
    private static func region(
        _ rectangles: UnsafeBufferPointer<xcb_rectangle_t>, _ target: CaptureTarget
    ) -> DamageRegion {
        var region = DamageRegion()
        let group = (rectangles.count + 63) / 64
        var joined = PixelRect(x: 0, y: 0, width: 0, height: 0)
        for (index, rectangle) in rectangles.enumerated() {
            let rect = PixelRect(
                x: Int(rectangle.x) - target.damageOrigin.x, y: Int(rectangle.y) - target.damageOrigin.y,
                width: Int(rectangle.width), height: Int(rectangle.height))
            joined = joined.union(rect.intersection(PixelRect(target.size)))
            if (index + 1) % group == 0 || index == rectangles.count - 1 {
                region.insert(joined)
                joined = PixelRect(x: 0, y: 0, width: 0, height: 0)
            }
        }
        return region
    }
}

/// For servers that don't report damage: fetches the whole picture each time, and compares it with the last.
final class ComparedDamage: DamageSource {
    private let grabber: Grabber
    private var last: Frame?
    private var next: Frame?

    let isPolled = true

    init(_ grabber: Grabber) { self.grabber = grabber }

    func targetChanged() {
        last = nil
        next = nil
    }

    func ask() {}

    func answer(for target: CaptureTarget) throws(Grabber.Failure) -> DamageRegion {
        let whole = DamageRegion(PixelRect(target.size))
        let frame: Frame
        if let next {
            frame = next
        } else {
            frame = Frame(size: target.size, memory: try grabber.allocate(target.size.area * 4))
        }
        try grabber.grab(whole, of: target, into: frame, afterRequests: {})
        defer {
            next = last
            last = frame
        }
        guard let last else { return whole }
        return Self.difference(last, frame)
    }

    func fetch(
        _ region: DamageRegion, of target: CaptureTarget, into frame: Frame
    ) throws(Grabber.Failure) -> DamageRegion {
        // What was compared is what counts.
        guard let last else { return DamageRegion() }
        for rect in region.rects {
            let rect = rect.intersection(target.readable)
            guard !rect.isEmpty else { continue }
            for y in rect.y..<rect.maxY {
                frame.pixel(x: rect.x, y: y).copyMemory(from: last.pixel(x: rect.x, y: y), byteCount: rect.width * 4)
            }
        }
        return DamageRegion()
    }

    /// Bands of rows, and in each the columns between the first and the last pixel that differ.
    private static func difference(_ old: Frame, _ new: Frame) -> DamageRegion {
        let bandHeight = 16
        var region = DamageRegion()
        for top in stride(from: 0, to: new.size.height, by: bandHeight) {
            var changed = PixelRect(x: 0, y: 0, width: 0, height: 0)
            for y in top..<min(top + bandHeight, new.size.height) {
                let (before, after) = (old.pixel(x: 0, y: y), new.pixel(x: 0, y: y))
                guard memcmp(before, after, new.stride) != 0 else { continue }
                func differs(_ x: Int) -> Bool {
                    before.load(fromByteOffset: 4 * x, as: UInt32.self)
                        != after.load(fromByteOffset: 4 * x, as: UInt32.self)
                }
                let columns = 0..<new.size.width
                guard let first = columns.first(where: differs), let last = columns.last(where: differs) else {
                    continue
                }
                changed = changed.union(PixelRect(x: first, y: y, width: last - first + 1, height: 1))
            }
            region.insert(changed)
        }
        return region
    }
}
