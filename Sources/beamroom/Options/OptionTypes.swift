import ArgumentParser
import BeamMedia
import BeamNetwork
import BeamSession
import BeamWire
import Logging

/// Bits a second, as scrcpy and ffmpeg write it: `8M`, `800k`, `2500000`.
struct BitRate: ExpressibleByArgument {
    var bitsPerSecond: Int

    init?(argument: String) {
        let scale: Double
        switch argument.last {
        case "k", "K": scale = 1_000
        case "m", "M": scale = 1_000_000
        case "g", "G": scale = 1_000_000_000
        default: scale = 1
        }
        let number = scale == 1 ? argument : String(argument.dropLast())
        guard let value = Double(number), value.isFinite else { return nil }
        let bits = value * scale
        guard (10_000...1_000_000_000).contains(bits) else { return nil }
        bitsPerSecond = Int(bits)
    }
}

/// `1280x720`.
extension PixelSize: ExpressibleByArgument {
    public init?(argument: String) {
        let parts = argument.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]),
            (2...8192).contains(width), (2...8192).contains(height)
        else { return nil }
        self.init(width: width, height: height)
    }
}

/// `800x600+10+20`, as X11 writes a geometry.
extension PixelRect: ExpressibleByArgument {
    public init?(argument: String) {
        let parts = argument.split(separator: "+", omittingEmptySubsequences: false)
        guard parts.count == 3, let size = PixelSize(argument: String(parts[0])), let x = Int(parts[1]),
            let y = Int(parts[2]), (0...65535).contains(x), (0...65535).contains(y)
        else { return nil }
        self.init(x: x, y: y, width: size.width, height: size.height)
    }
}

/// An X11 window: its number, `0x…` as xwininfo prints it, or a part of its title. A decimal number may be either.
enum WindowChoice: ExpressibleByArgument, Equatable {
    case number(UInt32)
    case text(String)

    init?(argument: String) {
        if argument.lowercased().hasPrefix("0x"), let number = UInt32(argument.dropFirst(2), radix: 16) {
            guard number != 0 else { return nil }
            self = .number(number)
        } else {
            let text = ShownText.line(argument)
            guard !text.isEmpty else { return nil }
            self = .text(text)
        }
    }
}

extension PairingCode: ExpressibleByArgument {
    /// `482913`, `482 913` as the host shows it, or `482-913`.
    public init?(argument: String) {
        guard let code = PairingCode.typed(argument) else { return nil }
        self = code
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}

/// What an option takes, for the error about a value that it doesn't take.
struct OptionError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension ExpressibleByArgument {
    /// Reads an option's value.
    ///
    /// - Parameter takes: the end of a sentence that begins with "It takes".
    static func reading(_ takes: String) -> @Sendable (String) throws -> Self {
        { text in
            guard let value = Self(argument: text) else { throw OptionError("It takes \(takes).") }
            return value
        }
    }
}

extension ValidationError {
    /// Checks a name that others will read. `option`: the beginning of a sentence.
    static func check(name: String?, of option: String = "--name") throws {
        if let name, ShownText.line(name).isEmpty || name.utf8.count > 200 {
            throw ValidationError("\(option) takes 1 to 200 bytes of visible characters.")
        }
    }
}

/// What the options take, in words.
enum OptionText {
    static let port = "a number from 0 to 65535; 0 is any free port"
    static let bitRate = "10k to 1000M bits a second, as in 8M, 800k or 2500000"
    static let viewerBitRate = "128k to 1000M bits a second, as in 8M, 800k or 2500000"
    static let size = "a width and a height from 2 to 8192 pixels, as in 1280x720"
    static let region = "a size from 2x2 to 8192x8192 and a place, as in 800x600+10+20"
    static let window = "a window's ID, for example 0x1c00007, or a part of its title"
    static let code = "six digits, as in 482913 or \"482 913\""
    static let playoutDelay = "auto, or a number of milliseconds from 0 to 2000"
    static let frameRate = "a number from 1 to 240"
    static let soundRate = "16k to 256k bits a second, as in 128k or 96000"
    static let metrics = "a port, or a numeric address and a port, as in 9464, 192.0.2.7:9464 or [2001:db8::7]:9464"
    static let viewers = "a number from 1 to \(Door.Configuration.mostViewersPossible)"
    static let maxSize = "a number of pixels from 16 to 8192"
}

extension Door.Acceptance: ExpressibleByArgument {}
extension MeshServer.Relaying: ExpressibleByArgument {}

/// The jitter margin of the playout buffer: `auto`, or milliseconds.
enum PlayoutDelay: ExpressibleByArgument {
    case automatic
    case fixed(Duration)

    init?(argument: String) {
        if argument == "auto" {
            self = .automatic
        } else if let milliseconds = Int(argument), (0...2000).contains(milliseconds) {
            self = .fixed(.milliseconds(milliseconds))
        } else {
            return nil
        }
    }

    var duration: Duration? {
        if case .fixed(let duration) = self { duration } else { nil }
    }

    var defaultValueDescription: String { "auto" }
}

/// `on` or `off`.
enum Switch: String, ExpressibleByArgument, CaseIterable {
    case on
    case off

    var isOn: Bool { self == .on }
}
