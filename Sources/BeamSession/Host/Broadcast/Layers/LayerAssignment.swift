import BeamMedia
import BeamWire

/// Says which guest gets which simulcast layer, and how large the reduced layer has to be.
///
/// What decides: what each guest's path carries (`GuestPaths`), the size in which it shows the picture and the largest
/// picture that it takes (`ShownSize`), the most that it wishes to be sent (`WishedQuality`), its decoder and version,
/// whether it shares a bottleneck with others (`SharedBottleneck`), and whether somebody records the full layer. A guest
/// that changes layers costs those in its new layer a keyframe, which is paid from its budget.
///
/// It changes only itself: whoever calls it carries out each `Change`. Time is an argument.
struct LayerAssignment: Sendable {
    /// A guest's layer, and what is known of the guest.
    struct Place: Sendable {
        let id: ViewerID
        /// Version 2.
        let device: DeviceKey?
        let isPaired: Bool
        let decodesFullChroma: Bool
        fileprivate(set) var layer: Int
        /// In which size the viewer shows the picture.
        fileprivate(set) var shown = ShownSize()
        fileprivate(set) var wish = WishedQuality()
        /// It was moved to the reduced layer while it had a wish.
        fileprivate(set) var isThereByWish = false
        fileprivate var hysteresis = LayerHysteresis()
        fileprivate var budget = KeyframeBudget()
        /// The full picture's size of which the viewer was told that it gets less; nil: it gets all of it.
        fileprivate var toldSize: PixelSize?
    }

    /// What has become different for a guest.
    enum Change: Hashable, Sendable {
        case none
        /// Another size of the reduced layer is enough for it.
        case size
        /// It gets another layer. `isForSize`: because of the size in which it shows the picture, or takes it, or because of
        /// the most that it wishes.
        case layer(from: Int, isForSize: Bool)
    }

    /// The viewers of a shared bottleneck, which get one layer.
    struct Group: Sendable {
        var bottleneck = SharedBottleneck()
        var updated = MediaTime(nanoseconds: .min / 2)
        var layer: Int?
        /// Since when another layer is better for them.
        var otherSince: MediaTime?
        /// When one of them got a keyframe beyond its budget last.
        var keyframe = MediaTime(nanoseconds: .min / 2)
    }

    /// A guest leaves the full layer if its path carries less than this share of the layer's bit rate: then even half of
    /// the frames are too many.
    static let leaveShare = LayerRate.halfOfFrames
    /// A guest returns when its path carries this share of the full layer's peak bit rate of the last minute.
    private static let returnShare = 0.7
    /// The most devices whose hysteresis is kept.
    private static let mostRemembered = 64

    /// The options' bits a second.
    let bitRate: Int
    /// The most frames a second that the full layer has.
    let frameRate: Double
    /// The full layer is 4:4:4.
    let usesFullChroma: Bool
    /// Somebody encodes a reduced layer. If not, all guests have the full one, whatever their paths carry.
    let hasReducedLayer: Bool
    /// Somebody who isn't a guest takes the full layer, too: no guest slows it down.
    var isFullLayerKept = false
    /// Of the full layer, at full quality; nil: not known yet.
    private(set) var pictureSize: PixelSize?
    /// In the order of the senders.
    private(set) var places: [Place] = []
    var group = Group()
    /// The hysteresis of devices that were moved out of the full layer, the latest last. It is kept for when such a device
    /// reconnects.
    private(set) var history: [(device: DeviceKey, isPaired: Bool, hysteresis: LayerHysteresis)] = []

    init(bitRate: Int, frameRate: Double = .infinity, usesFullChroma: Bool, hasReducedLayer: Bool = true) {
        self.bitRate = bitRate
        self.frameRate = frameRate
        self.usesFullChroma = usesFullChroma
        self.hasReducedLayer = hasReducedLayer
    }

    /// The layer of the guest at that index.
    subscript(index: Int) -> Int { places[index].layer }

    /// In which size the guest shows the picture.
    func shown(_ index: Int) -> ShownSize { places[index].shown }

    // MARK: Guests

    /// A guest comes. Nothing is known of its path yet.
    mutating func append(_ guest: AdmittedGuest) {
        var place = Place(
            id: guest.id, device: guest.device, isPaired: guest.isPaired,
            decodesFullChroma: guest.features.contains(.fullChroma), layer: SimulcastLayer.full)
        if guest.device != nil { place.shown.bounds = guest.bounds ?? .unstated }
        place.shown.fit(pictureSize)
        if place.shown.isLimited { place.shown.apply() }
        if let known = history.first(where: { $0.device == guest.device }) { place.hysteresis = known.hysteresis }
        let takesFull = !usesFullChroma || place.decodesFullChroma
        if hasReducedLayer, !takesFull || place.shown.isLimited || place.hysteresis.isReduced {
            place.layer = SimulcastLayer.reduced
        }
        places.append(place)
    }

    mutating func remove(_ index: Int) {
        group.bottleneck.left(places[index].id)
        places.remove(at: index)
    }

    mutating func removeAll() { places.removeAll() }

    /// Takes a keyframe from the guest's budget, while others in its layer watch that need none. False if the budget is
    /// used up.
    mutating func payKeyframe(_ index: Int, now: MediaTime) -> Bool { places[index].budget.pay(now: now) }

    // MARK: Choosing

    /// How many guests of that layer have paths that aren't silent.
    func reachableCount(_ layer: Int, _ paths: some GuestPaths) -> Int {
        places.indices.count { places[$0].layer == layer && paths.isReachable($0) }
    }

    /// The guest is in the full layer, and others watch or record that. `reachable`: how many do, `isReachable`: it is one
    /// of them.
    func canLeaveFull(_ index: Int, isReachable: Bool, reachable: Int) -> Bool {
        guard hasReducedLayer, places[index].device != nil, places[index].layer == SimulcastLayer.full,
            !isInGroup(index)
        else { return false }
        return isFullLayerKept || reachable > (isReachable ? 1 : 0)
    }

    func canLeaveFull(_ index: Int, _ paths: some GuestPaths) -> Bool {
        canLeaveFull(
            index, isReachable: paths.isReachable(index), reachable: reachableCount(SimulcastLayer.full, paths))
    }

    /// The guest's path is too slow for the full layer.
    mutating func leaveFull(_ index: Int, now: MediaTime) -> Change {
        move(index, to: SimulcastLayer.reduced, now: now)
    }

    /// Something was heard of the guest's path, or the guest shows the picture in another size. `use`: the full layer's.
    mutating func choose(_ index: Int, _ paths: some GuestPaths, use: inout LayerUse, now: MediaTime) -> Change {
        let path = paths.path(index)
        guard hasReducedLayer, path.reports, !path.isSilent else { return .none }
        let (isDecided, change) = fitWishes(index, paths, now: now)
        if isDecided || usesFullChroma && !places[index].decodesFullChroma || isInGroup(index) { return change }
        if places[index].layer == SimulcastLayer.full {
            // Only a path below the layer's rate is compared with the others', which takes a look at each of them.
            let limit = use.current(now: now) * Self.leaveShare
            let isSlow =
                path.isBound && Double(path.rate) < limit
                && (fastestOther(than: index, paths).rate.map { Double(path.rate) < $0 * Self.leaveShare } ?? false)
            if places[index].hysteresis.isFarSlower(isSlow, now: now) { return leaveFull(index, now: now) }
        } else {
            let other = fastestOther(than: index, paths)
            let peak = use.peak(now: now)
            let isFast =
                other.rate.map { !path.isBound || Double(path.rate) > min($0, peak) * Self.returnShare } ?? true
            let mayReturn = places[index].hysteresis.isFastEnough(isFast, now: now)
            // Its return costs those who watch the full layer a keyframe.
            if other.isNone || mayReturn && payKeyframe(index, now: now) {
                return move(index, to: SimulcastLayer.full, now: now)
            }
        }
        return change
    }

    /// The highest known bandwidth estimate, in bits a second, of other guests of the full layer; `isNone` if there are no
    /// others.
    private func fastestOther(than index: Int, _ paths: some GuestPaths) -> (rate: Double?, isNone: Bool) {
        // A recording takes the options' rate.
        var (isNone, best) = (!isFullLayerKept, isFullLayerKept ? bitRate : nil)
        for other in places.indices where other != index && places[other].layer == SimulcastLayer.full {
            let path = paths.path(other)
            guard path.isReachable else { continue }
            isNone = false
            if !path.reports {
                best = max(best ?? 0, bitRate)
            } else if path.isBound || path.isMeasured {
                best = max(best ?? 0, path.rate)
            }
        }
        return (best.map { Double($0) }, isNone)
    }

    mutating func move(_ index: Int, to layer: Int, isForSize: Bool = false, now: MediaTime) -> Change {
        let from = places[index].layer
        places[index].layer = layer
        // Its size says nothing of its path.
        if !isForSize {
            if layer == SimulcastLayer.reduced {
                places[index].hysteresis.left(now: now)
            } else {
                places[index].hysteresis.cameBack(now: now)
            }
        }
        remember(index)
        return .layer(from: from, isForSize: isForSize)
    }

    /// Keeps the hysteresis for when the device reconnects.
    private mutating func remember(_ index: Int) {
        guard let device = places[index].device else { return }
        history.removeAll { $0.device == device }
        if history.count >= Self.mostRemembered {
            // Unpaired devices go first, as they can make any number of keys.
            history.remove(at: history.firstIndex { !$0.isPaired } ?? 0)
        }
        history.append((device, places[index].isPaired, places[index].hysteresis))
    }
}

// MARK: - Shown sizes and wishes

/// Guests that show the picture small, or take none as large as the full one, or wish less than the full layer has, get the
/// reduced layer, made as large as they need, take and wish.
///
/// What a guest says affects its own layer only. The reduced layer is never smaller than any of its guests needs, and one
/// that was moved there because of its path needs all of it. What a guest takes bounds the layer for all of them, because it
/// would see nothing otherwise; but not below `ShownSize.least`.
extension LayerAssignment {
    /// The guest says in which size it shows the picture; nil: any. True if that counts now; otherwise it may at
    /// its `deadline`.
    mutating func sizeNamed(_ size: PixelSize?, by index: Int, now: MediaTime) -> Bool {
        places[index].shown.received(size, now: now)
    }

    /// The most that the guest wishes to be sent. True if that counts now; otherwise it may at its `deadline`.
    mutating func qualityWanted(_ wish: QualityWish, by index: Int, now: MediaTime) -> Bool {
        places[index].wish.received(wish, now: now)
    }

    /// When to call `deadlineReached`; nil while nothing that the guest has said waits.
    func deadline(_ index: Int) -> MediaTime? {
        [places[index].shown.deadline, places[index].wish.deadline].compactMap(\.self).min()
    }

    /// True if a size or a wish that the guest has named counts from now on.
    mutating func deadlineReached(_ index: Int, now: MediaTime) -> Bool {
        let (size, wish) = (places[index].shown.deadlineReached(now: now), places[index].wish.deadlineReached(now: now))
        return size || wish
    }

    /// The most that is to be sent to the guest. In the full layer, where a guest with a wish is for moments only, others
    /// would pay for it.
    func bound(_ index: Int) -> QualityWish {
        places[index].layer == SimulcastLayer.reduced ? places[index].wish.current : .any
    }

    /// The guest was moved because of the most that it wishes.
    func isThereByWish(_ index: Int) -> Bool { places[index].isThereByWish }

    /// Less than the full layer is enough for the guest, or all that it takes or wishes.
    func isSmall(_ index: Int) -> Bool {
        places[index].shown.isSmall || places[index].wish.isBelow(bitRate: bitRate, frameRate: frameRate)
    }

    /// The full picture has another size. False if it hasn't.
    mutating func pictureSizeChanged(_ size: PixelSize) -> Bool {
        guard size != pictureSize else { return false }
        pictureSize = size
        return true
    }

    /// Finds anew how large a picture is enough for the guest.
    mutating func fitPicture(_ index: Int) {
        places[index].shown.maxSize = places[index].wish.current.maxSize
        places[index].shown.fit(pictureSize)
    }

    /// The full picture's size if the guest gets less of it, and whether that is news. To be told to the guest.
    mutating func takeLimit(_ index: Int) -> (full: PixelSize?, isNews: Bool) {
        let full = places[index].shown.isLimited ? pictureSize : nil
        defer { places[index].toldSize = full }
        return (full, full != places[index].toldSize)
    }

    /// Chooses the guest's layer by the size in which it shows the picture and by what it wishes. If that decides it
    /// (`isDecided`), its path has no say: the reduced layer is right for every path.
    private mutating func fitWishes(
        _ index: Int, _ paths: some GuestPaths, now: MediaTime
    ) -> (isDecided: Bool, Change) {
        let (shown, layer, isSmall) = (places[index].shown, places[index].layer, isSmall(index))
        guard shown.isOutdated || isSmall != (layer == SimulcastLayer.reduced) else { return (isSmall, .none) }
        if isSmall {
            if layer == SimulcastLayer.full {
                guard mayDisturb(SimulcastLayer.reduced, index, paths, now: now) else { return (false, .none) }
                places[index].shown.apply()
                places[index].isThereByWish = places[index].wish.current != .any
                return (true, move(index, to: SimulcastLayer.reduced, isForSize: true, now: now))
            }
            let mayApply = !changesReducedLayer(index) || mayDisturb(SimulcastLayer.reduced, index, paths, now: now)
            if mayApply { places[index].shown.apply() }
            return (true, mayApply ? .size : .none)
        }
        let mayReturn = layer == SimulcastLayer.reduced && !isBoundToReduced(index)
        guard shown.isOutdated || mayReturn else { return (false, .none) }
        guard mayReturn else {
            // It stays for another reason.
            guard layer == SimulcastLayer.full || mayDisturb(layer, index, paths, now: now) else {
                return (false, .none)
            }
            places[index].shown.apply()
            return (false, .size)
        }
        guard mayDisturb(SimulcastLayer.full, index, paths, now: now) else { return (true, .none) }
        places[index].shown.apply()
        return (true, move(index, to: SimulcastLayer.full, isForSize: true, now: now))
    }

    /// The guest's path or decoder keeps it in the reduced layer.
    private func isBoundToReduced(_ index: Int) -> Bool {
        places[index].hysteresis.isReduced || usesFullChroma && !places[index].decodesFullChroma
    }

    /// Whether the guest may cause a keyframe in that layer: others that watch it pay for it, too.
    private mutating func mayDisturb(_ layer: Int, _ index: Int, _ paths: some GuestPaths, now: MediaTime) -> Bool {
        let isShared = places.indices.contains {
            $0 != index && places[$0].layer == layer && paths.isReachable($0)
        }
        return !isShared || payKeyframe(index, now: now)
    }

    /// Whether the reduced layer's size changes with what this guest needs.
    private func changesReducedLayer(_ index: Int) -> Bool {
        var most = 0
        for other in places.indices where other != index && places[other].layer == SimulcastLayer.reduced {
            most = max(most, places[other].shown.applied)
        }
        let shown = places[index].shown
        return max(most, shown.wanted) != max(most, shown.applied)
    }
}
