import BeamMedia

/// The viewer's media plane: datagrams in, frames to the decoder, feedback to the host.
extension ViewerSession {
    /// Handles a datagram from the media socket.
    public mutating func handleDatagram(_ bytes: UnsafeRawBufferPointer, now: MediaTime) {
        guard media.isOpen else { return }
        arrival = .media
        let isOfTheHost: Bool
        if isSealed {
            isOfTheHost = sealedDatagram(bytes, now: now)
        } else {
            isOfTheHost = reassembler.insert(bytes, now: now)
        }
        deliver(now: now)
        // After it was taken, so that a stall ends with a picture.
        notePictures(now: now)
        if isOfTheHost {
            if let action = media.datagram(arrival, now: now) { perform([action], now: now) }
            // A sealed answer is to a hello that the host has received.
            if arrival == .answer || !isSealed { noteHeard(now: now) }
        }
        updateKeyframeRequest(now: now)
        armDeadlines(now: now)
    }

    /// Version 2: datagrams are sealed, and parts and keyframes can be requested.
    var isSealed: Bool { membership?.sealing != nil }

    private mutating func sealedDatagram(_ bytes: UnsafeRawBufferPointer, now: MediaTime) -> Bool {
        let kind: SealedHeader.Kind
        do throws(SealedDatagramError) {
            guard let result = try membership?.sealing?.media.open(bytes, into: &opened, now: now) else { return false }
            kind = result.kind
        } catch {
            reassembler.refused(error, wireLength: bytes.count)
            return false
        }
        // `opened`'s storage is shared here, not copied, and released before the next datagram is opened.
        let plaintext = opened
        return plaintext.withUnsafeBytes { part in
            if kind == .state {
                let state = StreamState(part)
                if let token = state.challenge {
                    challenged(token, now: now)
                    // A challenge isn't data: hellos continue as if nothing had arrived.
                    return false
                }
                take(state, now: now)
                // Only the tail probe says nothing but the newest frame.
                arrival = state.rates == nil && state.probe == nil ? .pause : .answer
                return true
            }
            if kind == .sound {
                arrival = .sound
                return sound(part, wireLength: bytes.count, now: now)
            }
            if kind == .parity { return parity(part, wireLength: bytes.count, now: now) }
            do throws(MediaDatagramError) {
                return reassembler.insert(try MediaDatagram(version2: part), now: now)
            } catch {
                reassembler.refused(wireLength: bytes.count)
                return false
            }
        }
    }

    private mutating func parity(_ plaintext: UnsafeRawBufferPointer, wireLength: Int, now: MediaTime) -> Bool {
        do throws(ParityDatagramError) {
            return reassembler.insert(try ParityDatagram(plaintext), now: now)
        } catch {
            reassembler.refused(wireLength: wireLength)
            return false
        }
    }

    private mutating func take(_ state: StreamState, now: MediaTime) {
        if let newest = state.newest, reassembler.layer ?? state.layer == state.layer {
            reassembler.announced(newest, now: now)
        }
        rates = state.rates ?? rates
        if state.wantsReport { arrivals.reportNow(now: now) }
        if let probe = state.probe, probes.count < Self.mostProbes { probes.append(probe) }
    }

    /// Probes that wait to be acknowledged; a host sends three at a time.
    private static let mostProbes = 16

    /// Notices when the picture stands still, or goes on.
    mutating func notePictures(now: MediaTime) {
        let complete = reassembler.statistics.frames
        if let action = media.pictures(complete: complete, isBehind: reassembler.isBehind, now: now) {
            perform([action], now: now)
        }
    }

    /// The picture stands still. If nothing arrives, not even on the control connection, that is made anew.
    mutating func stalled(_ time: Duration, isSilent: Bool, now: MediaTime) {
        emit(.stalled(time, isSilent ? .nothingArrives : stallCause))
        guard isSilent, let tested = controlTested else { return }
        controlTested = nil
        perform(control.unheard(since: tested, now: now), now: now)
    }

    /// From this share of losses on, they are the cause of a stall: a picture is hardly delayed by less.
    private static let lossOfStall = 0.2

    private var stallCause: StallCause {
        // Frames are known of which nothing at all has arrived.
        guard isSealed, let loss = arrivals.recentLoss else { return .loss }
        return loss >= Self.lossOfStall ? .loss : .tooSlow
    }

    mutating func testControl(now: MediaTime) {
        guard case .version2 = dialog, control.isPaired else { return }
        controlTested = now
        ping(now: now)
    }

    // MARK: Frames

    mutating func deliver(now: MediaTime) {
        while let frame = reassembler.nextFrame() {
            playout.put(frame, isPathBound: rates?.isPathBound ?? false, now: now)
        }
        play(now: now)
    }

    mutating func play(now: MediaTime) {
        while var frame = playout.next(now: now) {
            frame.captureTime = frame.captureTime.flatMap { clock.local($0) }
            lastDelivered = SequenceNumber(frame.number)
            if frame.isKeyframe { keyframeWantedAfter = nil }
            clockError = clock.error(now: frame.lastArrival)
            outputs.append(.deliver(frame))
        }
    }

    // MARK: What the host is told

    /// Version 1 hosts can't be asked: they send a keyframe every two seconds.
    mutating func updateKeyframeRequest(now: MediaTime) {
        let canAsk = isSealed && media.isOpen && membership?.isBroadcasting != false
        let isNeeded = reassembler.keyframeNeededAfter != nil || keyframeWantedAfter != nil
        keyframeRequest.update(isWanted: canAsk && isNeeded, now: now)
    }

    mutating func feedbackDeadline(now: MediaTime) -> MediaTime? {
        guard isSealed, media.isOpen else { return nil }
        if !probes.isEmpty { return now }
        // Read with each datagram: nothing is allocated.
        var next = keyframeRequest.deadline ?? .distantFuture
        if let deadline = reassembler.requestDeadline(now: now) { next = min(next, deadline) }
        if let deadline = arrivals.deadline { next = min(next, deadline) }
        if let deadline = soundReceiver.deadline { next = min(next, deadline) }
        return next < .distantFuture ? next : nil
    }

    /// Sends requests and the arrival report.
    mutating func giveFeedback(now: MediaTime) {
        guard isSealed, media.isOpen else { return }
        while !probes.isEmpty {
            send(Feedback(probes: Array(probes.prefix(Feedback.mostProbes))))
            probes.removeFirst(min(probes.count, Feedback.mostProbes))
        }
        var missing = reassembler.takeRequests(now: now)[...]
        updateKeyframeRequest(now: now)
        var feedback = Feedback(layer: reassembler.layer ?? 0)
        if keyframeRequest.take(now: now) {
            feedback.keyframeAfter = reassembler.keyframeNeededAfter ?? keyframeWantedAfter
        }
        reassembler.moveArrivalEvents(to: &arrivals)
        feedback.report = arrivals.take(now: now)
        feedback.sound = soundReceiver.takeFeedback(now: now)
        repeat {
            var length = feedback.encodedLength
            while let next = missing.first, length == 0 || length + next.encodedLength <= Self.longestFeedback {
                feedback.missing.append(next)
                length += next.encodedLength
                missing.removeFirst()
            }
            send(feedback)
            feedback = Feedback(layer: feedback.layer)
        } while !missing.isEmpty
    }

    private mutating func send(_ feedback: Feedback) {
        if !feedback.isEmpty, let sealed = try? membership?.sealing?.hellos.seal(.feedback, feedback.plaintext) {
            outputs.append(.sendMedia(sealed))
        }
    }

    /// The longest plaintext of feedback in bytes: what fits into a datagram that passes where the host's shortest do.
    private static let longestFeedback = MediaLimits.feedbackLength - SealedHeader.overhead

    /// The host has challenged the address that our hellos come from. Answered at once, and with every hello for a
    /// while, because an answer may be lost.
    private mutating func challenged(_ token: UInt64, now: MediaTime) {
        if let last = membership?.challenge, now - last.time < ViewerTiming.challengeAnswerInterval { return }
        membership?.challenge = Challenge(token: token, time: now)
        perform(media.helloNow(now: now), now: now)
    }

    mutating func sayHello(now: MediaTime) {
        guard isSealed else { return outputs.append(.sendMedia(MediaLimits.hello)) }
        // Sealing fails only after 2³² datagrams, more than a viewer sends.
        let token = membership?.challenge.flatMap { $0.expiry > now ? $0.token : nil }
        guard let hello = try? membership?.sealing?.hellos.seal(.hello, SealedHello(time: now, token: token).plaintext)
        else {
            return
        }
        outputs.append(.sendMedia(hello))
    }
}
