import Foundation
import Testing

/// Peers that connect to the real program's control port with bad certificates or messages.
extension EndToEnd {
    @Suite(.needsProgram, .needsOpenSSL) struct CertificateTests {
        let scratch: ScratchDirectory
        let desk: Machine
        let sofa: Machine
        let ports: Ports

        init() throws {
            scratch = try ScratchDirectory()
            desk = try Machine()
            sofa = try Machine()
            ports = try Ports()
        }

        @Test func aKnownKeyIsTrustedOnlyWithAValidCertificate() throws {
            let host = try pairedHost()
            defer { host.end() }
            let trusted = sofa.store + "/identity.pem"

            // The known key in a new certificate is the known viewer.
            let good = try OpenSSL.selfSigned("good", key: trusted, in: scratch)
            let known = try TLSPeer(to: endpoint, as: good)
            known.send(.hello(name: "Sofa"))
            known.send(WireMessage.join)
            #expect(known.wait(for: WireMessage.welcome)?.body[6] == 1)
            #expect(known.wait(for: WireMessage.session) != nil, "\(host.errorText)")

            let strange = try OpenSSL.key("strange", in: scratch)
            let rsa = try OpenSSL.key("rsa", ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], in: scratch)
            let larger = try OpenSSL.key(
                "larger", ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], in: scratch)
            let foreign = try OpenSSL.signed("foreign", key: strange, by: good, subject: "/CN=Somebody", in: scratch)
            let bad: [(String, OpenSSL.Identity?, [String], String)] = try [
                (
                    "expired",
                    OpenSSL.selfSigned(
                        "expired", key: trusted, from: "200101000000Z", to: "210101000000Z", in: scratch),
                    [], "expired"
                ),
                (
                    "not valid yet",
                    OpenSSL.selfSigned("early", key: trusted, from: "480101000000Z", to: "490101000000Z", in: scratch),
                    [], "isn't valid yet"
                ),
                ("none", nil, [], "no certificate"),
                ("of a strange key, signed by the known one", foreign, [], "issued by somebody else"),
                (
                    "the same, and in the same name",
                    OpenSSL.signed("foreign-same", key: strange, by: good, in: scratch), [],
                    "isn't signed with its own key"
                ),
                ("the known one behind a strange one", foreign, ["-cert_chain", good.certificate], "2 certificates"),
                // The host asks for a P-256 key, so openssl doesn't send these certificates.
                ("RSA", OpenSSL.selfSigned("rsa", key: rsa, in: scratch), [], "no certificate"),
                ("P-384", OpenSSL.selfSigned("larger", key: larger, in: scratch), [], "no certificate"),
            ]
            for (number, (what, identity, more, reason)) in bad.enumerated() {
                let count = host.process.state.current.errors.count
                let visitor = try TLSPeer(
                    to: endpoint, as: identity, ["-bind", "127.0.0.\(10 + number):0"] + more)
                visitor.send(.hello(name: "Sofa"))
                visitor.send(WireMessage.join)
                #expect(visitor.ends(), "a certificate that is \(what) is accepted")
                #expect(visitor.messages.isEmpty, "\(what): \(visitor.messages)")
                let said = host.process.state.wait(timeout: 30) { state in
                    state.errors.dropFirst(count).first { $0.contains("was closed") }
                }
                #expect(said?.contains(reason) == true, "\(what): \(said ?? "no message")")
                expectPlainWords(said ?? "")
            }
            #expect(host.events("paired").count == 2, "the viewer itself, and its key in another certificate")
        }

        @Test func anUnknownPeerGetsNoSession() throws {
            let host = try pairedHost()
            defer { host.end() }
            let strange = try OpenSSL.selfSigned("strange", key: OpenSSL.key("strange", in: scratch), in: scratch)
            // Joins without having been admitted, and sends what an admitted viewer may.
            let visitor = try TLSPeer(to: endpoint, as: strange)
            visitor.send(.hello(name: "Sofa"))
            visitor.send(WireMessage.join)
            visitor.send(0x21, [0, 1])
            visitor.send(0x30, [0, 0, 0, 0, 0, 0, 0, 1])
            visitor.send(WireMessage.compareReveal, [UInt8](repeating: 0, count: 32))
            visitor.send(WireMessage.codeConfirm, [UInt8](repeating: 0, count: 64))
            _ = visitor.ends(within: 3)
            #expect(!visitor.messages.contains { $0.kind == WireMessage.session || $0.kind == 0x16 || $0.kind == 0x20 })
            #expect(visitor.messages.allSatisfy { $0.kind != WireMessage.welcome || $0.body[6] == 0 })
            #expect(host.events("paired").count == 1)
        }

        @Test(
            arguments: [
                ("no length", [0, 0, 0, 0]), ("a length above 10 MiB", [0, 0xa0, 0, 1, 1]),
                ("the longest length", [0xff, 0xff, 0xff, 0xff]),
                ("a length above the usual limit", [0, 2, 0x80, 1]),
                ("plain words", Array("GET / HTTP/1.1\r\n\r\n".utf8)),
                ("a hello that is cut off", [0, 0, 0, 3, 1, 0, 2]),
                ("an old version", [0, 0, 0, 19, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 65, 66]),
            ] as [(String, [UInt8])])
        func invalidBytesInsideTLSEndTheConnection(what: String, bytes: [UInt8]) throws {
            let host = try pairedHost()
            defer { host.end() }
            let strange = try OpenSSL.selfSigned("strange", key: OpenSSL.key("strange", in: scratch), in: scratch)
            let visitor = try TLSPeer(to: endpoint, as: strange)
            visitor.send(raw: bytes)
            #expect(visitor.ends(), "\(what) is accepted")
            #expect(!visitor.messages.contains { $0.kind == WireMessage.session })
            let viewer = try Program.watch([ports.target], machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            expectPlainWords(host.errorText)
        }

        @Test(arguments: [
            ["-tls1_2"], ["-alpn", "h2"], ["-alpn", "beamroom/3"], ["-ciphersuites", "TLS_AES_128_CCM_8_SHA256"],
        ])
        func otherTLSParametersAreRefused(options: [String]) throws {
            let host = try pairedHost()
            defer { host.end() }
            let trusted = try OpenSSL.selfSigned("good", key: sofa.store + "/identity.pem", in: scratch)
            let visitor = try TLSPeer(
                to: endpoint, as: trusted, options == ["-tls1_2"] ? ["-no_tls1_3"] + options : options)
            visitor.send(.hello(name: "Sofa"))
            visitor.send(WireMessage.join)
            #expect(visitor.ends())
            #expect(visitor.messages.isEmpty)
            #expect(host.events("paired").count == 1)
            expectPlainWords(host.errorText)
        }

        @Test func aHostWithoutAValidCertificateIsNotWatched() throws {
            let key = try OpenSSL.key("false", in: scratch)
            let place = Endpoint(ports.control)
            let good = try OpenSSL.selfSigned("good", key: key, in: scratch)
            let bad = try [
                OpenSSL.selfSigned("expired", key: key, from: "200101000000Z", to: "210101000000Z", in: scratch),
                OpenSSL.signed("foreign", key: OpenSSL.key("other", in: scratch), by: good, in: scratch),
            ]
            for identity in bad {
                let impostor = try TLSPeer(at: place, as: identity)
                // Even where version 1 is allowed: after TLS there is no fallback.
                let viewer = try Program.watch(
                    [ports.target, "--code", "482913", "--allow-unencrypted"], machine: sofa)
                defer { viewer.end() }
                #expect(impostor.ends(), "the viewer doesn't close the connection")
                #expect(impostor.messages.isEmpty, "the viewer sends messages: \(impostor.messages)")
                _ = eventually(timeout: 5) { !viewer.events("retry").isEmpty || !viewer.isRunning }
                #expect(viewer.events("paired").isEmpty)
                expectPlainWords(viewer.errorText)
            }
        }

        @Test func unsecuredConnectionsDoNotKeepOutViewers() throws {
            let host = try pairedHost()
            defer { host.end() }
            // A TLS record that announces 512 bytes, of which none follow.
            let flood = (0..<80).compactMap { _ in try? Socket.connect(to: endpoint, from: "127.0.0.9") }
            for socket in flood { socket.send([0x16, 3, 1, 2, 0, 1]) }
            #expect(eventually(timeout: 30) { flood.count { $0.receive(timeout: 0) == .ended } >= 80 - 16 })
            let viewer = try Program.watch([ports.target], machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let start = secondsNow()
            #expect(eventually(timeout: 40) { flood.allSatisfy { $0.receive(timeout: 0) == .ended } })
            report("connections that are never secured end after", "\((secondsNow() - start).short) s")
            #expect(viewer.events("stall").isEmpty && viewer.events("reconnect").isEmpty)
            expectPlainWords(host.errorText)
        }

        private var endpoint: Endpoint { Endpoint(ports.control) }

        /// A host that is paired with the sofa, and pairs no new viewers.
        private func pairedHost() throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + ["--code-file", try desk.codeFile("482913")], ports: ports, accept: nil, machine: desk)
            do {
                try host.waitFor("ready")
                let viewer = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
                defer { viewer.end() }
                try viewer.waitFor("first-frame")
                viewer.interrupt()
                _ = try viewer.waitForEnd()
                try host.waitFor("viewer-left")
            } catch {
                host.end()
                throw error
            }
            return host
        }
    }
}
