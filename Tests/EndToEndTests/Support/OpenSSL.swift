import Foundation

/// Keys, certificates and TLS by the openssl tool, independent of the program's own code.
enum OpenSSL {
    static let isAvailable = Tool.exists("openssl")

    /// The files of a key and its certificate.
    struct Identity: Sendable {
        var key: String
        var certificate: String

        var arguments: [String] { ["-key", key, "-cert", certificate] }
    }

    /// A new key of a kind that `genpkey` makes.
    static func key(_ name: String, _ kind: [String] = p256, in directory: ScratchDirectory) throws -> String {
        let path = directory.file(name + ".key")
        try Tool.run("openssl", ["genpkey", "-quiet", "-out", path] + kind)
        return path
    }

    static let p256 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]

    /// A self-signed certificate for `key`.
    static func selfSigned(_ name: String, key: String, in directory: ScratchDirectory) throws -> Identity {
        let path = directory.file(name + ".crt")
        try Tool.run(
            "openssl", ["req", "-x509", "-new", "-key", key, "-subj", "/CN=BeamRoom", "-days", "30", "-out", path])
        return Identity(key: key, certificate: path)
    }

    /// The same, valid between two times in the form `YYMMDDhhmmssZ`.
    static func selfSigned(_ name: String, key: String, from: String, to: String, in directory: ScratchDirectory) throws
        -> Identity
    {
        let place = directory.file(name + "-authority")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let configuration = """
            [ca]
            default_ca = here
            [here]
            database = \(place)/index
            serial = \(place)/serial
            new_certs_dir = \(place)
            default_md = sha256
            policy = any
            [any]
            commonName = supplied
            """
        for (file, text) in [("configuration", configuration), ("index", ""), ("serial", "01\n")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: place + "/" + file))
        }
        let (request, path) = (place + "/request", directory.file(name + ".crt"))
        try Tool.run("openssl", ["req", "-new", "-key", key, "-subj", "/CN=BeamRoom", "-out", request])
        try Tool.run(
            "openssl",
            [
                "ca", "-batch", "-notext", "-selfsign", "-config", place + "/configuration", "-keyfile", key,
                "-startdate", from, "-enddate", to, "-in", request, "-out", path,
            ])
        return Identity(key: key, certificate: path)
    }

    /// A certificate for `key`, signed by another identity. Its subject is that identity's unless `subject` is given.
    static func signed(
        _ name: String, key: String, by authority: Identity, subject: String = "/CN=BeamRoom",
        in directory: ScratchDirectory
    ) throws -> Identity {
        let (request, path) = (directory.file(name + ".csr"), directory.file(name + ".crt"))
        try Tool.run("openssl", ["req", "-new", "-key", key, "-subj", subject, "-out", request])
        try Tool.run(
            "openssl",
            [
                "x509", "-req", "-in", request, "-CA", authority.certificate, "-CAkey", authority.key,
                "-set_serial", "7", "-days", "30", "-out", path,
            ])
        return Identity(key: key, certificate: path)
    }

    /// The device key of a private key: SHA-256 of its SubjectPublicKeyInfo.
    static func deviceKey(ofPrivateKey path: String, in directory: ScratchDirectory) throws -> [UInt8] {
        let file = directory.file("public-key")
        try Tool.run("openssl", ["pkey", "-in", path, "-pubout", "-outform", "DER", "-out", file])
        return try sha256(ofFile: file)
    }

    static func sha256(_ bytes: [UInt8], in directory: ScratchDirectory) throws -> [UInt8] {
        let file = directory.file("digested")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        return try sha256(ofFile: file)
    }

    private static func sha256(ofFile path: String) throws -> [UInt8] {
        let words = try Tool.run("openssl", ["dgst", "-sha256", "-r", path])
        let digits = Array(words.prefix(64).utf8)
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<min($0 + 2, digits.count)], as: UTF8.self), radix: 16)
        }
        guard bytes.count == 32 else { throw HarnessError("openssl dgst says: \(words)") }
        return bytes
    }

    static let channel = ["-quiet", "-tls1_3", "-alpn", "beamroom/2"]

    /// Connects; the process's socket is the plaintext side. `more` is appended to the arguments.
    static func connect(to endpoint: Endpoint, as identity: Identity?, _ more: [String] = []) throws -> ChildProcess {
        try ChildProcess(
            "openssl",
            ["s_client", "-connect", endpoint.description, "-noservername"] + channel + (identity?.arguments ?? [])
                + more, input: .socket)
    }

    /// Accepts one connection at `endpoint`, and asks for a client certificate of any kind.
    static func listen(at endpoint: Endpoint, as identity: Identity) throws -> ChildProcess {
        let process = try ChildProcess(
            "openssl",
            ["s_server", "-accept", endpoint.description, "-naccept", "1", "-Verify", "1"] + channel
                + identity.arguments, input: .socket)
        guard eventually(timeout: 30, { isListening(endpoint) || !process.isRunning }), process.isRunning else {
            throw HarnessError("openssl s_server at \(endpoint): \(process.errorText)")
        }
        return process
    }

    // A probing connection would be the one that openssl accepts, so the kernel's list is read.
    private static func isListening(_ endpoint: Endpoint) -> Bool {
        let address = endpoint.address.split(separator: ".").reversed().compactMap { UInt8($0) }
        let place = address.map { String(format: "%02X", $0) }.joined() + String(format: ":%04X", endpoint.port)
        let list = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
        return list.split(separator: "\n").contains { line in
            let fields = line.split(separator: " ")
            return fields.count > 3 && fields[1] == place && fields[3] == "0A"
        }
    }
}
