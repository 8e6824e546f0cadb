import BeamMedia

/// A texture of all sizes of detail that pans, discs that move over it, and grain that is another in each picture.
struct PatternFilm: PatternDrawing {
    /// How far a row's grain may be shifted, in samples.
    private static let grainShifts = 4096
    private static let longestPan = 240

    private let options: PatternOptions
    private let layout: PatternLayout
    /// Larger than the picture by the pan, on each side.
    private let texture: PixelBuffer
    private let panX: Int
    private let panY: Int
    private let grain: [UInt8]
    private let discs: [(shape: Coverage, colour: PatternColour)]

    init(_ options: PatternOptions) {
        self.options = options
        let layout = PatternLayout(options.size)
        self.layout = layout
        let size = options.size
        panX = min(Self.longestPan, size.width / 8) & ~1
        panY = min(Self.longestPan / 2, size.height / 8) & ~1
        // Even, so that its chroma reaches as far as an odd picture's.
        texture = PixelBuffer(
            format: .i420,
            size: PixelSize(width: (size.width + 1) / 2 * 2 + 2 * panX, height: (size.height + 1) / 2 * 2 + 2 * panY))
        Self.paint(texture)
        var numbers = PatternNumbers(seed: 4711)
        grain = (0..<size.width + Self.grainShifts).map { _ in UInt8(numbers.next(below: 4)) }
        let colours = [PatternPalette.amber, PatternPalette.blue, PatternColour(y: 133, cb: 63, cr: 52)]
        discs = colours.enumerated().map { index, colour in
            (.disc(diameter: max(4, layout.unit * (3 + index))), colour)
        }
    }

    /// Fractal noise: octaves of half the size and half the height each, as in nature.
    private static func paint(_ texture: PixelBuffer) {
        for (plane, (finest, octaves, height, middle)) in [(4, 7, 64, 116), (32, 3, 20, 124), (32, 3, 20, 132)]
            .enumerated()
        {
            let (width, rows) = texture.format.plane(plane, of: texture.size)
            var noise = PatternNoise(width: width, seed: UInt32(plane + 1), finest: finest, octaves: octaves)
            for y in 0..<rows {
                let row = noise.row(y)
                let target = (texture.planes[plane].base + y * texture.planes[plane].stride)
                    .assumingMemoryBound(to: UInt8.self)
                for x in 0..<width {
                    // Grain is still to be added.
                    target[x] = UInt8(max(20, min(228, middle + ((row[x] * height) >> 12))))
                }
            }
        }
    }

    func draw(_ number: Int, time: MediaTime, into buffer: PixelBuffer, over drawn: DamageRegion?) -> DamageRegion {
        let canvas = PatternCanvas(buffer)
        let bounds = canvas.bounds
        if drawn == nil { canvas.fill(bounds, PatternPalette.black) }
        let motion = PatternMotion(moment: options.moment(of: number))
        let place = motion.wander(x: panX, y: panY)
        let (column, row) = ((panX + place.x) & ~1, (panY + place.y) & ~1)
        canvas.copyRows(bounds.maxY - layout.top, from: texture, row: row, column: column, to: layout.top)
        drawDiscs(motion, canvas)
        addGrain(number, canvas)

        PatternCode.draw(number: UInt32(truncatingIfNeeded: number), time: time, into: canvas)
        var moving = DamageRegion(
            PixelRect(x: 0, y: layout.top, width: bounds.width, height: bounds.maxY - layout.top))
        if let code = layout.code { moving.insert(code) }
        return moving
    }

    private func drawDiscs(_ motion: PatternMotion, _ canvas: PatternCanvas) {
        let (width, height) = (canvas.bounds.width, canvas.bounds.maxY - layout.top)
        let (centreX, centreY) = (width / 2, layout.top + height / 2)
        let far = motion.wander(x: width * 3 / 8, y: height / 3)
        let places = [motion.orbit(radius: height / 3), (x: -far.x, y: -far.y), motion.orbit(radius: -height / 5)]
        for (disc, place) in zip(discs, places) {
            let y = centreY + place.y - disc.shape.height / 2
            // The code stays free.
            canvas.paint(
                disc.shape, x: centreX + place.x - disc.shape.width / 2, y: max(layout.top, y), disc.colour)
        }
    }

    private func addGrain(_ number: Int, _ canvas: PatternCanvas) {
        var numbers = PatternNumbers(seed: UInt32(truncatingIfNeeded: number) &* 2_654_435_761)
        let width = canvas.bounds.width
        grain.withUnsafeBufferPointer { grain in
            guard let base = grain.baseAddress else { return }
            for y in layout.top..<canvas.bounds.maxY {
                canvas.add(base + numbers.next(below: Self.grainShifts), to: y, count: width)
            }
        }
    }
}

/// Value noise: random heights on a grid, joined smoothly, in whole numbers.
struct PatternNoise {
    private struct Octave {
        let cell: Int
        let columns: Int
        /// 4096 × 3t² - 2t³ at each step from one point of the grid to the next.
        let ease: [Int]
        /// The grid's rows above and below the present one.
        var upper: [Int]
        var lower: [Int]
        /// Which of the grid's rows `upper` is.
        var index = 0
    }

    private let width: Int
    private var numbers: PatternNumbers
    private var octaves: [Octave]
    private var sums: [Int]

    /// The finest octave's grid has a point each `finest` samples.
    init(width: Int, seed: UInt32, finest: Int, octaves count: Int) {
        self.width = width
        var numbers = PatternNumbers(seed: seed &* 7919)
        octaves = (0..<count).map { level in
            let cell = finest << (count - 1 - level)
            let columns = width / cell + 2
            let ease = (0..<cell).map { step in
                4096 * step * step * (3 * cell - 2 * step) / (cell * cell * cell)
            }
            let upper = Self.heights(columns, &numbers)
            return Octave(
                cell: cell, columns: columns, ease: ease, upper: upper, lower: Self.heights(columns, &numbers))
        }
        self.numbers = numbers
        sums = [Int](repeating: 0, count: width + (finest << (count - 1)))
    }

    private static func heights(_ count: Int, _ numbers: inout PatternNumbers) -> [Int] {
        (0..<count).map { _ in numbers.next() / 8 - 4096 }
    }

    /// Row `y`, which follows the one asked for before, or is the first: -8192…8192, the coarsest octave half of that.
    mutating func row(_ y: Int) -> [Int] {
        for x in 0..<width { sums[x] = 0 }
        for level in octaves.indices {
            if y / octaves[level].cell > octaves[level].index {
                octaves[level].index += 1
                octaves[level].upper = octaves[level].lower
                octaves[level].lower = Self.heights(octaves[level].columns, &numbers)
            }
            add(octaves[level], y, level)
        }
        return sums
    }

    private mutating func add(_ octave: Octave, _ y: Int, _ level: Int) {
        let share = octave.ease[y % octave.cell]
        func height(_ column: Int) -> Int {
            octave.upper[column] + (((octave.lower[column] - octave.upper[column]) * share) >> 12)
        }
        var left = height(0)
        sums.withUnsafeMutableBufferPointer { sums in
            octave.ease.withUnsafeBufferPointer { ease in
                for column in 0..<octave.columns - 1 {
                    let right = height(column + 1)
                    let start = column * octave.cell
                    for step in 0..<octave.cell {
                        sums[start + step] += (left + (((right - left) * ease[step]) >> 12)) >> level
                    }
                    left = right
                }
            }
        }
    }
}
