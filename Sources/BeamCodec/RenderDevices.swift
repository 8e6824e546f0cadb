import Foundation

/// Where the system shows its graphics devices.
enum RenderDevices {
    /// What every system calls it.
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

    /// Each decoder that opens here, by the words of a command line. Opens each.
    static func workingDecoders() -> [String] {
        [SoftwareDecoder.standardName]
            + paths().filter { (try? HardwareDevice(path: $0)) != nil }.map { HardwareDecoder.name(path: $0) }
    }
}
