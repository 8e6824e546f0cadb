import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The names by which the members of a room are told apart.
struct MemberNamesTests {
    private func device(_ first: UInt8...) -> DeviceKey {
        DeviceKey(first + [UInt8](repeating: 0xEE, count: DeviceKey.length - first.count))!
    }

    @Test func aNameThatIsUniqueStaysAsItIs() {
        let names = MemberNames([device(1): "Ana", device(2): "Ben"])
        #expect(names.shown(device(1)) == "Ana")
        #expect(names.shown(device(3)) == nil)
    }

    /// Case, invisible characters and letters of other scripts don't tell a person two names apart.
    @Test(arguments: ["Anna", "ANNA", "An\u{200B}na", "Аnna", "Αnna"])
    func whoLooksAlikeIsMarked(other: String) {
        let names = MemberNames([device(0x12, 0x34): "Anna", device(0x56, 0x78): other])
        #expect(names.shown(device(0x12, 0x34)) == "Anna (1234)")
        #expect(names.shown(device(0x56, 0x78)) == "\(PeerText.name(other)) (5678)")
        #expect(names.contains("anna"))
    }

    /// A mark that a device has put behind its own name isn't believed.
    @Test func nobodyMarksItself() {
        let names = MemberNames([device(0x12, 0x34): "Anna", device(0x56, 0x78): "Anna (1234)"])
        #expect(names.shown(device(0x12, 0x34)) == "Anna (1234)")
        #expect(names.shown(device(0x56, 0x78)) == "Anna (5678)")
        let alone = MemberNames([device(0x56, 0x78): "Anna (1234)"])
        #expect(alone.shown(device(0x56, 0x78)) == "Anna (5678)")
        // Other parentheses are a part of a name.
        #expect(MemberNames([device(1): "Anna (sofa)"]).shown(device(1)) == "Anna (sofa)")
    }

    @Test func keysThatBeginAlikeGetMoreDigits() {
        let names = MemberNames([device(0x12, 0x34, 0x56): "Anna", device(0x12, 0x34, 0x78): "Anna"])
        #expect(names.shown(device(0x12, 0x34, 0x56)) == "Anna (123456ee)")
        #expect(names.shown(device(0x12, 0x34, 0x78)) == "Anna (123478ee)")
    }

    @Test func aMarkGoesWithTheNamesake() {
        var names = MemberNames([device(0x12, 0x34): "Anna", device(0x56, 0x78): "Anna"])
        names[device(0x56, 0x78)] = "Ben"
        #expect(names.shown(device(0x12, 0x34)) == "Anna")
        #expect(names.shown(device(0x56, 0x78)) == "Ben")
    }

    @Test func namesAreReplacedByOthers() {
        var names = MemberNames([device(0x12, 0x34): "Anna", device(0x56, 0x78): "Anna"])
        names.replace(with: [device(0x56, 0x78): "Anna", device(9): "Ben"])
        #expect(names.count == 2 && names.shown(device(0x56, 0x78)) == "Anna" && names.shown(device(9)) == "Ben")
        #expect(names.shown(device(0x12, 0x34)) == nil && names.devices(called: "anna") == [device(0x56, 0x78)])
    }

    /// As many as a log knows, all of one name: each is marked, and it doesn't take longer and longer.
    @Test func manyNamesakesAreAllDifferent() {
        var names = MemberNames()
        let devices = (0..<LogLimits.names).map { device(UInt8($0 >> 8), UInt8($0 & 0xFF)) }
        for device in devices { names[device] = "Anna" }
        #expect(Set(devices.compactMap { names.shown($0) }).count == devices.count)
    }

    @Test func aNameMeansThoseWhoHaveIt() {
        let names = MemberNames([device(0x12, 0x34): "Anna", device(0x56, 0x78): "anna", device(9): "Ben"])
        #expect(Set(names.devices(called: "Anna")) == [device(0x12, 0x34), device(0x56, 0x78)])
        #expect(names.devices(called: "Anna (1234)") == [device(0x12, 0x34)])
        #expect(names.devices(called: "Carl").isEmpty)
    }
}
