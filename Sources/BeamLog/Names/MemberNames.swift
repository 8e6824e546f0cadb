import BeamWire

/// The names of a room's members as everybody is shown them.
///
/// Names aren't unique: anybody may call a device as another one is called. So each of several devices whose names look
/// alike has digits of its key behind its name, and so has one that brings such digits of its own.
struct MemberNames: Sendable {
    /// Of more namesakes than this each gets the longest mark, so that nobody makes finding a shorter one slow.
    private static let mostCompared = 16

    private var names: [DeviceKey: String] = [:]
    private var marked: [DeviceKey: String] = [:]
    private var namesakes: [String: [DeviceKey]] = [:]

    init() {}

    init(_ names: [DeviceKey: String]) {
        for (device, name) in names { self[device] = name }
    }

    var count: Int { names.count }

    /// The name that the device has, without a mark.
    subscript(_ device: DeviceKey) -> String? {
        get { names[device] }
        set {
            guard newValue != names[device] else { return }
            if let old = names.removeValue(forKey: device) {
                marked[device] = nil
                let likeness = DeviceNames.likeness(old)
                namesakes[likeness]?.removeAll { $0 == device }
                if namesakes[likeness]?.isEmpty == true { namesakes[likeness] = nil }
                mark(namesakes[likeness] ?? [])
            }
            guard let newValue else { return }
            names[device] = newValue
            let likeness = DeviceNames.likeness(newValue)
            namesakes[likeness, default: []].append(device)
            mark(namesakes[likeness] ?? [])
        }
    }

    /// Takes these names and no others. Only what has changed costs time.
    mutating func replace(with names: [DeviceKey: String]) {
        for device in self.names.keys where names[device] == nil { self[device] = nil }
        for (device, name) in names { self[device] = name }
    }

    mutating func removeAll() { self = MemberNames() }

    /// The name with the mark that it needs; nil: the device isn't known.
    func shown(_ device: DeviceKey) -> String? { marked[device] ?? names[device] }

    /// Marks devices whose names look alike. Beyond `mostCompared` only the last one, which has just come: the others have
    /// marks from when they came.
    private mutating func mark(_ group: [DeviceKey]) {
        let isLarge = group.count > Self.mostCompared
        for device in isLarge ? group.suffix(1) : group[...] {
            let name = names[device] ?? ""
            let bare = DeviceNames.withoutMark(name)
            marked[device] = nil
            guard group.count > 1 || bare != PeerText.name(name) else { continue }
            marked[device] = DeviceNames.marked(bare, device) { text in
                isLarge || group.contains { $0 != device && DeviceNames.isMark(of: $0, endOf: text) }
            }
        }
    }

    /// Whether a member's name looks like this one.
    func contains(_ name: String) -> Bool { namesakes[DeviceNames.likeness(name)] != nil }

    /// The devices that can be meant by a name, with or without its mark.
    func devices(called name: String) -> [DeviceKey] {
        namesakes[DeviceNames.likeness(name), default: []].filter { device in
            DeviceNames.areSame(names[device] ?? "", name) || DeviceNames.areSame(shown(device) ?? "", name)
        }
    }
}

extension DeviceNames {
    /// Equal for names that look alike to a person: without a mark, case and invisible characters, and with letters of
    /// other scripts as the Latin ones that they look like.
    static func likeness(_ name: String) -> String {
        String(String.UnicodeScalarView(withoutMark(name).lowercased().unicodeScalars.map { lookalikes[$0] ?? $0 }))
    }

    /// The cleaned name without digits of a key in parentheses behind it.
    static func withoutMark(_ name: String) -> String {
        var name = PeerText.name(name)
        while name.hasSuffix(")"), let open = name.lastIndex(of: "(") {
            let digits = name[open...].dropFirst().dropLast()
            let bare = name[..<open].reversed().drop { $0 == " " }.reversed()
            guard digits.count >= 4, digits.allSatisfy(\.isHexDigit), !bare.isEmpty else { break }
            name = String(bare)
        }
        return name
    }

    /// Whether the marked name ends as that of `device` would.
    static func isMark(of device: DeviceKey, endOf text: String) -> Bool {
        guard text.hasSuffix(")"), let open = text.lastIndex(of: "(") else { return false }
        return device.hex.hasPrefix(text[open...].dropFirst().dropLast())
    }

    /// Lower-case letters, and digits, that look like a Latin one, or whose capitals do (after Unicode's confusables).
    private static let lookalikes: [Unicode.Scalar: Unicode.Scalar] = {
        let pairs = [
            "аaвbсcԁdеeнhіiјjкkмmоoрpѕsтtуyхxӏlѵvԛqԝwгrпn",  // Cyrillic
            "αaβbεeζzηhιiκkμmνvοoρpτtυyχxγyωw",  // Greek
            "օoոnսuհhցgզq",  // Armenian
            "0o1lilıl|lɑaɡg",
        ]
        var table: [Unicode.Scalar: Unicode.Scalar] = [:]
        for text in pairs {
            let scalars = Array(text.unicodeScalars)
            for index in stride(from: 0, to: scalars.count - 1, by: 2) { table[scalars[index]] = scalars[index + 1] }
        }
        // As in the last row.
        return table.mapValues { table[$0] ?? $0 }
    }()
}
