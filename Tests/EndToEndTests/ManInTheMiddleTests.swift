import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    static var needsOpenSSL: Self { .enabled(if: OpenSSL.isAvailable, "openssl isn't installed (package openssl)") }
}

/// A man in the middle that terminates TLS on both sides with a key of its own, and forwards everything.
extension EndToEnd {
    @Suite(.needsProgram, .needsOpenSSL) struct ManInTheMiddleTests {
        let scratch: ScratchDirectory
        let desk: Machine
        let sofa: Machine
        let ports: Ports
        private static let hostAddress = "127.0.0.2"
        private static let relayAddress = "127.0.0.3"

        init() throws {
            scratch = try ScratchDirectory()
            desk = try Machine()
            sofa = try Machine()
            ports = try Ports()
        }

        @Test func theRightCodeDoesNotPairThroughTheMiddle() throws {
            let host = try share(["--code", "482913"], accept: nil)
            defer { host.end() }
            let relay = try middle()
            defer { relay.end() }
            let viewer = try Program.watch([target, "--code", "482913"], machine: sofa)
            defer { viewer.end() }
            try host.waitFor("wrong-code")
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(viewer.events("device-paired").isEmpty && viewer.events("paired").isEmpty)
            #expect(host.events("device-paired").isEmpty && host.events("paired").isEmpty)
            #expect(try desk.devices().isEmpty && sofa.devices().isEmpty)
            let heard = relay.state.current
            #expect(
                heard.fromViewer.contains { $0.kind == WireMessage.codeConfirm }, "the viewer got as far as the proof")
            #expect(!heard.fromHost.contains { $0.kind == WireMessage.codeConfirm }, "the host sends it no proof")
            #expect(!heard.fromHost.contains { $0.kind == WireMessage.session })
            for message in heard.fromViewer + heard.fromHost {
                #expect(message.body.firstRange(of: Array("482913".utf8)) == nil, "the code is on the wire")
            }
            expectPlainWords(viewer.errorText)
        }

        @Test func aForwardedComparisonFails() throws {
            let host = try share([], accept: "ask", input: .pipe)
            defer { host.end() }
            let relay = try middle()
            defer { relay.end() }
            let viewer = try Program.watch([target], machine: sofa)
            defer { viewer.end() }
            try host.waitForWords("You'll compare digits first")
            #expect(!relay.state.current.fromHost.contains { $0.kind == WireMessage.compareNonce })
            host.process.type("y")
            try host.waitForWords("Comparing digits with")
            try viewer.waitFor("retry")
            // The host may still be about to write it when the viewer knows.
            try host.waitFor("comparison-failed")
            #expect(host.events("comparison-failed").count == 1)
            #expect(
                !host.errorText.contains("Does it show the same digits"),
                "the person isn't asked to compare different digits")
            #expect(viewer.events("paired").isEmpty)
            #expect(relay.state.current.fromViewer.contains { $0.kind == WireMessage.compareReveal })
            #expect(try desk.devices().isEmpty && sofa.devices().isEmpty)
            expectPlainWords(viewer.errorText)
        }

        /// The middle compares with each side separately, as the protocol's page says, and knows what both show.
        @Test func aMiddleThatComparesWithBothSidesCausesDifferentDigits() throws {
            let host = try share(["--name", "Desk"], accept: "ask", input: .pipe)
            defer { host.end() }
            let identity = try middleIdentity()
            let own = try OpenSSL.deviceKey(ofPrivateKey: identity.key, in: scratch)
            let falseHost = try TLSPeer(at: Endpoint(ports.control, on: Self.relayAddress), as: identity)
            let viewer = try Program.watch([target], machine: sofa)
            defer { viewer.end() }

            let hello = try #require(falseHost.wait(for: WireMessage.hello))
            // Its length and its bytes; the bounds of pictures follow.
            let rest = Array(hello.body.dropFirst(14))
            let name = Array(rest.prefix(2 + (Int(rest[0]) << 8 | Int(rest[1]))))
            let (welcomeNonce, hostNonce) = (random(32), random(32))
            falseHost.send(WireMessage.welcome, [0, 2, 0, 0, 0, 0, 0, 2] + welcomeNonce + WireMessage.text("Desk"))
            let commitment = try #require(falseHost.wait(for: WireMessage.compareCommit)).body
            falseHost.send(WireMessage.compareNonce, hostNonce + [6])
            let viewerNonce = try #require(falseHost.wait(for: WireMessage.compareReveal)).body
            let shown = try viewer.shownCode()

            let falseViewer = try TLSPeer(to: Endpoint(ports.control, on: Self.hostAddress), as: identity)
            falseViewer.send(WireMessage.hello, Array(hello.body))
            let welcome = try #require(falseViewer.wait(for: WireMessage.welcome)).body
            let nonce = Array(welcome[8..<40])
            let deskKey = try OpenSSL.deviceKey(ofPrivateKey: desk.store + "/identity.pem", in: scratch)
            let sofaKey = try OpenSSL.deviceKey(ofPrivateKey: sofa.store + "/identity.pem", in: scratch)
            func digest(_ purpose: String, _ parts: [UInt8]...) throws -> [UInt8] {
                try OpenSSL.sha256(Array("BeamRoom 2 \(purpose)".utf8) + [0] + parts.flatMap { $0 }, in: scratch)
            }
            // The viewer's commitment is as the page says.
            #expect(try digest("commit", sofaKey, own, welcomeNonce, viewerNonce) == commitment)
            falseViewer.send(WireMessage.compareCommit, try digest("commit", own, deskKey, nonce, viewerNonce))
            try host.waitForWords("You'll compare digits first")
            host.process.type("y")
            let answer = try #require(falseViewer.wait(for: WireMessage.compareNonce)).body
            #expect(answer.count == 33 && answer.last == 6)
            let answered = Array(answer.prefix(32))
            falseViewer.send(WireMessage.compareReveal, viewerNonce)
            let asked = try host.shownCode()
            try host.waitForWords("Does it show the same digits")

            #expect(shown != asked, "equal digits would let the person accept the middle")
            // Lengths below 128 take one byte (CPace draft).
            let names = [UInt8(name.count - 2)] + name.dropFirst(2) + [4] + Array("Desk".utf8)
            func digits(_ digest: [UInt8]) -> String {
                String(format: "%06d", Int(digest[..<8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) } % 1_000_000))
            }
            #expect(
                try digits(digest("compare", sofaKey, own, welcomeNonce, viewerNonce, hostNonce, names + [6])) == shown)
            #expect(try digits(digest("compare", own, deskKey, nonce, viewerNonce, answered, names + [6])) == asked)
            noticeTheQuestion()
            host.process.type("n")
            #expect(falseViewer.wait(for: WireMessage.refused) != nil)
            #expect(try desk.devices().isEmpty && sofa.devices().isEmpty)
        }

        @Test func aPairedViewerDoesNotPairAgainThroughTheMiddle() throws {
            let host = try share(["--code", "482913"], accept: nil)
            defer { host.end() }
            let direct = try Program.watch(["\(Self.hostAddress):\(ports.control)", "--code", "482913"], machine: sofa)
            defer { direct.end() }
            try direct.waitFor("first-frame")
            try direct.waitFor("device-paired")
            direct.end()
            let relay = try middle()
            defer { relay.end() }
            // Neither side knows the middle's key, so it treats the other as an unpaired device, and the viewer has no
            // code.
            let viewer = try Program.watch([target], machine: sofa)
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(viewer.events("paired").isEmpty)
            #expect(!relay.state.current.fromHost.contains { $0.kind == WireMessage.session })
        }

        @Test func breakingTLSDoesNotForceVersion1() throws {
            let host = try share(["--allow-unencrypted"], accept: "all")
            defer { host.end() }
            // The middle closes TLS connections, but would forward version 1.
            let media = try UDPRelay()
            let breaker = try TCPRelay(
                to: Endpoint(ports.control, on: Self.hostAddress), at: Endpoint(ports.control, on: Self.relayAddress),
                media: media)
            defer { breaker.end() }
            let viewer = try Program.watch([target, "--time-limit", "4"], machine: sofa)
            defer { viewer.end() }
            _ = try viewer.waitForEnd()
            #expect(viewer.events("paired").isEmpty && viewer.events("first-frame").isEmpty)
            #expect(!viewer.events("retry").isEmpty || !viewer.events("refused").isEmpty, "\(viewer.errorText)")
            #expect(host.events("paired").isEmpty)
            expectPlainWords(viewer.errorText)
        }

        private var target: String { "\(Self.relayAddress):\(ports.control)" }

        private func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255) } }

        private func middleIdentity() throws -> OpenSSL.Identity {
            try OpenSSL.selfSigned("middle", key: try OpenSSL.key("middle", in: scratch), in: scratch)
        }

        private func middle() throws -> TLSRelay {
            try TLSRelay(
                at: Endpoint(ports.control, on: Self.relayAddress), to: Endpoint(ports.control, on: Self.hostAddress),
                as: middleIdentity())
        }

        private func share(_ arguments: [String], accept: String?, input: ChildProcess.Input = .none) throws
            -> ProgramProcess
        {
            let host = try Program.share(
                .pattern + ["--bind", Self.hostAddress] + arguments, ports: ports, accept: accept, machine: desk,
                input: input)
            do {
                try host.waitFor("ready")
            } catch {
                host.end()
                throw error
            }
            return host
        }
    }
}
