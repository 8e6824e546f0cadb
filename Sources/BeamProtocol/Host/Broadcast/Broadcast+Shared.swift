import BeamMedia

/// Viewers behind a shared bottleneck: they get equal shares of it, and one layer.
extension Broadcast {
    /// How long another layer has to be better for the group before it moves.
    private static let patience = Duration.seconds(3)

    /// Something was heard from the viewer. `congestions`: how often its path had been congested before.
    mutating func followShared(_ index: Int, congestions: Int, now: MediaTime) {
        if let path = senders.all[index].delivery?.path, path.congestions != congestions {
            shared.congested(senders.all[index].id, now: now)
        }
        guard now - sharedUpdate >= SharedBottleneck.interval else { return }
        guard senders.count > 2 || senders.all[index].delivery?.path.share != nil else { return }
        sharedUpdate = now
        let paths = senders.all.indices.compactMap { index -> SharedBottleneck.Path? in
            guard senders.all[index].isReachable, let path = senders.all[index].delivery?.path, path.hasAnswered
            else { return nil }
            return SharedBottleneck.Path(
                id: senders.all[index].id, arrived: path.arrived, isCongested: path.congestion != nil,
                queue: path.delay.queue(now: now)?.delay ?? 0, loss: path.loss, isBound: path.isBound)
        }
        let limit = senders.all[index].delivery?.path.limit ?? configuration.bitRate
        shared.update(paths, limit: Double(limit), now: now)
        let share = shared.allotted
        for index in senders.all.indices {
            let own = isInGroup(index) ? share : nil
            guard own != nil || senders.all[index].delivery?.path.share != nil else { continue }
            senders.all[index].delivery?.path.useShare(own)
            senders.markReady(index)
        }
        guard share != nil else { return sharedLayer = nil }
        assignShared(now: now)
    }

    /// The viewer is one of several behind a shared bottleneck, so that its path alone doesn't decide on its layer.
    func isInGroup(_ index: Int) -> Bool { shared.contains(senders.all[index].id) }

    /// Moves the group to the layer that serves all viewers best.
    private mutating func assignShared(now: MediaTime) {
        let limit = Double(configuration.bitRate)
        var viewers = senders.all.indices.map { index -> LayerAssignment.Viewer in
            let sender = senders.all[index]
            let isFixed =
                sender.form == .version1 || sender.shown.isSmall || !sender.isReachable
                || configuration.usesFullChroma && sender.delivery?.decodesFullChroma != true
            var rate = limit
            if case .bound(let bound) = sender.layerPath(now: now) { rate = min(limit, Double(bound)) }
            return LayerAssignment.Viewer(rate: rate, fixed: isFixed ? sender.layer : nil)
        }
        if isFullLayerKept {
            // A recording is a viewer whose path carries everything.
            viewers.append(LayerAssignment.Viewer(rate: limit, fixed: SimulcastLayer.full))
        }
        let best = LayerAssignment(best: viewers, limit: limit)
        let group = senders.all.indices.filter { isInGroup($0) && viewers[$0].fixed == nil }
        let full = group.count { best.layers[$0] == SimulcastLayer.full }
        let wanted = full * 2 >= group.count ? SimulcastLayer.full : SimulcastLayer.reduced
        if let current = sharedLayer, current.layer != wanted {
            let since = sharedLayerSince ?? now
            sharedLayerSince = since
            guard now - since >= Self.patience else { return moveShared(group, to: current.layer, now: now) }
        }
        sharedLayerSince = nil
        sharedLayer = (wanted, now)
        moveShared(group, to: wanted, now: now)
    }

    private mutating func moveShared(_ group: [Int], to layer: Int, now: MediaTime) {
        for index in group where senders.all[index].layer != layer { move(index, to: layer, now: now) }
        stopIdleLayers()
    }
}
