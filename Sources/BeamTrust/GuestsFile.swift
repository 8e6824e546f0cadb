import BeamLog
import BeamWire
import Foundation
import Glibc

/// The format of `guests-PID-START.json` and `orders-PID-START.json`:
///
///     { "version": 1, "guests": [ { "name": "Sofa", "key": "9f86…64 digits" }, { "name": "192.0.2.7", "address": "192.0.2.7" },
///       { "name": "Chrome on Android", "browser": "0F3A…-…" } ] }
///
/// Names come from viewers. They are cleaned when written, and validated when read.
enum GuestsFile {
    static let version = 1
    /// In bytes.
    static let maxBytes = 1 << 20
    /// More viewers than a host admits. Also the limit for orders, which people give by hand.
    static let maxGuests = 1000

    private struct Form: Codable {
        var version: Int
        var guests: [Entry]
    }

    private struct Entry: Codable {
        var name: String
        var key: String?
        var address: String?
        /// Its session.
        var browser: String?
    }

    static func encode(_ guests: [Guest]) -> [UInt8] {
        let form = Form(
            version: version,
            guests: guests.prefix(maxGuests).map { guest in
                switch guest.identity {
                case .device(let key): Entry(name: guest.shownName, key: key.hex)
                case .address(let address): Entry(name: guest.shownName, address: address.description)
                case .browser(let session): Entry(name: guest.shownName, browser: session)
                }
            })
        return StoredForm.bytes(form)
    }

    /// Nil if `bytes` isn't a valid file of this format.
    static func decode(_ bytes: [UInt8]) -> [Guest]? {
        guard bytes.count <= maxBytes, let form = try? JSONDecoder().decode(Form.self, from: Data(bytes)),
            form.version == version, form.guests.count <= maxGuests
        else { return nil }
        var guests: [Guest] = []
        for entry in form.guests {
            guard DeviceName.isValid(entry.name) else { return nil }
            let key = entry.key.flatMap { DeviceKey(hex: $0) }
            let address = entry.address.flatMap { IPAddress(text: $0) }
            switch (key, address, entry.browser) {
            case (let key?, nil, nil): guests.append(Guest(identity: .device(key), name: entry.name))
            case (nil, let address?, nil): guests.append(Guest(identity: .address(address), name: nil))
            case (nil, nil, let session?) where UUID(uuidString: session) != nil:
                guests.append(Guest(identity: .browser(session: session), name: entry.name))
            default: return nil
            }
        }
        return guests
    }
}

extension Guest {
    /// The name to show, cleaned like that of a remembered device and never empty.
    public var shownName: String {
        switch identity {
        case .device(let key):
            let name = DeviceName.cleaned(name ?? "")
            return name.isEmpty ? key.description : name
        case .address(let address): return address.description
        case .browser:
            let name = DeviceName.cleaned(name ?? "")
            return name.isEmpty ? "Browser" : name
        }
    }
}

extension IPAddress {
    /// Parses the format of `description`.
    init?(text: String) {
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        var v4 = in_addr()
        if parts.count == 1, inet_pton(AF_INET, text, &v4) == 1 {
            self = .v4(UInt32(bigEndian: v4.s_addr))
            return
        }
        var v6 = in6_addr()
        guard let first = parts.first, parts.count <= 2, inet_pton(AF_INET6, String(first), &v6) == 1,
            let scope = parts.count == 2 ? UInt32(parts[1]) : 0
        else { return nil }
        self.init(v6Bytes: withUnsafeBytes(of: &v6) { Array($0) }, scope: scope)
    }
}
