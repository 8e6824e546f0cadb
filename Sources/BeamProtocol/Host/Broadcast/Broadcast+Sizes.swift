import BeamMedia

/// Gives viewers that show the picture small, or take none as large as the full one, the reduced layer, made as large as
/// they need and take.
///
/// What a viewer says affects its own layer only. The reduced layer is never smaller than any of its viewers needs, and
/// one that was moved there because of its path needs all of it. What a viewer takes bounds the layer for all of them,
/// because it would see nothing otherwise; but not below `ShownSize.least`. What costs others a keyframe is paid from the viewer's
/// budget of keyframes.
extension Broadcast {
    mutating func shownSizeNamed(_ size: PixelSize?, by id: ViewerID, now: MediaTime) {
        guard let index = senders.index(of: id) else { return }
        if senders.all[index].shown.received(size, now: now) {
            shownSizeChanged(index, now: now)
        } else {
            // Its next deadline may be earlier now.
            senders.markReady(index)
        }
    }

    mutating func pictureSizeChanged(_ size: PixelSize, now: MediaTime) {
        guard size != pictureSize else { return }
        pictureSize = size
        for index in senders.all.indices { shownSizeChanged(index, now: now) }
    }

    mutating func shownSizeChanged(_ index: Int, now: MediaTime) {
        senders.all[index].shown.fit(pictureSize)
        tellLimit(index)
        senders.markReady(index)
        chooseLayer(index, now: now)
    }

    /// Tells the viewer, and the person here, that the full picture is more than the viewer takes; or that it no longer is.
    mutating func tellLimit(_ index: Int, isResumed: Bool = false) {
        let shown = senders.all[index].shown
        let full = shown.isLimited ? pictureSize : nil
        let isNews = full != senders.all[index].toldSize
        senders.all[index].toldSize = full
        guard isNews || isResumed else { return }
        outputs.append(.fullSize(senders.all[index].id, full))
        guard isNews else { return }
        emit(
            .pictureLimited(
                session: senders.all[index].session.description,
                full.flatMap { full in
                    shown.bounds.map { PictureLimit(full: full, sent: full.part(shown.limit), bounds: $0) }
                }))
    }

    /// Chooses the viewer's layer by the size in which it shows the picture. True if that decides it, so that its path
    /// has no say: the reduced layer is right for every path.
    mutating func fitsShownSize(_ index: Int, now: MediaTime) -> Bool {
        let (shown, layer) = (senders.all[index].shown, senders.all[index].layer)
        guard shown.isOutdated || shown.isSmall != (layer == SimulcastLayer.reduced) else { return shown.isSmall }
        if shown.isSmall {
            if layer == SimulcastLayer.full {
                guard mayDisturb(SimulcastLayer.reduced, index, now: now) else { return false }
                senders.all[index].shown.apply()
                fit(index, to: SimulcastLayer.reduced, now: now)
            } else if !changesReducedLayer(index) || mayDisturb(SimulcastLayer.reduced, index, now: now) {
                senders.all[index].shown.apply()
                senders.markReady(index)
            }
            return true
        }
        guard shown.isOutdated else { return false }
        guard layer == SimulcastLayer.reduced, !isBoundToReduced(index) else {
            // It stays for another reason.
            guard layer == SimulcastLayer.full || mayDisturb(layer, index, now: now) else { return false }
            senders.all[index].shown.apply()
            senders.markReady(index)
            return false
        }
        guard mayDisturb(SimulcastLayer.full, index, now: now) else { return true }
        senders.all[index].shown.apply()
        fit(index, to: SimulcastLayer.full, now: now)
        return true
    }

    /// The viewer's path or decoder keeps it in the reduced layer.
    private func isBoundToReduced(_ index: Int) -> Bool {
        senders.all[index].hysteresis.isReduced
            || configuration.usesFullChroma && senders.all[index].delivery?.decodesFullChroma != true
    }

    /// Whether the viewer may cause a keyframe in that layer: others that watch it pay for it, too.
    private mutating func mayDisturb(_ layer: Int, _ index: Int, now: MediaTime) -> Bool {
        let isShared = senders.all.indices.contains {
            $0 != index && senders.all[$0].layer == layer && senders.all[$0].isReachable
        }
        return !isShared || senders.all[index].rateLimits.payKeyframe(now: now)
    }

    /// Whether the reduced layer's size changes with what this viewer needs.
    private func changesReducedLayer(_ index: Int) -> Bool {
        let others = senders.all.indices.filter { $0 != index && senders.all[$0].layer == SimulcastLayer.reduced }
        let most = others.map { senders.all[$0].shown.applied }.max() ?? 0
        let shown = senders.all[index].shown
        return max(most, shown.wanted) != max(most, shown.applied)
    }

    private mutating func fit(_ index: Int, to layer: Int, now: MediaTime) {
        move(index, to: layer, isForSize: true, now: now)
        stopIdleLayers()
    }
}
