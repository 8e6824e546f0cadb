import BeamMedia

/// The viewer's version 1 control plane: unencrypted lines of JSON.
extension ViewerSession {
    mutating func controlBytes(_ bytes: [UInt8], now: MediaTime) {
        guard control.isConnected, case .version1(var reading) = dialog else { return }
        var complete: [ArraySlice<UInt8>] = []
        var excess: LineBuffer.LineTooLong?
        do {
            try reading.lines.append(bytes) { complete.append($0) }
        } catch {
            excess = error
        }
        dialog = .version1(reading)
        for line in complete {
            // Each line may end the connection.
            guard control.isConnected, case .version1(var reading) = dialog else { return }
            control.lineArrived(now: now)
            noteHeard(now: now)
            guard messages.admits(now: now) else {
                return perform(control.violated(reason: MessageRate.reason, now: now), now: now)
            }
            do {
                handle(try ControlMessage(line: line), now: now)
            } catch {
                reading.malformedLines += 1
                dialog = .version1(reading)
                guard reading.malformedLines == ViewerTiming.malformedLineLimit else { continue }
                perform(control.violated(reason: "it sent \(error), time and again", now: now), now: now)
            }
        }
        if let excess { perform(control.violated(reason: "it sent \(excess)", now: now), now: now) }
    }

    private mutating func handle(_ message: ControlMessage, now: MediaTime) {
        switch message {
        case .reply(let reply):
            guard reply.isAccepted else {
                return refusedUnencrypted(.other(says: reply.message ?? ""), now: now)
            }
            accepted(reply, now: now)
        case .mediaPort(let port):
            if case .version1(var reading) = dialog {
                reading.earlyPort = port
                dialog = .version1(reading)
            }
            guard control.isPaired else { return }
            mediaPortNamed(port, now: now)
        case .broadcast(let isOn):
            broadcastNamed(isOn, now: now)
        case .heartbeat, .handshake, .mediaSource, .unknown:
            break
        }
    }

    private mutating func accepted(_ reply: ControlMessage.Reply, now: MediaTime) {
        guard case .version1(let reading) = dialog else { return }
        isByMemory = false
        let isNews = control.accepted(now: now)
        enter(
            session: reply.session, host: reply.deviceName.map { PeerText.name($0) },
            mediaPort: reply.mediaPort ?? reading.earlyPort, isNews: isNews, sealing: nil, now: now)
    }
}
