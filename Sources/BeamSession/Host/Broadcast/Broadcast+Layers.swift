import BeamMedia

/// Carries out who gets which layer, and tells the encoder what the layers' guests need.
extension Broadcast {
    // MARK: Changes of the assignment

    /// Looks at whether another layer suits the guest better.
    mutating func chooseLayer(_ index: Int, now: MediaTime) {
        let change = layers.choose(index, senders, use: &stream.layers[SimulcastLayer.full].use, now: now)
        carryOut(change, of: index, now: now)
    }

    /// Carries out what has changed for a guest.
    mutating func carryOut(_ change: LayerAssignment.Change, of index: Int, now: MediaTime) {
        switch change {
        case .none: break
        case .size: senders.markReady(index)
        case .layer(let from, let isForSize):
            isDirty[from] = true
            isDirty[layers[index]] = true
            senders.all[index].layerChanged(now: now)
            senders.all[index].quota.set(layers.bound(index), now: now)
            senders.markReady(index)
            if stream.isOn, senders.all[index].destination.isSet { join(index, now: now) }
            let session = senders.all[index].session.description
            let isReduced = layers[index] == SimulcastLayer.reduced
            emit(
                isForSize
                    ? .layerFitted(session: session, isReduced: isReduced, isForWish: layers.isThereByWish(index))
                    : .layerChanged(session: session, isReduced: isReduced))
            if isForSize { stopIdleLayers() }
        }
    }

    mutating func fullLayerKeptChanged(_ isKept: Bool, now: MediaTime) {
        guard isKept != layers.isFullLayerKept else { return }
        layers.isFullLayerKept = isKept
        isDirty[SimulcastLayer.full] = true
        for index in senders.all.indices { chooseLayer(index, now: now) }
    }

    /// A report has come from the guest. `congestions`: how often its path had been congested before.
    mutating func followGroup(_ index: Int, congestions: Int, now: MediaTime) {
        if senders.all[index].delivery?.path.congestions != congestions { layers.congested(index, now: now) }
        guard layers.isGroupDue(now: now), senders.count > 2 || senders.all[index].delivery?.path.share != nil else {
            return
        }
        let limit = senders.all[index].delivery?.path.limit ?? configuration.bitRate
        let paths = senders.all.indices.compactMap { index -> SharedBottleneck.Path? in
            guard senders.all[index].isReachable, let path = senders.all[index].delivery?.path, path.hasAnswered
            else { return nil }
            return SharedBottleneck.Path(
                id: senders.all[index].id, arrived: path.arrived, isCongested: path.congestion != nil,
                queue: path.delay.queue(now: now)?.delay ?? 0, loss: path.loss, isBound: path.isBound)
        }
        layers.updateGroup(paths, limit: Double(limit), now: now)
        for index in senders.all.indices {
            let share = layers.share(index)
            guard share != nil || senders.all[index].delivery?.path.share != nil else { continue }
            senders.all[index].delivery?.path.useShare(share)
            senders.markReady(index)
        }
        guard let (layer, guests) = layers.chooseForGroup(senders, now: now) else { return }
        for index in guests { carryOut(layers.move(index, to: layer, now: now), of: index, now: now) }
        stopIdleLayers()
    }

    // MARK: Sizes and wishes

    mutating func shownSizeNamed(_ size: PixelSize?, by id: ViewerID, now: MediaTime) {
        guard let index = senders.index(of: id) else { return }
        wished(index, counts: layers.sizeNamed(size, by: index, now: now), now: now)
    }

    /// The most that the guest wishes to be sent.
    mutating func qualityWanted(_ wish: QualityWish, by id: ViewerID, now: MediaTime) {
        // The only layer is everybody's. The host hasn't offered it.
        guard configuration.hasReducedLayer, let index = senders.index(of: id) else { return }
        wished(index, counts: layers.qualityWanted(wish, by: index, now: now), now: now)
    }

    private mutating func wished(_ index: Int, counts: Bool, now: MediaTime) {
        if counts {
            wishesChanged(index, now: now)
        } else {
            // Its next deadline may be earlier now.
            senders.markReady(index)
        }
    }

    mutating func pictureSizeChanged(_ size: PixelSize, now: MediaTime) {
        guard layers.pictureSizeChanged(size) else { return }
        for index in senders.all.indices { wishesChanged(index, now: now) }
    }

    mutating func wishesChanged(_ index: Int, now: MediaTime) {
        layers.fitPicture(index)
        tellLimit(index)
        senders.all[index].quota.set(layers.bound(index), now: now)
        senders.markReady(index)
        chooseLayer(index, now: now)
    }

    /// Tells the guest, and the person here, that the full picture is more than the guest takes; or that it no longer is.
    mutating func tellLimit(_ index: Int, isResumed: Bool = false) {
        let (full, isNews) = layers.takeLimit(index)
        guard isNews || isResumed else { return }
        outputs.append(.fullSize(senders.all[index].id, full))
        guard isNews else { return }
        let shown = layers.shown(index)
        emit(
            .pictureLimited(
                session: senders.all[index].session.description,
                full.flatMap { full in
                    shown.bounds.map { PictureLimit(full: full, sent: full.part(shown.limit), bounds: $0) }
                }))
    }

    // MARK: Demand

    /// Outputs the layers' demands that have changed; false if none has.
    mutating func changeDemands(now: MediaTime) -> Bool {
        var hasChanged = isSoundDirty && updateSoundDemand(now: now)
        isSoundDirty = false
        let ceiling = isDirty.contains(true) ? sharedCeiling() : nil
        // Told last, so that a viewer that changes layers doesn't stop the source for a moment.
        var unwatched: [Output] = []
        for layer in isDirty.indices where isDirty[layer] {
            isDirty[layer] = false
            let contributions = senders.contributions.lazy.filter { $0.layer == layer }
            let isTemporal = stream.layers[layer].temporalUntil.map { $0 > now } ?? false
            let made = LayerDemand(
                contributions, isReduced: layer == SimulcastLayer.reduced,
                use: stream.layers[layer].use.current(now: now),
                isRequested: stream.layers[layer].keyframes.isRequested, last: stream.layers[layer].demand,
                isTemporal: isTemporal, isKept: layers.isFullLayerKept && layer == SimulcastLayer.full,
                ceiling: ceiling, frameDivisor: shedding.divisor, scratch: &stream.scratch)
            stream.wantedRates[layer] = made.pathRate
            if made.hasSlowViewer { stream.layers[layer].temporalUntil = now + LayerDemand.temporalTime }
            stream.parityShare[layer] = made.parityShare
            let demand = stream.isOn ? made.demand : StreamDemand()
            guard demand != stream.layers[layer].demand else { continue }
            stream.layers[layer].demand = demand
            if demand.isWatched {
                outputs.append(.demand(demand, layer: layer))
            } else {
                unwatched.append(.demand(demand, layer: layer))
            }
            hasChanged = true
        }
        for output in unwatched { outputs.append(output) }
        return hasChanged
    }

    // MARK: Idle layers

    func isWatched(_ layer: Int) -> Bool {
        senders.all.indices.contains { layers[$0] == layer && senders.all[$0].destination.isSet }
    }

    /// A guest whose address is being validated is about to get the layer.
    private func isExpected(_ layer: Int) -> Bool {
        senders.all.indices.contains {
            layers[$0] == layer && !senders.all[$0].destination.isSet && senders.all[$0].validation.expiry != nil
        }
    }

    mutating func stopIdleLayers() {
        for layer in stream.layers.indices where !isWatched(layer) && !isExpected(layer) {
            stream.layers[layer].removeAll()
            stream.layers[layer].keyframes.stop()
            isDirty[layer] = true
        }
    }
}
