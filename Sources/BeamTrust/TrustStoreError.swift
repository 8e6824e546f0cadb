import BeamWire
import Glibc

/// Why the identity or the remembered devices can't be used. Each description is a person-facing sentence.
public enum TrustStoreError: Error, CustomStringConvertible, Equatable {
    case noHome
    case cannotUse(path: String, reason: String)
    case notADirectory(path: String)
    case notAFile(path: String)
    case ownedByAnother(path: String, owner: UInt32)
    /// - Parameter mode: the nine permission bits.
    case openToOthers(path: String, mode: UInt32, needed: UInt32)
    case busy(path: String)
    case damagedIdentity(path: String)
    case damagedDevices(path: String, reason: String)
    case newerDevices(path: String, version: Int)
    case damagedRooms(path: String, reason: String)
    case newerRooms(path: String, version: Int)
    case tooManyDevices(most: Int)
    case unknownDevice(String)
    /// `matches` has two or more devices.
    case ambiguousDevice(String, matches: [RememberedDevice])
    /// An unencrypted viewer watches from this address, and a device has the address as its name.
    case ambiguousAddress(String, RememberedDevice)
    /// Several browsers, or a browser and a device, have this name.
    case ambiguousBrowser(String)
    /// The associated value is the cleaned name.
    case unusableName(String)
    case nameTaken(String, by: RememberedDevice)

    public var description: String {
        switch self {
        case .noHome:
            "There is no home directory to keep this machine's key in. Set HOME or XDG_STATE_HOME."
        case .cannotUse(let path, let reason):
            "\(path) can't be used: \(reason). BeamRoom keeps this machine's key and its paired devices there. \(Self.remedy(reason))"
        case .notADirectory(let path):
            "\(path) is not a directory. BeamRoom keeps this machine's key and its paired devices there. Move the file away, or set XDG_STATE_HOME to another folder."
        case .notAFile(let path):
            "\(path) is not an ordinary file (a link, perhaps), so it isn't used for this machine's secrets. Put the file itself there, or move it away."
        case .ownedByAnother(let path, let owner):
            "\(path) belongs to another user (ID \(owner)), so it isn't used for this machine's secrets. Run as that user, or set XDG_STATE_HOME to a folder of your own."
        case .openToOthers(let path, let mode, let needed):
            "\(path) can be reached by other users (mode \(Self.octal(mode))), so it isn't used for this machine's secrets. If nobody else can have read or changed it, run `chmod \(Self.octal(needed)) '\(path)'`."
        case .busy(let path):
            "Another beamroom has kept \(path) locked for several seconds. Wait until it has finished, or end it, and try again."
        case .damagedIdentity(let path):
            "\(path) doesn't hold this machine's private key any more. Restore it from a backup; or move it away for a new key, and pair all devices again."
        case .damagedDevices(let path, let reason):
            "\(path) is damaged (\(reason)). Restore it from a backup; or move it away, and pair the devices again."
        case .newerDevices(let path, let version):
            "\(path) was written by a newer beamroom (format \(version)). Update this one; or move the file away, and pair the devices again."
        case .damagedRooms(let path, let reason):
            "\(path) is damaged (\(reason)). Restore it from a backup; or move it away, and enter the rooms anew with the code of somebody who is in them."
        case .newerRooms(let path, let version):
            "\(path) was written by a newer beamroom (format \(version)). Update this one; or move the file away, and enter the rooms anew."
        case .tooManyDevices(let most):
            "This machine remembers \(most) devices already, which is the limit. Forget some with `beamroom devices forget NAME`."
        case .unusableName(let name):
            "A device can't be called that: a name has no invisible characters and no quotation marks, and takes at most \(PeerText.nameColumns) columns. Try “\(name)”."
        case .nameTaken(let name, let other):
            "Another device (key \(other.key)) is called “\(name)” already. Choose another name, or `beamroom devices forget` that one."
        case .unknownDevice(let name):
            "No device is called “\(name)”, and no key begins with that. `beamroom devices` lists the devices."
        case .ambiguousDevice(let name, let matches):
            "“\(name)” matches \(matches.count) devices: "
                + matches.map { "“\($0.name)” (key \(Self.key($0, of: matches)))" }.joined(separator: ", ")
                + ". Name the one that you mean by the digits of its key."
        case .ambiguousBrowser(let name):
            "Several viewers are called “\(name)”, and a browser has no key to name it by. In the terminal of the share, x lists "
                + "them by number."
        case .ambiguousAddress(let address, let namesake):
            "An unencrypted viewer watches from \(address), and a device is called “\(namesake.name)” (key \(namesake.key)). Send that device away first, by the digits of its key, or rename it."
        }
    }

    /// What to do about an error of the system.
    private static func remedy(_ reason: String) -> String {
        func means(_ codes: CInt...) -> Bool { codes.contains { reason == String(cString: strerror($0)) } }
        if means(EMFILE, ENFILE) { return "Close other programs, or raise the limit of open files with `ulimit -n`." }
        if means(ENOSPC, EDQUOT) { return "Make room on that disk, or set XDG_STATE_HOME to a folder on another one." }
        if means(EACCES, EPERM, EROFS) {
            return "Make it writable for this user, or set XDG_STATE_HOME to another folder."
        }
        return "Correct that, or set XDG_STATE_HOME to another folder."
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Short keys if they distinguish the devices, otherwise whole ones.
    private static func key(_ device: RememberedDevice, of devices: [RememberedDevice]) -> String {
        let areDistinct =
            Set(devices.map(\.key.description)).count == devices.count
            && !devices.contains { $0.name == device.key.description }
        return areDistinct ? device.key.description : device.key.hex
    }
}
