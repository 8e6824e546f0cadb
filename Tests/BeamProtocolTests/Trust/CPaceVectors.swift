@testable import BeamProtocol

/// The CFRG draft's test vectors for G_Ristretto255 with SHA-512 (draft-irtf-cfrg-cpace, testvectors.json of 2026-04-23).
enum CPaceVectors {
    static let password = bytes("50617373776F7264")
    static let channel = bytes("0B415F696E69746961746F720B425F726573706F6E646572")
    static let session = bytes("7E4B4791D6A8EF019B936C79FB7F2C57")
    static let generator = bytes("222B6B195FE84B1652BADB6F6A3AE3D24341E7306967F0B8115B40D5698C7E56")
    static let viewerScalar = bytes("DA3D23700A9E5699258AEF94DC060DFDA5EBB61F02A5EA77FAD53F4FF0976D08")
    static let viewerData = bytes("414461")
    static let viewerShare = bytes("D6BAC480F2C386C394EFC7C47ADB9925DCD2630B64F240C50F8D0EEC482B9157")
    static let hostScalar = bytes("D2316B454718C35362D83D69DF6320F38578ED5984651435E2949762D900B80D")
    static let hostData = bytes("414462")
    static let hostShare = bytes("3EA7E0B19560D7C0B0F5734F63B955286DFA8232B5EBE63324E2D9E7433F7258")
    static let secret = bytes("80B69A8A76457AB6A4D7F887A4BF6B55A2F80AC19C333F917A05FC9887C8B40F")
    static let sessionKey = bytes(
        "B69EFFBF61B51D56401C0F65601ABE428DE8206FEAAF0E32198896DCAE7B35CD"
            + "2B38950A39DFD5D4A79164614C2984F7DAA460B588C1E80C3FA2068AF7900447")

    /// A scalar, an element, and their product.
    static let scalar = bytes("7CD0E075FA7955BA52C02759A6C90DBBFC10E6D40AEA8D283E407D88CF538A05")
    static let element = bytes("2C3C6B8C4F3800E7AEF6864025B4ED79BD599117E427C41BD47D93D654B4A51C")
    static let product = bytes("7C13645FE790A468F62C39BEB7388E541D8405D1ADE69D1778C5FE3E7F6B600E")
    /// No element; and the neutral one.
    static let invalid = [
        bytes("2B3C6B8C4F3800E7AEF6864025B4ED79BD599117E427C41BD47D93D654B4A51C"),
        bytes("0000000000000000000000000000000000000000000000000000000000000000"),
    ]

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<$0 + 2]), radix: 16) }
    }
}
