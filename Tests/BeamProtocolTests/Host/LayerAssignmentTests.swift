import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Who gets which layer, and when.
struct LayerAssignmentTests {
    private struct Paths: GuestPaths {
        var all: [GuestPath]

        func path(_ index: Int) -> GuestPath { all[index] }

        func isReachable(_ index: Int) -> Bool { all[index].isReachable }

        func layerPath(_ index: Int, now: MediaTime) -> LayerRate.Path {
            all[index].isBound ? .bound(all[index].rate) : .unbound
        }
    }

    /// Guests and their paths, driven as a broadcast does it.
    private struct Bench {
        var layers = LayerAssignment(bitRate: 8_000_000, usesFullChroma: false)
        var paths: [GuestPath] = []
        /// Of the full layer.
        var use = LayerUse()
        var now = MediaTime.zero

        var seen: Paths { Paths(all: paths) }

        /// A guest with a path that carries `rate` bits a second; nil: all that is wanted.
        mutating func add(
            _ rate: Int?, device: UInt8? = nil, isPaired: Bool = true, decodesFullChroma: Bool = false,
            bounds: PictureBounds? = nil
        ) {
            let number = UInt8(paths.count + 1)
            var random = SeededGenerator(seed: UInt64(number))
            layers.append(
                AdmittedGuest(
                    id: ViewerID(value: UInt64(number)), session: SessionID(random: &random), address: .v4(1),
                    device: .made(device ?? number), key: .made(1), isPaired: isPaired,
                    features: decodesFullChroma ? [.fullChroma] : [], bounds: bounds))
            paths.append(
                GuestPath(
                    isReachable: true, hasAnswered: true, rate: rate ?? 12_000_000, isBound: rate != nil,
                    isMeasured: true))
        }

        mutating func addVersion1() {
            var random = SeededGenerator(seed: 1)
            layers.append(AdmittedGuest(id: ViewerID(value: 99), session: SessionID(random: &random), address: .v4(1)))
            paths.append(GuestPath(isReachable: true, reports: false, hasAnswered: true))
        }

        /// A second with a report each 50 ms of each guest; the full layer takes `rate` bits a second meanwhile. Returns the
        /// guests that were moved, in order.
        mutating func run(seconds: Int = 1, rate: Int) -> [Int] {
            var moved: [Int] = []
            for _ in 0..<(seconds * 20) {
                now = now + .milliseconds(50)
                use.count(rate / 8 / 20, now: now)
                for index in paths.indices {
                    if case .layer = choose(index) { moved.append(index) }
                }
            }
            return moved
        }

        /// The layers look at the paths while they change.
        mutating func choose(_ index: Int) -> LayerAssignment.Change {
            layers.choose(index, seen, use: &use, now: now)
        }

        /// A guest shows the picture in that size.
        mutating func show(_ size: PixelSize?, _ index: Int) -> LayerAssignment.Change {
            guard layers.sizeNamed(size, by: index, now: now) else { return .none }
            layers.fitPicture(index)
            return choose(index)
        }

        var present: [Int] { paths.indices.map { layers[$0] } }
    }

    private static let small = PixelSize(width: 640, height: 360)
    private static let picture = PixelSize(width: 1920, height: 1080)

    @Test func aPathFarSlowerThanOthersLeavesAndReturns() {
        var bench = Bench()
        bench.add(nil)
        bench.add(500_000)
        let first = bench.run(seconds: 1, rate: 6_000_000)
        #expect(first.isEmpty, "not at once")
        let second = bench.run(seconds: 3, rate: 6_000_000)
        #expect(second == [1] && bench.present == [0, 1])
        let third = bench.run(seconds: 10, rate: 6_000_000)
        #expect(third.isEmpty)
        bench.paths[1] = bench.paths[0]
        let fourth = bench.run(seconds: 3, rate: 6_000_000)
        #expect(fourth.isEmpty, "it has to be fast for a while")
        let fifth = bench.run(seconds: 3, rate: 6_000_000)
        #expect(fifth == [1] && bench.present == [0, 0])
    }

    @Test func nobodyLeavesWhereNobodyElseWatches() {
        var bench = Bench()
        bench.add(500_000)
        let alone = bench.run(seconds: 10, rate: 6_000_000)
        #expect(alone.isEmpty && !bench.layers.canLeaveFull(0, bench.seen))
        // Somebody records what the guest gets.
        bench.layers.isFullLayerKept = true
        #expect(bench.layers.canLeaveFull(0, bench.seen))
        let recorded = bench.run(seconds: 10, rate: 6_000_000)
        #expect(recorded == [0])
    }

    /// Where all others go, it goes back: a layer of its own costs the host more than it gives.
    @Test func aGuestThatIsLeftAloneReturnsAtOnce() {
        var bench = Bench()
        bench.add(nil)
        bench.add(500_000)
        _ = bench.run(seconds: 4, rate: 6_000_000)
        bench.layers.remove(0)
        bench.paths.removeFirst()
        let moved = bench.run(seconds: 1, rate: 0)
        #expect(moved == [0] && bench.present == [0])
    }

    @Test func aDeviceIsKnownAgain() {
        var bench = Bench()
        bench.add(nil)
        bench.add(500_000)
        _ = bench.run(seconds: 4, rate: 6_000_000)
        bench.layers.remove(1)
        bench.paths.removeLast()
        bench.add(500_000, device: 2)
        #expect(bench.present == [0, 1])
        bench.add(500_000, device: 9)
        #expect(bench.present == [0, 1, 0], "another device begins in the full layer")
    }

    /// A stranger can make any number of keys: what is kept of them is bounded, and goes before what is kept of others.
    @Test func whatIsKeptOfDevicesIsBounded() {
        var bench = Bench()
        bench.add(nil)
        bench.add(nil, device: 2, isPaired: true)
        _ = bench.layers.leaveFull(1, now: .zero)
        for device in 3...200 {
            bench.add(nil, device: UInt8(device), isPaired: false)
            _ = bench.layers.leaveFull(bench.paths.count - 1, now: .zero)
        }
        #expect(bench.layers.history.count == 64)
        #expect(bench.layers.history.contains { $0.device == .made(2) })
    }

    @Test func aGuestThatShowsThePictureSmallGetsTheReducedLayer() {
        var bench = Bench()
        bench.add(nil)
        bench.add(nil)
        let isNew = bench.layers.pictureSizeChanged(Self.picture)
        let isNewAgain = bench.layers.pictureSizeChanged(Self.picture)
        #expect(isNew && !isNewAgain)
        let small = bench.show(Self.small, 1)
        #expect(small == .layer(from: 0, isForSize: true))
        #expect(bench.layers.places[1].shown.applied == 3)
        bench.now = bench.now + .seconds(1)
        let large = bench.show(nil, 1)
        #expect(large == .layer(from: 1, isForSize: true) && bench.present == [0, 0])
    }

    /// Each change of layers costs those who watch there a keyframe: a guest may cause three, then one each 10 s.
    @Test func sizesThatChangeAllTheTimeCostOthersLittle() {
        var bench = Bench()
        for _ in 0..<3 { bench.add(nil) }
        _ = bench.layers.pictureSizeChanged(Self.picture)
        _ = bench.show(Self.small, 1)
        var moves = 0
        for number in 0..<60 {
            bench.now = bench.now + .seconds(1)
            if case .layer = bench.show(number.isMultiple(of: 2) ? Self.small : nil, 2) { moves += 1 }
        }
        #expect((3...9).contains(moves), "\(moves)")
    }

    @Test func aGuestThatTakesNoLargePictureIsTold() {
        var bench = Bench()
        bench.layers = LayerAssignment(bitRate: 8_000_000, usesFullChroma: false)
        _ = bench.layers.pictureSizeChanged(PixelSize(width: 7680, height: 2160))
        bench.add(nil, bounds: PictureBounds(sides: PixelSize(width: 4096, height: 4096), area: 1920 * 1088))
        #expect(bench.present == [1])
        let first = bench.layers.takeLimit(0)
        #expect(first.full == PixelSize(width: 7680, height: 2160) && first.isNews)
        let again = bench.layers.takeLimit(0)
        #expect(!again.isNews)
    }

    @Test func whoCannotDecodeFullChromaStaysInTheReducedLayer() {
        var bench = Bench()
        bench.layers = LayerAssignment(bitRate: 8_000_000, usesFullChroma: true)
        bench.add(nil, decodesFullChroma: true)
        bench.add(nil)
        bench.addVersion1()
        #expect(bench.present == [0, 1, 1])
        let moved = bench.run(seconds: 20, rate: 1_000_000)
        #expect(moved.isEmpty)
    }

    /// A relay passes on the frames that it gets, and encodes none.
    @Test(arguments: [true, false]) func nobodyGetsALayerThatNobodyEncodes(hasReducedLayer: Bool) {
        var bench = Bench()
        bench.layers = LayerAssignment(bitRate: 8_000_000, usesFullChroma: false, hasReducedLayer: hasReducedLayer)
        _ = bench.layers.pictureSizeChanged(PixelSize(width: 1920, height: 1080))
        bench.add(nil)
        bench.add(600_000)
        bench.add(nil, bounds: PictureBounds(sides: PixelSize(width: 1280, height: 1280), area: 1280 * 720))
        let moved = bench.run(seconds: 20, rate: 6_000_000)
        #expect(bench.present == (hasReducedLayer ? [0, 1, 1] : [0, 0, 0]))
        #expect(moved.isEmpty != hasReducedLayer)
    }

    @Test func version1StaysWhereItIs() {
        var bench = Bench()
        bench.add(nil)
        bench.addVersion1()
        #expect(!bench.layers.canLeaveFull(1, bench.seen))
        let moved = bench.run(seconds: 10, rate: 6_000_000)
        #expect(moved.isEmpty)
    }

    @Test func aSilentGuestIsNotMoved() {
        var bench = Bench()
        bench.add(nil)
        bench.add(500_000)
        bench.paths[1].isSilent = true
        bench.paths[1].isReachable = false
        let moved = bench.run(seconds: 10, rate: 6_000_000)
        #expect(moved.isEmpty)
    }
}
