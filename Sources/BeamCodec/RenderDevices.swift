import Foundation

/// The system's graphics devices.
enum RenderDevices {
    /// The directory of the devices.
    static let standardDirectory = "/dev/dri"

    /// The render nodes in `directory`, lowest number first: `renderD128`, `renderD129`, …
    static func paths(in directory: String = standardDirectory) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let numbered = names.compactMap { name -> (number: UInt32, name: String)? in
            guard name.hasPrefix("renderD"), let number = UInt32(name.dropFirst("renderD".count)) else { return nil }
            return (number, name)
        }
        return numbered.sorted { ($0.number, $0.name) < ($1.number, $1.name) }.map { "\(directory)/\($0.name)" }
    }

    /// The decoders that open on this machine, by their command-line names. Opens each one.
    static func workingDecoders() -> [String] {
        [SoftwareDecoder.standardName]
            + paths().filter { (try? HardwareDevice(path: $0)) != nil }.map { HardwareDecoder.name(path: $0) }
    }
}
