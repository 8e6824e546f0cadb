import BeamHost
import BeamNetwork
import BeamTerminal
import BeamViewer
import BeamWire

/// What goes on in the room, each second: figures, and the terminal's last lines.
extension Meeting {
    /// Once a second.
    func tick() {
        presence?.refresh()
        lookAround()
        storeChanges()
        door.tick { server?.setCode($0) }
        webReporter?.tick { browsers?.setCode($0) }
        let browsing = browsers?.guests.count
        if let words = state.withLock({ $0.addressless }), words.isReachable() {
            state.withLock { $0.addressless = nil }
            context.say(words.sentence())
        }
        guard let parts else { return }
        let here = people.here
        let sharing = here.count { $0.isSharing }
        var lines = watchedLines(parts)
        let own = ownRate(parts.share.host)
        if let (host, report, rate) = own {
            lines.append(
                "You   \(host.isPaused ? "paused" : CommonText.rate(rate))   "
                    + CommonText.count(report.session.viewers, "viewer")
                    + (browsing.map { ", \(CommonText.count($0, "browser"))" } ?? ""))
        }
        context.events.write(
            .room(
                .stats(
                    here: here.count, sharing: sharing, own: own?.rate, viewers: own?.report.session.viewers ?? 0,
                    browsers: browsing, report: own?.report)))
        guard let room = state.withLock({ $0.room }) else { return context.console.live(["Entering the room…"]) }
        context.console.live(lines)
        showStatus(room)
    }

    /// A line for each screen that is watched.
    private func watchedLines(_ parts: Parts) -> [String] {
        parts.viewers.watched.map { watched in
            let line = reporter(of: watched.device, watched.name).tick(watched.viewer)
            let relay = relays.name(for: watched.device).map { " through “\($0)”" } ?? ""
            return "“\(PeerText.name(watched.name))”\(relay)   \(line ?? "")"
        }
    }

    /// What this device has sent in the last second; nil: it shares nothing.
    private func ownRate(_ host: Host?) -> (host: Host, report: HostReport, rate: StreamRate)? {
        guard let host else {
            state.withLock { $0.last = nil }
            return nil
        }
        host.refresh()
        let report = host.report()
        // Each share counts from 0.
        let last = state.withLock { $0.last.flatMap { $0.host === host ? $0.report : nil } }
        let rate = StreamRate(report, since: last)
        let viewers = ViewerRate.all(report, since: last)
        state.withLock { $0.last = (host, report, rate, viewers) }
        return (host, report, rate)
    }

    /// For another program of the user's.
    public var status: RunningStatus {
        let (room, last) = state.withLock { ($0.room, $0.last) }
        var stream: RunningStatus.Stream?
        if let host = parts?.share.host {
            let isSame = last?.host === host
            stream = RunningStatus.Stream(
                host.description, isPaused: host.isPaused, rate: isSame ? last?.rate : nil,
                viewers: isSame ? last?.viewers ?? [] : [])
        }
        return RunningStatus(
            .room, name: settings.server.name, room: room.map { ($0, people.here.map(\.name)) }, stream: stream,
            asking: person.asking)
    }

    /// The last line of the terminal.
    func showStatus(_ room: String) {
        // Its code isn't this device's to show any more, and keys do nothing.
        if let farewell = state.withLock({ $0.farewell }) {
            return context.console.setStatus(
                StatusLine(name: room, code: nil, facts: [farewell, "Ctrl-C ends"], keys: []))
        }
        let here = people.here
        let sharing = here.count { $0.isSharing }
        let isPaused = here.contains { $0.device == own && $0.isPaused }
        context.console.setStatus(
            StatusLine(
                name: room, code: settings.invitation.showsCode ? door.code : nil,
                facts: ["\(max(1, here.count)) here"] + (sharing > 0 ? ["\(sharing) sharing"] : [])
                    + (isPaused ? ["you have paused"] : []), keys: person.keys
            ))
    }

    /// The same while this device asks at the door of another room. Its own room's code is dead.
    func showWaiting(at room: String) {
        context.console.setStatus(
            StatusLine(name: room, code: nil, facts: ["you wait to be let in", "Ctrl-C ends"], keys: []))
    }
}
