import Foundation
import Testing

@testable import BeamTrust

struct DevicesFileTests {
    private func entry(
        name: String = "Studio", key: String = String(repeating: "0", count: 64), roles: String = #"["host"]"#,
        pairedAt: String = "2026-03-01T09:30:00Z"
    ) -> String {
        #"{"name": "\#(name)", "key": "\#(key)", "roles": \#(roles), "pairedAt": "\#(pairedAt)"}"#
    }

    private func decode(_ entries: String...) throws -> [RememberedDevice] {
        try DevicesFile.decode(Array(#"{"version": 1, "devices": [\#(entries.joined(separator: ","))]}"#.utf8))
    }

    @Test func `The file's format`() throws {
        let device = makeDevice("Studio", makeKey("9f86"), [.viewer, .host], at: 1_772_357_400)
        let text = """
            {
              "devices" : [
                {
                  "key" : "9f86000000000000000000000000000000000000000000000000000000000000",
                  "name" : "Studio",
                  "pairedAt" : "2026-03-01T09:30:00Z",
                  "roles" : [
                    "host",
                    "viewer"
                  ]
                }
              ],
              "version" : 1
            }

            """
        #expect(String(decoding: DevicesFile.encode([device]), as: UTF8.self) == text)
        #expect(try DevicesFile.decode(Array(text.utf8)) == [device])
    }

    /// Older versions refuse a file with roles that they don't know, and ignore members that they don't know.
    @Test func `Roles of receivers are kept apart from those that older versions know`() throws {
        let hall = makeDevice("Hall", makeKey(1), [.receiver])
        let sofa = makeDevice("Sofa", makeKey(2), [.viewer, .sender])
        let bytes = DevicesFile.encode([hall, sofa])
        #expect(try DevicesFile.decode(bytes) == [hall, sofa])
        let file = try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let entries = try #require(file["devices"] as? [[String: Any]])
        #expect(entries.map { $0["roles"] as? [String] } == [[], ["viewer"]])
        #expect(entries.map { $0["showing"] as? [String] } == [["receiver"], ["sender"]])
        #expect(throws: DevicesFile.Failure.self) { try decode(entry(roles: #"["sender"]"#)) }
        #expect(throws: DevicesFile.Failure.self) {
            try decode(entry(roles: #"[], "showing": ["host"]"#))
        }
    }

    @Test func `An entry written by hand is accepted`() throws {
        let device = try #require(try decode(entry()).first)
        #expect(device == makeDevice("Studio", makeKey(0), [.host], at: 1_772_357_400))
    }

    @Test func `Invalid entries are refused`() {
        let bad = [
            entry(name: ""), entry(name: "\\u001b[2J"), entry(name: String(repeating: "x", count: 256)),
            entry(name: "\\u202e"), entry(key: "00"), entry(key: String(repeating: "g", count: 64)),
            entry(roles: #"["admin"]"#), entry(roles: #""host""#), entry(pairedAt: "yesterday"), entry(pairedAt: ""),
        ]
        for entry in bad { #expect(throws: DevicesFile.Failure.self, "\(entry)") { try decode(entry) } }
    }

    @Test func `A duplicate key is refused`() {
        #expect(throws: DevicesFile.Failure.damaged(reason: "device 2 has the same key as one before it")) {
            try decode(entry(), entry(name: "Attic"))
        }
    }

    @Test func `Too many devices are refused`() {
        let entries = (0...1000).map { entry(key: makeKey($0).hex) }.joined(separator: ",")
        #expect(throws: DevicesFile.Failure.self) { try decode(entries) }
    }

    @Test func `Deeply nested JSON is refused`() {
        let depth = 200_000
        let text = #"{"version": 1, "devices": "# + String(repeating: "[", count: depth)
        #expect(throws: DevicesFile.Failure.self) { try DevicesFile.decode(Array(text.utf8)) }
        #expect(throws: DevicesFile.Failure.self) {
            try DevicesFile.decode(Array((text + String(repeating: "]", count: depth) + "}").utf8))
        }
    }

    /// Fuzz body: any file is either refused, or unchanged when written and read again.
    @Test func `Fuzz: devices.json`() throws {
        let devices = (0..<4).map {
            makeDevice("Device \($0) é", makeKey($0), $0 % 2 == 0 ? [.host] : [.viewer, .host])
        }
        let good = DevicesFile.encode(devices)
        let snippets: [[UInt8]] = [
            "\"", "\\", "\\u0000", "\\ud800", "null", "1e999", "-0", "[", "]", "{", "}", ",", ":", "\u{FEFF}", "é",
            "version", "devices", "9999999999999999999", "\"roles\" : []", "+100000-01-01T00:00:00Z",
        ].map { Array($0.utf8) }
        for seed in Self.seeds(1000) {
            var random = SplitMix(state: seed)
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0...bytes.count, using: &random)
                switch Int.random(in: 0...3, using: &random) {
                case 0: bytes.insert(contentsOf: snippets.randomElement(using: &random) ?? [], at: index)
                case 1: bytes.removeSubrange(index..<min(bytes.count, index + .random(in: 1...30, using: &random)))
                case 2 where index < bytes.count: bytes[index] = .random(in: 0...255, using: &random)
                default:
                    let end = min(bytes.count, index + .random(in: 1...60, using: &random))
                    bytes.insert(
                        contentsOf: Array(bytes[index..<end]), at: .random(in: 0...bytes.count, using: &random))
                }
            }
            guard let read = try? DevicesFile.decode(bytes) else { continue }
            #expect(read.count <= DevicesFile.maxDevices, "seed \(seed)")
            #expect(read.allSatisfy { DeviceName.isValid($0.name) }, "seed \(seed)")
            #expect(try DevicesFile.decode(DevicesFile.encode(read)) == read, "seed \(seed)")
        }
    }

    /// `BEAMROOM_FUZZ_ITERATIONS` sets the number of iterations (default 100,000), `BEAMROOM_FUZZ_SEED` the first seed.
    private static func seeds(_ usual: Int) -> Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["BEAMROOM_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        let wanted = environment["BEAMROOM_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 100_000
        return first..<first + UInt64(max(1, wanted * usual / 100_000))
    }
}

/// SplitMix64, a seeded generator.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
