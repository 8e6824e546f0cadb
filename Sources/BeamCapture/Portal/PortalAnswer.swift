import BeamBus
import BeamMedia

/// A request's answer: the signal Response of org.freedesktop.portal.Request.
enum PortalAnswer: Equatable {
    case granted([String: BusValue])
    /// The person has said no, or closed the dialog.
    case declined
    /// It ended otherwise.
    case failed

    init(_ arguments: [BusValue]) {
        switch arguments.first?.unsigned {
        case 0: self = .granted(arguments.count > 1 ? arguments[1].entries ?? [:] : [:])
        case 1: self = .declined
        default: self = .failed
        }
    }
}

/// A stream that the desktop has granted: an element of `streams` in the answer to Start.
struct PortalStream: Equatable {
    enum Kind: UInt64 { case monitor = 1, window = 2, virtual = 4 }

    /// PipeWire's ID of the source. IDs are used again for other sources.
    var node: UInt32
    /// PipeWire's serial number of the source, which no other gets; from version 6 of the interface on.
    var serial: UInt64?
    var kind: Kind?
    /// Where it is in the desktop, and its size there, in the compositor's units: not pixels where it scales.
    var position: Position?
    var size: PixelSize?

    struct Position: Equatable {
        var x: Int
        var y: Int
    }

    /// The most streams that are taken from an answer.
    static let limit = 16

    /// - Parameter asked: the kinds that were asked for. Of a single one, the answer's kind isn't needed, and is wrong from
    ///   wlroots' portal 0.7, which calls monitors windows.
    static func all(in results: [String: BusValue], asked: PortalOffer.Sources) -> [PortalStream] {
        (results["streams"]?.list ?? []).prefix(limit).compactMap { value in
            var stream = PortalStream(value)
            if asked == .monitor || asked == .window { stream?.kind = asked == .monitor ? .monitor : .window }
            return stream
        }
    }

    private init?(_ value: BusValue) {
        guard let parts = value.list, let number = parts.first?.unsigned, let node = UInt32(exactly: number) else {
            return nil
        }
        self.node = node
        let properties = parts.count > 1 ? parts[1].entries ?? [:] : [:]
        serial = properties["pipewire-serial"]?.unsigned
        kind = properties["source_type"]?.unsigned.flatMap(Kind.init)
        position = properties["position"]?.pair.map { Position(x: $0, y: $1) }
        size = properties["size"]?.pair.flatMap { $0 > 0 && $1 > 0 ? PixelSize(width: $0, height: $1) : nil }
    }

    init(node: UInt32, position: Position? = nil, size: PixelSize? = nil) {
        self.node = node
        self.position = position
        self.size = size
    }
}

extension BusValue {
    /// A structure of two 32-bit integers.
    fileprivate var pair: (Int, Int)? {
        guard let list, list.count == 2, case .integer(let first) = list[0], case .integer(let second) = list[1],
            let a = Int32(exactly: first), let b = Int32(exactly: second)
        else { return nil }
        return (Int(a), Int(b))
    }
}
