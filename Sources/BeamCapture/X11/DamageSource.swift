import BeamMedia
import CXCB
import Glibc

/// Reports which parts of the picture have changed, and fetches them.
protocol DamageSource: AnyObject {
    /// True if the server sends no damage events, so that the capture thread has to poll.
    var isPolled: Bool { get }
    /// Called when the picture is taken from another place from now on.
    func targetChanged()
    /// Sends the query without waiting for the reply.
    func ask(_ target: CaptureTarget)
    /// The damage since the last query, in the picture's coordinates and clipped to it.
    func answer(for target: CaptureTarget) throws(Grabber.Failure) -> DamageRegion
    /// Updates `region` of `frame`. Returns the damage since the answer. While the display keeps changing, the frame
    /// may contain some of that already; all of it has to be fetched again.
    func fetch(
        _ region: DamageRegion, of target: CaptureTarget, into frame: Frame
    ) throws(Grabber.Failure) -> DamageRegion
}

/// Damage reported by the X server: one event on the first change, then one query of the region per picture, however
/// much was drawn.
final class ReportedDamage: DamageSource {
    private let connection: XConnection
    private let grabber: Grabber
    private let damage: xcb_damage_damage_t
    private let region: xcb_xfixes_region_t
    /// For the target's drawable, and for each of its layers.
    private var questions: [(sequence: UInt32, place: (x: Int, y: Int), bounds: PixelRect)] = []

    let isPolled = false

    /// Watches a window and its descendants. Both resources are freed with the connection.
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

    func ask(_ target: CaptureTarget) {
        // Never answered for, because something failed before the replies were taken.
        for question in questions { xcb_discard_reply(connection.raw, question.sequence) }
        questions.removeAll(keepingCapacity: true)
        ask(damage, region, (-target.damageOrigin.x, -target.damageOrigin.y), PixelRect(target.size))
        for layer in target.layers where layer.pixels.damage != 0 {
            let border = layer.pixels.border
            ask(
                layer.pixels.damage, layer.pixels.region, (layer.frame.x + border, layer.frame.y + border),
                layer.frame.intersection(PixelRect(target.size)))
        }
    }

    private func ask(
        _ damage: xcb_damage_damage_t, _ region: xcb_xfixes_region_t, _ place: (x: Int, y: Int), _ bounds: PixelRect
    ) {
        xcb_damage_subtract(connection.raw, damage, 0, region)
        questions.append((xcb_xfixes_fetch_region(connection.raw, region).sequence, place, bounds))
    }

    func answer(for target: CaptureTarget) throws(Grabber.Failure) -> DamageRegion {
        var result = DamageRegion()
        while let question = questions.popLast() {
            do throws(XFailure) {
                let reply = try connection.reply(question.sequence, as: xcb_xfixes_fetch_region_reply_t.self)
                let rectangles = UnsafeBufferPointer(
                    start: xcb_xfixes_fetch_region_rectangles(reply.pointer),
                    count: Int(xcb_xfixes_fetch_region_rectangles_length(reply.pointer)))
                result.formUnion(Self.region(rectangles, question.place, question.bounds))
            } catch {
                throw .x(error)
            }
        }
        return result
    }

    func fetch(
        _ region: DamageRegion, of target: CaptureTarget, into frame: Frame
    ) throws(Grabber.Failure) -> DamageRegion {
        // The query is sent with the last pixel request, so that it costs no round trip of its own.
        try grabber.grab(region, of: target, into: frame) { ask(target) }
        return try answer(for: target)
    }

    /// Converts the server's rectangles, which it lists row by row. More than 64 are merged in groups of neighbours
    /// first, because each insertion compares with all earlier ones.
    private static func region(
        _ rectangles: UnsafeBufferPointer<xcb_rectangle_t>, _ place: (x: Int, y: Int), _ bounds: PixelRect
    ) -> DamageRegion {
        var region = DamageRegion()
        let group = (rectangles.count + 63) / 64
        var joined = PixelRect(x: 0, y: 0, width: 0, height: 0)
        for (index, rectangle) in rectangles.enumerated() {
            let rect = PixelRect(
                x: Int(rectangle.x) + place.x, y: Int(rectangle.y) + place.y,
                width: Int(rectangle.width), height: Int(rectangle.height))
            joined = joined.union(rect.intersection(bounds))
            if (index + 1) % group == 0 || index == rectangles.count - 1 {
                region.insert(joined)
                joined = PixelRect(x: 0, y: 0, width: 0, height: 0)
            }
        }
        return region
    }
}

/// For servers without DAMAGE: fetches the whole picture each time and compares it with the last one.
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

    func ask(_ target: CaptureTarget) {}

    func answer(for target: CaptureTarget) throws(Grabber.Failure) -> DamageRegion {
        let whole = DamageRegion(PixelRect(target.size))
        let frame: Frame
        if let next {
            frame = next
        } else {
            frame = Frame(size: target.size, memory: try grabber.allocate(target.size.area * 4))
        }
        try grabber.grab(whole, of: target, into: frame) {}
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
        // The pixels that were compared, so that picture and damage agree.
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

    /// For each band of 16 rows, the columns from the first to the last pixel that differs.
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
