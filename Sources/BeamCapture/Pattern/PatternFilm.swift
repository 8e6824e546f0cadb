import BeamMedia

/// Film-like content: a panning texture with detail at all scales, moving discs, and grain that differs in each
/// picture.
struct PatternFilm: PatternDrawing {
    /// Range of the random offset into `grain` for each row, in samples.
    private static let grainShifts = 4096
    private static let maxPan = 240

    private let options: PatternOptions
    private let layout: PatternLayout
    /// Larger than the picture by the pan distance on each side.
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
        panX = min(Self.maxPan, size.width / 8) & ~1
        panY = min(Self.maxPan / 2, size.height / 8) & ~1
        // Even, so that its chroma planes cover odd picture sizes too.
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

    /// Fractal noise: each octave has half the size and half the amplitude of the one before, as in natural images.
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
                    // Leaves headroom for the grain that is added later.
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
            // Discs don't cover the code.
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

/// Value noise: random heights on a grid, interpolated smoothly, in integers.
struct PatternNoise {
    private struct Octave {
        let cell: Int
        let columns: Int
        /// Smoothstep 4096 × (3t² - 2t³) at each sample between two grid points.
        let ease: [Int]
        /// The grid rows above and below the current sample row.
        var upper: [Int]
        var lower: [Int]
        /// The index of grid row `upper`.
        var index = 0
    }

    private let width: Int
    private var numbers: PatternNumbers
    private var octaves: [Octave]
    private var sums: [Int]

    /// - Parameter finest: grid spacing of the finest octave, in samples.
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

    /// Samples of row `y`, -8192…8192. Rows have to be asked for in order, from 0. The coarsest octave contributes half
    /// of the range.
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
