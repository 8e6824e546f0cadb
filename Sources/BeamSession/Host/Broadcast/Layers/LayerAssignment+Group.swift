import BeamMedia

/// Guests behind a shared bottleneck: they get equal shares of it, and one layer.
extension LayerAssignment {
    /// How long another layer has to be better for the group before it moves.
    private static let patience = Duration.seconds(3)
    /// Between keyframes for guests whose budget is used up, as it is after an overload.
    private static let keyframeInterval = Duration.seconds(3)

    /// The guest is one of several behind a shared bottleneck, so that its path alone doesn't decide on its layer.
    func isInGroup(_ index: Int) -> Bool { group.bottleneck.contains(places[index].id) }

    /// There is a group.
    var hasGroup: Bool { !group.bottleneck.isEmpty }

    /// What the guest may be sent of the group's bottleneck; nil: it isn't in the group.
    func share(_ index: Int) -> SharedBottleneck.Share? { isInGroup(index) ? group.bottleneck.allotted : nil }

    /// A queue was seen on the guest's path.
    mutating func congested(_ index: Int, now: MediaTime) {
        group.bottleneck.congested(places[index].id, now: now)
    }

    /// It is time for `updateGroup`.
    func isGroupDue(now: MediaTime) -> Bool { now - group.updated >= SharedBottleneck.interval }

    /// Takes what is known of all paths that have answered; `limit`: the most bits a second that are wanted for a guest.
    mutating func updateGroup(_ paths: [SharedBottleneck.Path], limit: Double, now: MediaTime) {
        group.updated = now
        group.bottleneck.update(paths, limit: limit, now: now)
        if !hasGroup { group.layer = nil }
    }

    /// One of the group needs a keyframe, its budget is used up, and it can't go to another layer: without a keyframe it
    /// would see nothing more. True if it gets one now.
    mutating func takeGroupKeyframe(_ index: Int, now: MediaTime) -> Bool {
        guard isInGroup(index), now - group.keyframe >= Self.keyframeInterval else { return false }
        group.keyframe = now
        return true
    }

    /// Chooses the layer that serves all guests best, and returns those of the group that aren't in it yet: they have to
    /// `move`.
    mutating func chooseForGroup(_ paths: some GuestPaths, now: MediaTime) -> (layer: Int, guests: [Int])? {
        guard hasReducedLayer, hasGroup else { return nil }
        let limit = Double(bitRate)
        var viewers = places.indices.map { index -> LayerDivision.Viewer in
            let place = places[index]
            let isFixed =
                place.device == nil || isSmall(index) || !paths.path(index).isReachable
                || usesFullChroma && !place.decodesFullChroma
            var rate = limit
            if case .bound(let bound) = paths.layerPath(index, now: now) { rate = min(limit, Double(bound)) }
            return LayerDivision.Viewer(rate: rate, fixed: isFixed ? place.layer : nil)
        }
        if isFullLayerKept {
            // A recording is a viewer whose path carries everything.
            viewers.append(LayerDivision.Viewer(rate: limit, fixed: SimulcastLayer.full))
        }
        let best = LayerDivision(best: viewers, limit: limit)
        let members = places.indices.filter { isInGroup($0) && viewers[$0].fixed == nil }
        let full = members.count { best.layers[$0] == SimulcastLayer.full }
        let layer = groupLayer(
            wanted: full * 2 >= members.count ? SimulcastLayer.full : SimulcastLayer.reduced, now: now)
        return (layer, members.filter { places[$0].layer != layer })
    }

    private mutating func groupLayer(wanted: Int, now: MediaTime) -> Int {
        if let current = group.layer, current != wanted {
            let since = group.otherSince ?? now
            group.otherSince = since
            guard now - since >= Self.patience else { return current }
        }
        group.otherSince = nil
        group.layer = wanted
        return wanted
    }
}
