import BeamHost
import BeamMedia
import Glibc

/// What a running `share`, `relay` or `room` answers when another program of the user's asks for its state.
public struct RunningStatus: Sendable {
    /// Its command.
    public enum Kind: String, Sendable {
        case share, relay, room
    }

    private var kind: Kind
    /// As viewers, or the others in the room, know this machine.
    private var name: String
    /// The room's name, and those who are in it; nil: it is no room.
    private var room: (name: String, here: [String])?
    /// What is shared; nil: nothing at present.
    private var stream: Stream?
    /// Who waits for the person's answer.
    private var asking: [String]

    /// What is shared, as it was in the last second.
    public struct Stream: Sendable {
        var host: HostDescription
        var isPaused: Bool
        var rate: StreamRate?
        var viewers: [ViewerRate]
        /// Those who watch at gateways by a link, of whom only the number is known.
        var viewersAtGateways: Int

        public init(
            _ host: HostDescription, isPaused: Bool, rate: StreamRate?, viewers: [ViewerRate] = [],
            viewersAtGateways: Int = 0
        ) {
            (self.host, self.isPaused, self.rate) = (host, isPaused, rate)
            (self.viewers, self.viewersAtGateways) = (viewers, viewersAtGateways)
        }
    }

    public init(
        _ kind: Kind, name: String, room: (name: String, here: [String])? = nil, stream: Stream?, asking: [String]
    ) {
        (self.kind, self.name, self.room, self.stream, self.asking) = (kind, name, room, stream, asking)
    }

    /// Of the event `status`. `seconds`: since the program's start.
    func fields(seconds: Double) -> [String: JSONValue] {
        var fields: [String: any EventField] = [
            "command": kind.rawValue, "process": Int(getpid()), "name": name, "seconds": seconds, "asking": asking,
            "sharing": stream != nil, "room": room?.name, "here": room?.here,
        ]
        if let stream {
            fields.merge(stream.host.picture) { $1 }
            fields.merge(stream.rate?.fields ?? [:]) { $1 }
            fields["port"] = Int(stream.host.controlPort)
            fields["webPort"] = stream.host.web.map { Int($0.port) }
            fields["paused"] = stream.isPaused
            fields["viewers"] = stream.viewers.map(\.fields)
            fields["viewersAtGateways"] = stream.viewersAtGateways
        }
        return fields.compactMapValues(\.json)
    }
}
