import BeamBus

/// What a desktop's portal can do: the properties of org.freedesktop.portal.ScreenCast.
struct PortalOffer: Equatable {
    /// AvailableSourceTypes.
    struct Sources: OptionSet, Hashable {
        var rawValue: UInt32
        static let monitor = Sources(rawValue: 1)
        static let window = Sources(rawValue: 2)
    }

    /// AvailableCursorModes. Without: the portal is older than version 2 of the interface, and decides itself.
    struct Cursors: OptionSet, Hashable {
        var rawValue: UInt32
        static let hidden = Cursors(rawValue: 1)
        static let embedded = Cursors(rawValue: 2)
        static let metadata = Cursors(rawValue: 4)
    }

    var version: UInt32
    var sources: Sources
    var cursors: Cursors

    /// Consent can be remembered from this version on.
    static let remembering: UInt32 = 4

    var remembers: Bool { version >= Self.remembering }

    init(version: UInt32, sources: Sources, cursors: Cursors) {
        self.version = version
        self.sources = sources
        self.cursors = cursors
    }

    /// Nil if there is no such interface.
    init?(properties: [String: BusValue]) {
        guard let version = properties["version"]?.unsigned, let sources = properties["AvailableSourceTypes"]?.unsigned
        else { return nil }
        self.init(
            version: UInt32(clamping: version), sources: Sources(rawValue: UInt32(truncatingIfNeeded: sources)),
            cursors: Cursors(rawValue: UInt32(truncatingIfNeeded: properties["AvailableCursorModes"]?.unsigned ?? 0)))
    }
}

/// What SelectSources asks for, of what a portal offers. An option that isn't offered makes the call fail.
struct PortalSelection: Equatable {
    var sources: PortalOffer.Sources
    var isMultiple: Bool
    /// Nil: not said.
    var cursor: PortalOffer.Cursors?
    var remembers: Bool

    init(_ choice: PortalOptions.Choice, drawsCursor: Bool, of offer: PortalOffer) throws(PortalTrouble) {
        let wanted: PortalOffer.Sources =
            switch choice {
            case .any, .several: [.monitor, .window]
            case .monitor: .monitor
            case .window: .window
            }
        sources = wanted.intersection(offer.sources)
        guard !sources.isEmpty else { throw .notOffered(choice, offersWindows: offer.sources.contains(.window)) }
        isMultiple = choice == .several
        let modes: [PortalOffer.Cursors] = drawsCursor ? [.metadata, .embedded, .hidden] : [.hidden, .metadata]
        cursor = modes.first { offer.cursors.contains($0) }
        remembers = offer.remembers
    }

    /// The pointer is in the pictures, though it wasn't wanted, or isn't, though it was; nil: as wanted.
    func cursorWarning(drawsCursor: Bool) -> String? {
        switch cursor {
        case .hidden where drawsCursor: "This desktop doesn't provide the pointer's image: the pointer isn't shared."
        case nil where !drawsCursor: "This desktop can't leave the pointer out: --no-cursor has no effect."
        default: nil
        }
    }

    /// - Parameters:
    ///   - token: of an earlier consent.
    ///   - handle: the request's name.
    func arguments(token: String?, handle: String) -> [(key: String, value: BusArgument)] {
        var arguments: [(key: String, value: BusArgument)] = [
            ("handle_token", .text(handle)), ("types", .unsigned(sources.rawValue)), ("multiple", .boolean(isMultiple)),
        ]
        if let cursor { arguments.append(("cursor_mode", .unsigned(cursor.rawValue))) }
        if remembers {
            // 2: until the person takes it back.
            arguments.append(("persist_mode", .unsigned(2)))
            if let token { arguments.append(("restore_token", .text(token))) }
        }
        return arguments
    }
}
