import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct PairingCodeTests {
    @Test(arguments: ["095425", "095 425", "095-425", " 09 54 25 ", "095–425", "095.425", "0-9-5-4-2-5"])
    func aCodeIsTypedWithOrWithoutSeparators(text: String) {
        #expect(PairingCode.typed(text)?.description == "095425")
    }

    @Test(arguments: ["", "-", "09542", "0954255", "095/425", "095+425", "O95425", "０９５４２５", "095\u{202E}425"])
    func anythingElseIsNoCode(text: String) { #expect(PairingCode.typed(text) == nil) }
}
