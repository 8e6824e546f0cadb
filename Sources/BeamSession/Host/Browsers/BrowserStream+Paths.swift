import BeamMedia
import BeamWire

/// What browsers report and ask for, and what follows from it.
extension BrowserStream {
    // MARK: RTCP

    mutating func control(_ bytes: UnsafeRawBufferPointer, from index: Int, now: MediaTime) {
        guard let source = browsers[index].packets?.sources.video else { return }
        var (isRead, wantsKeyframe, missing) = (false, false, 0)
        // What stands before an error counts.
        try? RTCPReader.read(bytes) { item in
            isRead = true
            switch item {
            case .report(let report) where report.source == source: browsers[index].path.report(report, now: now)
            case .missing(source, let first, let following):
                missing += lookUp(first, following, index, now: now)
            case .keyframe(source): wantsKeyframe = true
            case .report, .presence, .missing, .keyframe, .goodbye: break
            }
        }
        guard isRead else { return }
        heard(index, now: now)
        browsers[index].path.missing(missing)
        browsers[index].wake = now
        if wantsKeyframe { keyframeRequested(index, now: now) }
        if let verdict = browsers[index].path.judge(now: now) { act(on: verdict, index, now: now) }
    }

    /// Returns how many are missing for the first time.
    private mutating func lookUp(_ first: UInt16, _ following: UInt16, _ index: Int, now: MediaTime) -> Int {
        guard browsers[index].lookUps.take(1 + following.nonzeroBitCount, now: now) == nil else { return 0 }
        var count = browsers[index].packets?.isMissing(first) == true ? 1 : 0
        for bit in 0..<16 as Range<UInt16> where following >> bit & 1 == 1 {
            if browsers[index].packets?.isMissing(first &+ bit &+ 1) == true { count += 1 }
        }
        return count
    }

    /// The browser is there. If it was out of reach, it goes on with a keyframe.
    private mutating func heard(_ index: Int, now: MediaTime) {
        let wasReachable = browsers[index].isReachable(now: now)
        browsers[index].heard = now
        guard !wasReachable else { return }
        isDirty = true
        browsers[index].path.restart(now: now)
        if browsers[index].cursor == nil, browsers[index].pausedUntil == nil { wantKeyframe(index, now: now) }
    }

    /// The browser can't decode any more.
    private mutating func keyframeRequested(_ index: Int, now: MediaTime) {
        guard let cursor = browsers[index].cursor else { return }
        // One is on its way to it.
        let layer = browsers[index].layer
        if layers[layer].contains(cursor), layers[layer][cursor].encoded.isKeyframe { return }
        if let last = browsers[index].lastKeyframe, now - last < Browser.keyframeTime { return }
        browsers[index].interrupt()
        wantKeyframe(index, now: now)
    }

    // MARK: Keyframes

    /// The browser has begun, or has got another layer: its first keyframe is free.
    mutating func begin(_ index: Int, now: MediaTime) {
        let layer = browsers[index].layer
        browsers[index].isUnpaid = false
        browsers[index].wake = now
        if let position = layers[layer].joinPosition(after: browsers[index].lastOrder, now: now) {
            browsers[index].cursor = position
        } else {
            layers[layer].keyframes.want(now: now)
        }
    }

    /// The browser waits for a keyframe. Everybody in the layer pays for it, so each browser has a budget of them: if that
    /// is used up, it gets the reduced layer, or waits.
    mutating func wantKeyframe(_ index: Int, now: MediaTime) {
        guard browsers[index].cursor == nil, browsers[index].isReachable(now: now),
            browsers[index].units?.isIdle ?? true
        else { return }
        let layer = browsers[index].layer
        // One that is there already, or is made anyway, costs nothing.
        let isFree =
            layers[layer].keyframes.due != nil
            || layers[layer].joinPosition(after: browsers[index].lastOrder, now: now) != nil
        if isFree || browsers[index].budget.pay(now: now) {
            begin(index, now: now)
        } else if canLeave(index) {
            leave(index, now: now)
        } else {
            browsers[index].isUnpaid = true
        }
    }

    /// Asks the encoders for keyframes that are due. True if there is something new in `outputs`.
    mutating func requestKeyframes(now: MediaTime) -> Bool {
        for layer in layers.indices where layers[layer].keyframes.due.map({ $0 <= now }) ?? false {
            let isWanted = browsers.contains {
                $0.layer == layer && $0.cursor == nil && $0.pausedUntil == nil && !$0.isUnpaid
                    && $0.isReachable(now: now)
            }
            if layers[layer].keyframes.takeDue(now: now, isWanted: isWanted) {
                outputs.append(.requestKeyframe(layer: layer))
                return true
            }
        }
        return false
    }

    // MARK: Too slow

    /// The browser gets nothing more until a keyframe.
    mutating func fallBehind(_ index: Int, wantsKeyframe: Bool = true, now: MediaTime) {
        let browser = browsers[index]
        if let cursor = browser.cursor {
            browsers[index].figures.skipped += UInt64(max(0, layers[browser.layer].end - cursor))
        }
        browsers[index].interrupt()
        if !browser.isBehind {
            browsers[index].isBehind = true
            emit(.behind(browser.id))
        }
        if wantsKeyframe { wantKeyframe(index, now: now) }
    }

    /// Gives the browser less, or more again.
    mutating func act(on verdict: BrowserPath.Verdict, _ index: Int, now: MediaTime) {
        isDirty = true
        switch verdict {
        case .bad:
            browsers[index].skipsDisposable = true
            if canLeave(index) {
                if browsers[index].hysteresis.isFarSlower(true, now: now) { leave(index, now: now) }
            } else {
                _ = browsers[index].hysteresis.isFastEnough(false, now: now)
                browsers[index].badVerdicts += 1
                if browsers[index].badVerdicts >= 2 { pause(index, now: now) }
            }
        case .unclear: break
        case .good:
            browsers[index].skipsDisposable = false
            browsers[index].badVerdicts = 0
            if !browsers[index].isReduced {
                _ = browsers[index].hysteresis.isFarSlower(false, now: now)
                browsers[index].pauses = 0
            } else if browsers[index].hysteresis.isFastEnough(carriesFull(index, now: now), now: now),
                browsers[index].budget.pay(now: now)
            {
                comeBack(index, now: now)
            }
        }
    }

    func canLeave(_ index: Int) -> Bool { configuration.hasReducedLayer && browsers[index].layer == 0 }

    /// The share of layer 0's peak rate at which a browser may return.
    private static let returnShare = 0.7

    private mutating func carriesFull(_ index: Int, now: MediaTime) -> Bool {
        guard let capacity = browsers[index].path.capacity else { return true }
        let peak = layers[0].use.peak(now: now)
        return Double(capacity) >= min(peak * Self.returnShare, Double(reducedRate))
    }

    private mutating func leave(_ index: Int, now: MediaTime) {
        browsers[index].hysteresis.left(now: now)
        move(index, to: 1, now: now)
    }

    private mutating func comeBack(_ index: Int, now: MediaTime) {
        browsers[index].hysteresis.cameBack(now: now)
        browsers[index].pauses = 0
        move(index, to: 0, now: now)
    }

    private mutating func move(_ index: Int, to layer: Int, now: MediaTime) {
        browsers[index].interrupt()
        browsers[index].layer = layer
        browsers[index].badVerdicts = 0
        browsers[index].path.restart(now: now)
        emit(.layer(browsers[index].id, isReduced: browsers[index].isReduced))
        isDirty = true
        begin(index, now: now)
    }

    private mutating func pause(_ index: Int, now: MediaTime) {
        browsers[index].badVerdicts = 0
        let length = Browser.pause * (1 << browsers[index].pauses)
        browsers[index].pauses = min(Browser.mostPauses, browsers[index].pauses + 1)
        fallBehind(index, wantsKeyframe: false, now: now)
        browsers[index].pausedUntil = now + length
        browsers[index].path.restart(now: now)
    }

    // MARK: Demands

    /// A picture at least so often: after 3 s without one, browsers ask for a keyframe, again and again.
    static let longestPause = Duration.seconds(2)
    /// Smaller relative changes of a rate aren't passed on.
    private static let leastChange = 0.1

    /// The most bits a second of layer 1 while browsers have it because of their paths.
    private var reducedRate: Int { max(BrowserPath.leastRate, configuration.bitRate / 2) }

    /// True if there is something new in `outputs`.
    mutating func changeDemands(now: MediaTime) -> Bool {
        guard isDirty else { return false }
        isDirty = false
        for layer in layers.indices {
            let demand = demand(layer, now: now)
            guard demand != layers[layer].demand else { continue }
            layers[layer].demand = demand
            if !demand.isWatched { layers[layer].removeAll() }
            outputs.append(.demand(demand, layer: layer))
        }
        let hearing = browsers.filter { $0.isReachable(now: now) && $0.takesSound }
        let wanted = SoundDemand(
            full: configuration.hasSound && hearing.contains { !$0.isReduced },
            reduced: configuration.hasSound && hearing.contains(where: \.isReduced))
        if sound.want(wanted) { outputs.append(.soundDemand(wanted)) }
        return true
    }

    private func demand(_ layer: Int, now: MediaTime) -> StreamDemand {
        let watching = browsers.filter { $0.layer == layer && $0.isReachable(now: now) }
        guard !watching.isEmpty else { return StreamDemand() }
        var demand = StreamDemand(isWatched: true)
        if watching.contains(where: { $0.packets != nil }) { demand.longestPause = Self.longestPause }
        // What is lowered is lowered for those only that need it, and only as far as the fastest of them needs it.
        if watching.allSatisfy(\.isReduced) {
            let rate = watching.map { $0.path.capacity ?? reducedRate }.max() ?? reducedRate
            let last = layers[layer].demand.bitRate
            let bounded = min(rate, reducedRate)
            let isNear = last.map { abs(Double(bounded - $0)) < Self.leastChange * Double($0) } ?? false
            demand.bitRate = isNear ? last : bounded
            demand.takesAnyRate = true
        }
        return demand
    }
}

extension Browser {
    var takesSound: Bool { packets.map { $0.sources.sound != nil } ?? units?.takesSound ?? false }
}
