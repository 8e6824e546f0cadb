import BeamMedia
import BeamWire

/// What leaves for each browser, and when.
extension BrowserStream {
    /// Gives the browser what is due: one output, or none and its next `wake`.
    mutating func serve(_ index: Int, now: MediaTime) {
        if isOver(index, now: now) { return }
        endPause(index, now: now)
        if browsers[index].packets != nil {
            servePackets(index, now: now)
        } else {
            serveUnits(index, now: now)
        }
    }

    /// When the next browser is due, or a keyframe is requested.
    func nextWake(now: MediaTime) -> MediaTime {
        let keyframe = layers.compactMap(\.keyframes.due).min() ?? .distantFuture
        return browsers.reduce(keyframe) { min($0, $1.wake) }
    }

    /// Ends a browser that wasn't heard of for too long.
    private mutating func isOver(_ index: Int, now: MediaTime) -> Bool {
        guard let since = browsers[index].silentSince, now - since >= Browser.silence else { return false }
        isDirty = true
        guard now - since >= Browser.lifetime else { return false }
        let browser = browsers.remove(at: index)
        emit(.evict(browser.id, reason: browser.packets == nil ? .noAcknowledgements : .noReports))
        return true
    }

    mutating func emit(_ event: BrowserStreamEvent) { outputs.append(.event(event)) }

    /// Goes on with a keyframe after a pause, or when the browser's budget has one again.
    private mutating func endPause(_ index: Int, now: MediaTime) {
        if let until = browsers[index].pausedUntil, until <= now {
            browsers[index].pausedUntil = nil
            wantKeyframe(index, now: now)
        } else if browsers[index].isUnpaid {
            wantKeyframe(index, now: now)
        }
    }

    // MARK: Packets

    private mutating func servePackets(_ index: Int, now: MediaTime) {
        let layer = browsers[index].layer
        for report in browsers[index].packets?.reports(
            video: clock.timestamp(of: now), sound: sound.timestamp(of: now), now: now) ?? []
        {
            outputs.append(.control(browsers[index].id, report))
        }
        guard browsers[index].isReachable(now: now) else { return isSilent(index, now: now) }
        var wake = browsers[index].packets?.wake ?? .distantFuture
        if let (burst, wait) = browsers[index].packets?.resend(layers, now: now) {
            if let burst { return again(burst, index) }
            wake = min(wake, wait)
        }
        if let wait = servePicture(index, layer, now: now) {
            wake = min(wake, wait)
        } else {
            return
        }
        if let burst = browsers[index].packets?.probe(layers, now: now) { return again(burst, index) }
        rest(index, wake: min(wake, browsers[index].packets?.wake ?? .distantFuture), now: now)
    }

    private mutating func again(_ burst: BrowserBurst, _ index: Int) {
        browsers[index].figures.resent += 1
        outputs.append(.packets(browsers[index].id, burst))
    }

    /// Sends packets of the next picture. Returns when the next may leave, or nil if some have left.
    private mutating func servePicture(_ index: Int, _ layer: Int, now: MediaTime) -> MediaTime? {
        while let position = nextPosition(index, layer, now: now) {
            guard let picture = layers[layer].picture(position) else {
                // An encoder's frame that can't be cut: those after it refer to it.
                fallBehind(index, now: now)
                continue
            }
            let frame = layers[layer][position]
            let step = browsers[index].packets?.packets(
                of: picture, frame, layer: layer, position: position, now: now)
            guard let step, let burst = step.burst else { return step?.wait }
            browsers[index].lastOrder = frame.order
            browsers[index].count(packets: burst.count, bytes: burst.payloadBytes)
            browsers[index].sentPackets(now: now)
            browsers[index].path.sent(packets: burst.count, bytes: burst.payloadBytes)
            outputs.append(.packets(browsers[index].id, burst))
            if step.isOver { finished(index, frame, position, now: now) }
            return nil
        }
        return .distantFuture
    }

    /// The position of the frame that is sent next, or is being sent; nil if there is none.
    private mutating func nextPosition(_ index: Int, _ layer: Int, now: MediaTime) -> Int? {
        while var position = browsers[index].cursor, position < layers[layer].end {
            guard layers[layer].contains(position) else {
                fallBehind(index, now: now)
                return nil
            }
            if browsers[index].packets?.isAmidPicture == true { return position }
            // A newer keyframe makes what waits before it needless.
            if let keyframe = layers[layer].keyframePosition, keyframe > position {
                browsers[index].figures.skipped += UInt64(keyframe - position)
                position = keyframe
                browsers[index].cursor = keyframe
            }
            let frame = layers[layer][position]
            if now - frame.pushed > Browser.longestBacklog, !frame.encoded.isKeyframe {
                fallBehind(index, now: now)
                return nil
            }
            guard browsers[index].skipsDisposable, frame.encoded.unit.isDisposable else { return position }
            browsers[index].figures.skipped += 1
            browsers[index].cursor = position + 1
        }
        return nil
    }

    /// A frame has left.
    private mutating func finished(_ index: Int, _ frame: BrowserLayer.Frame, _ position: Int, now: MediaTime) {
        browsers[index].cursor = position + 1
        browsers[index].lastOrder = frame.order
        browsers[index].figures.frames += 1
        if frame.encoded.isKeyframe {
            browsers[index].figures.keyframes += 1
            browsers[index].lastKeyframe = now
        }
        if !browsers[index].hasStarted {
            browsers[index].hasStarted = true
            emit(.started(browsers[index].id, after: now - browsers[index].admitted))
        }
        if browsers[index].isBehind {
            browsers[index].isBehind = false
            emit(.caughtUp(browsers[index].id))
        }
    }

    /// Nothing was heard of the browser for a while: it gets nothing but reports.
    private mutating func isSilent(_ index: Int, now: MediaTime) {
        if browsers[index].cursor != nil { fallBehind(index, wantsKeyframe: false, now: now) }
        rest(index, wake: browsers[index].packets?.wake ?? .distantFuture, now: now)
    }

    /// Nothing is due before `wake`, but for what isn't about pictures.
    private mutating func rest(_ index: Int, wake: MediaTime, now: MediaTime) {
        var wake = min(wake, browsers[index].pausedUntil ?? .distantFuture)
        if browsers[index].isUnpaid { wake = min(wake, now + .seconds(1)) }
        if let since = browsers[index].silentSince {
            let silent = since + Browser.silence
            wake = min(wake, silent > now ? silent : since + Browser.lifetime)
        }
        browsers[index].wake = max(wake, now + .nanoseconds(1))
    }

    // MARK: Units

    private mutating func serveUnits(_ index: Int, now: MediaTime) {
        let layer = browsers[index].layer
        judgeUnits(index, isBehind: false, now: now)
        guard layer == browsers[index].layer else { return }
        guard let position = nextPosition(index, layer, now: now) else {
            return rest(index, wake: .distantFuture, now: now)
        }
        let frame = layers[layer][position]
        let length = frame.encoded.unit.range.count
        guard let units = browsers[index].units, units.hasRoom(for: length, now: now) else {
            fallBehind(index, wantsKeyframe: false, now: now)
            rest(index, wake: .distantFuture, now: now)
            return judgeUnits(index, isBehind: true, now: now)
        }
        if frame.encoded.unit.isDisposable, units.delay(now: now) >= UnitDelivery.patience {
            browsers[index].figures.skipped += 1
            browsers[index].cursor = position + 1
            return
        }
        guard let unit = browsers[index].units?.unit(frame.encoded, now: now) else { return }
        browsers[index].count(packets: 1, bytes: length)
        outputs.append(.unit(browsers[index].id, unit))
        finished(index, frame, position, now: now)
    }

    private mutating func judgeUnits(_ index: Int, isBehind: Bool, now: MediaTime) {
        guard let (verdict, carried) = browsers[index].units?.judge(isBehind: isBehind, now: now) else { return }
        browsers[index].path.judged(verdict, carried: carried, roundTrip: browsers[index].units?.roundTrip)
        act(on: verdict, index, now: now)
    }

    mutating func acknowledge(_ number: UInt32, by index: Int, now: MediaTime) {
        guard browsers[index].units?.acknowledged(number, now: now) == true else { return }
        browsers[index].heard = now
        browsers[index].wake = now
        isDirty = true
        // All that it had is drawn: it can go on.
        if browsers[index].cursor == nil, browsers[index].units?.isIdle == true, browsers[index].pausedUntil == nil {
            wantKeyframe(index, now: now)
        }
    }
}
