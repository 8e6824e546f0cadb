import BeamMedia

/// Which part of a picture is shown, and how large. A pure value; nil of it: all of the picture, as large as fits.
///
/// Above the picture's own size it is magnified by whole factors, so that each pixel of it is a square.
struct Zoom: Hashable, Sendable {
    private static let mostTimes = 8.0
    private static let step = 1.25

    /// Window pixels per picture pixel: below 1, or a whole number.
    private(set) var times: Double
    /// The point of the picture that is in the window's middle, as shares of its width and height.
    private(set) var centre: (x: Double, y: Double) = (0.5, 0.5)
    /// One pixel for one: a larger version of the same picture is shown as it is, too. `full`: the largest seen.
    private var actual: PixelSize?

    static func == (left: Zoom, right: Zoom) -> Bool {
        left.times == right.times && left.centre == right.centre && left.actual == right.actual
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(times)
        hasher.combine(centre.x)
        hasher.combine(centre.y)
    }

    /// Each pixel of the picture is one of the window's.
    static func actualPixels(of picture: PixelSize) -> Zoom { Zoom(times: 1, actual: picture) }

    private init(times: Double, actual: PixelSize? = nil) {
        self.times = times
        self.actual = actual
    }

    var isActual: Bool { actual != nil }

    /// How many window pixels a pixel of the picture gets when all of it is shown.
    static func fitted(_ picture: PixelSize, in canvas: PixelSize) -> Double {
        Double(picture.viewport(in: canvas).width) / Double(max(1, picture.width))
    }

    /// The next larger (or smaller) view, in which the point of the picture under `point` of the window stays there; nil:
    /// all of the picture.
    static func next(
        _ zoom: Zoom?, larger: Bool, at point: (x: Int, y: Int), _ picture: PixelSize, in canvas: PixelSize
    ) -> Zoom? {
        let fitted = fitted(picture, in: canvas)
        let now = zoom?.times ?? fitted
        let wanted: Double
        if larger {
            wanted = now < 1 ? min(1, now * step) : min(mostTimes, now.rounded(.down) + 1)
        } else {
            wanted = now > 1 ? (now - 1).rounded(.up) : now / step
        }
        if !larger, wanted <= fitted { return nil }
        if larger, wanted <= now { return zoom }
        let place = zoom?.viewport(of: picture, in: canvas) ?? picture.viewport(in: canvas)
        var next = Zoom(times: wanted)
        let share = (
            x: Double(point.x - place.x) / Double(max(1, place.width)),
            y: Double(point.y - place.y) / Double(max(1, place.height))
        )
        let size = next.size(of: picture)
        // The point stays under the pointer.
        next.centre = (
            x: min(max(share.x, 0), 1) + (Double(canvas.width) / 2 - Double(point.x)) / Double(max(1, size.width)),
            y: min(max(share.y, 0), 1) + (Double(canvas.height) / 2 - Double(point.y)) / Double(max(1, size.height))
        )
        next.keepInside(picture, canvas)
        return next
    }

    private func size(of picture: PixelSize) -> PixelSize {
        PixelSize(
            width: max(1, Int((Double(picture.width) * times).rounded())),
            height: max(1, Int((Double(picture.height) * times).rounded())))
    }

    /// The picture's rectangle in the window, which may reach beyond it.
    func viewport(of picture: PixelSize, in canvas: PixelSize) -> PixelRect {
        let size = size(of: picture)
        func place(_ length: Int, _ room: Int, _ centre: Double) -> Int {
            guard length > room else { return (room - length) / 2 }
            return min(0, max(room - length, room / 2 - Int((Double(length) * centre).rounded())))
        }
        return PixelRect(
            x: place(size.width, canvas.width, centre.x), y: place(size.height, canvas.height, centre.y),
            width: size.width, height: size.height)
    }

    /// Moves the picture by so many window pixels.
    mutating func move(x: Int, y: Int, _ picture: PixelSize, in canvas: PixelSize) {
        let size = size(of: picture)
        centre.x -= Double(x) / Double(size.width)
        centre.y -= Double(y) / Double(size.height)
        keepInside(picture, canvas)
    }

    private mutating func keepInside(_ picture: PixelSize, _ canvas: PixelSize) {
        let size = size(of: picture)
        func bounded(_ centre: Double, _ length: Int, _ room: Int) -> Double {
            guard length > room else { return 0.5 }
            let half = Double(room) / 2 / Double(length)
            return min(max(centre, half), 1 - half)
        }
        centre = (bounded(centre.x, size.width, canvas.width), bounded(centre.y, size.height, canvas.height))
    }

    /// The host sends the picture in another size: what is shown stays about as large. One pixel for one stays that, and is
    /// magnified while the host sends a smaller picture than before.
    mutating func follow(_ new: PixelSize, from old: PixelSize) {
        guard new.width > 0, old.width > 0 else { return }
        if let full = actual {
            if new.width >= full.width { actual = new }
            times = max(1, min(Self.mostTimes, (Double(actual?.width ?? new.width) / Double(new.width)).rounded()))
            return
        }
        let wanted = times * Double(old.width) / Double(new.width)
        times = wanted > 1 ? min(Self.mostTimes, wanted.rounded()) : wanted
    }
}
