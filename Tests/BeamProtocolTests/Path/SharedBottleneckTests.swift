import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Viewers behind one bottleneck in a fluid model, in virtual time: what is sent above its rate stands in a queue that
/// all see, and is dropped when that is full.
struct SharedBottleneckTests {
    private struct Model {
        var bottleneck = SharedBottleneck()
        var capacity: Double
        /// What each viewer is sent at most, and which part of its share the encoder takes.
        var wanted = 4e6
        var usage = 1.0
        var shared: [ViewerID]
        /// Viewers on paths of their own: what these carry.
        var own: [(id: ViewerID, carries: Double)] = []
        var now = MediaTime.at(1)
        private var queue = 0.0
        private var arrived: [ViewerID: Double] = [:]
        private var wasCongested: Set<ViewerID> = []
        private(set) var used: [Double] = []

        init(_ count: Int, capacity: Double) {
            self.capacity = capacity
            shared = (1...count).map { ViewerID(value: UInt64($0)) }
        }

        func sent(_ id: ViewerID) -> Double {
            guard let share = bottleneck.allotted, bottleneck.contains(id) else { return wanted }
            return min(wanted, share.rate * usage)
        }

        mutating func run(_ seconds: Double) {
            for _ in 0..<Int(seconds * 10) {
                now = now + .milliseconds(100)
                let total = shared.reduce(0) { $0 + sent($1) }
                let carried = min(total + queue * 10, capacity)
                // 50 ms of queue at most.
                queue = min(capacity * 0.05, max(0, queue + (total - capacity) * 0.1))
                var paths: [SharedBottleneck.Path] = []
                for id in shared {
                    arrived[id, default: 0] += (total > 0 ? carried * sent(id) / total : 0) * 0.1 / 8
                    paths.append(path(id, isCongested: queue > capacity * 0.02))
                }
                for (id, carries) in own {
                    arrived[id, default: 0] += min(carries, sent(id)) * 0.1 / 8
                    paths.append(path(id, isCongested: sent(id) > carries))
                }
                bottleneck.update(paths, limit: 6e6, now: now)
                used.append(carried)
            }
        }

        private mutating func path(_ id: ViewerID, isCongested: Bool) -> SharedBottleneck.Path {
            if isCongested, wasCongested.insert(id).inserted { bottleneck.congested(id, now: now) }
            if !isCongested { wasCongested.remove(id) }
            return SharedBottleneck.Path(
                id: id, arrived: Int64(arrived[id] ?? 0), isCongested: isCongested, queue: isCongested ? 0.03 : 0,
                loss: 0,
                isBound: isCongested || bottleneck.contains(id))
        }
    }

    /// A class wants four times, or nearly three times, what its access point carries. Most of that is used.
    @Test(arguments: [20e6, 30e6], [1.0, 0.55]) func aClassSharesItsAccessPoint(capacity: Double, usage: Double) throws
    {
        var model = Model(20, capacity: capacity)
        model.usage = usage
        model.run(20)
        #expect(model.shared.allSatisfy { model.bottleneck.contains($0) })
        model.run(20)
        let later = model.used.suffix(200)
        #expect(later.reduce(0, +) / Double(later.count) > 0.7 * capacity, "\(later.reduce(0, +) / 200)")
        let share = try #require(model.bottleneck.allotted)
        #expect(share.rate * usage < 1.3 * capacity / 20)
    }

    @Test func theShareGrowsWhenThereIsRoomAgain() {
        var model = Model(20, capacity: 20e6)
        model.run(20)
        model.capacity = 200e6
        model.run(30)
        #expect(model.bottleneck.allotted == nil, "nothing limits them any more")
        #expect((model.used.last ?? 0) >= 79e6)
        // Half of the viewers leave, and the others get more.
        var small = Model(20, capacity: 20e6)
        small.run(20)
        let before = small.bottleneck.allotted?.rate ?? 0
        for id in small.shared[10...] { small.bottleneck.left(id) }
        small.shared.removeLast(10)
        small.run(20)
        #expect((small.bottleneck.allotted?.rate ?? 0) > 1.4 * before)
    }

    /// A viewer whose own path is narrower is congested when the others aren't, and isn't counted among them; one on a
    /// fast path never belongs to them.
    @Test func whoIsOnAPathOfItsOwnIsLeftOut() {
        var model = Model(10, capacity: 15e6)
        model.own = [(ViewerID(value: 90), 100e6)]
        model.run(30)
        #expect(!model.bottleneck.contains(ViewerID(value: 90)))
        #expect(model.shared.allSatisfy { model.bottleneck.contains($0) })
    }

    @Test func oneOrTwoSlowViewersAreNoGroup() {
        var model = Model(2, capacity: 1e6)
        model.own = (0..<10).map { (ViewerID(value: UInt64(100 + $0)), 100e6) }
        model.run(20)
        #expect(model.bottleneck.allotted == nil)
    }
}

/// How viewers are divided among the layers.
struct LayerDivisionTests {
    private func layers(_ rates: [Double], fixed: [Int?] = []) -> [Int] {
        let viewers = rates.enumerated().map { index, rate in
            LayerDivision.Viewer(rate: rate, fixed: index < fixed.count ? fixed[index] : nil)
        }
        return LayerDivision(best: viewers, limit: 8e6).layers
    }

    @Test func equalPathsGetOneLayer() {
        #expect(layers([1e6]) == [0])
        #expect(layers([Double](repeating: 0.9e6, count: 20)) == [Int](repeating: 0, count: 20))
        #expect(layers([1e6, 0.9e6, 0.85e6]) == [0, 0, 0], "estimates differ by as much")
    }

    @Test func aFastViewerIsNotSlowedDownByAClass() {
        #expect(layers([8e6] + [Double](repeating: 0.9e6, count: 20)) == [0] + [Int](repeating: 1, count: 20))
        #expect(layers([8e6, 8e6, 0.4e6]) == [0, 0, 1])
    }

    /// One very slow viewer among a class: the class keeps the full layer.
    @Test func aVerySlowViewerGetsTheReducedLayer() {
        #expect(layers([Double](repeating: 1e6, count: 20) + [0.1e6]) == [Int](repeating: 0, count: 20) + [1])
        // A fast one, a class, and a slow one: the many decide, and nobody is left with nothing.
        let mixed = layers([8e6] + [Double](repeating: 1e6, count: 20) + [0.1e6])
        #expect(mixed[0] == 0 && mixed[21] == 1)
        #expect(Set(mixed[1...20]).count == 1)
    }

    @Test func fixedViewersStayAndCount() {
        #expect(layers([8e6, 1e6, 1e6], fixed: [1, nil, nil])[0] == 1)
        // A recording, which takes everything in the full layer.
        #expect(layers([8e6, 0.5e6], fixed: [0, nil]) == [0, 1])
    }

    @Test func hostileRatesDoNotTrap() {
        for rate in [0.0, 1, 1e300, .infinity] {
            #expect(layers([rate, 1e6, rate]).count == 3)
        }
        #expect(layers([]).isEmpty)
    }

    @Test func theLogarithmIsExactEnough() {
        let known: [(Double, Double)] = [
            (1, 0), (2, 0.693_147_180_56), (2.718_281_828_459, 1), (10, 2.302_585_092_99), (1e9, 20.723_265_836_95),
        ]
        for (number, logarithm) in known {
            #expect(abs(LayerDivision.logarithm(number) - logarithm) < 1e-7, "\(number)")
        }
    }
}
