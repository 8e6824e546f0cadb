@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The CFRG draft's test vectors for G_Ristretto255 with SHA-512 (draft-irtf-cfrg-cpace, testvectors.json of
/// 2026-04-23).
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
    /// Not an element; and the neutral element.
    static let invalid = [
        bytes("2B3C6B8C4F3800E7AEF6864025B4ED79BD599117E427C41BD47D93D654B4A51C"),
        bytes("0000000000000000000000000000000000000000000000000000000000000000"),
    ]

    /// The draft has no vectors for the confirmation (10.4) or for BeamRoom's own strings. A program in another
    /// language calculated these from the texts of the draft and of the protocol; it reproduces the draft's vectors,
    /// too.
    enum Derived {
        /// From the draft's vectors.
        static let viewerTag = bytes(
            "30478D28D83AE3B214295E91F4A3EB62999A8ED94575075DB4A7D3BC3E4D26F1"
                + "6C51ADBA12DC7771372637A46B5134E0937CDDD7D820BFDD83BE335E339EB57A")
        static let hostTag = bytes(
            "E927A7DA291676F8878CAAE9CB70407D2F14117E6F9FF9ADCFDA797C4BCF2BD2"
                + "FEFD2CA3F2DDCCE81B7386996C895B2F359010CC92069D5FF4AD49A977DE79A6")
    }

    /// A whole pairing: this context, this code, and the draft's scalars.
    enum Pairing {
        static let code = "048291"
        static let context = PairingContext(
            viewer: DeviceKey(Array(0..<32))!, host: DeviceKey(Array(32..<64))!, nonce: Array(64..<96),
            viewerName: "Küche", hostName: "Büro 2")
        static let viewerShare = bytes("A87DA9802CF153D03816CDC7F965C161702B087CFB47CC8734E2EF8FD3CF8836")
        static let hostShare = bytes("FCB3A7FC9E48F8777D44897D7F686061E9657E4C8E56FA332D74675E90CBAD0F")
        static let viewerTag = bytes(
            "54A186C2BBE158B1F08CC4394E233289880EDB3881BCBADA1B0C7731551B8F1D"
                + "1B97EF82CE2FBB627468C79C5E2108F8BC3C9EE1FBCDF6278EA5497941D3CD2B")
        static let hostTag = bytes(
            "E868A9C89BFD140E58821F6144FEBE7268E4020F9747CDC1C81CD6763512F0B7"
                + "716048BFE1AE2944C694DB4505A2FA90E819B328195389264EC47D4DBCC91649")
        /// A comparison in the same context, with these nonces.
        static let viewerNonce: [UInt8] = Array(96..<128)
        static let hostNonce: [UInt8] = Array(128..<160)
        static let commitment = bytes("57AF483E51E47B093EDF35A4D73256F28343BD7E1955622F470543555B068302")
        static let digits = "922100"
        static let nineDigits = "614324913"
    }

    /// Further encodings that RFC 9496 (4.3.1) refuses: not reduced, negative, not a square. The prime is 2^255 − 19.
    static let undecodable: [[UInt8]] = [
        // The prime itself (another encoding of 0), and the next two numbers.
        [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
        [0xEE] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
        [0xEF] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
        // -1, 1 and 2.
        [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
        [1] + [UInt8](repeating: 0, count: 31),
        [2] + [UInt8](repeating: 0, count: 31),
        // Minus `Pairing.hostShare`.
        bytes("F14B580361B7078882BB768280979F9E169A81B371A905CCD28B98A16F345270"),
        [UInt8](repeating: 0xFF, count: 32),
    ]

    fileprivate static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0..<$0 + 2]), radix: 16) }
    }
}
