import Foundation
import Testing

/// Hosts that are known by name, on their own networks.
extension EndToEnd {
    @Suite(
        .needsProgram,
        .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct KnownNameTests {
        let network: PrivateMachine
        let desk: Machine
        let sofa: Machine

        init() throws {
            network = try PrivateMachine()
            desk = try Machine()
            sofa = try Machine()
        }

        @Test func anotherKeyUnderAKnownNameIsRefused() throws {
            try pair()
            // The impostor admits everybody, and announces the known name.
            let impostor = try network.share(name: "Desk")
            defer { impostor.end() }
            try waitUntilListed()
            for way in [[], ["--allow-unencrypted"], ["--code", "482913"]] {
                let viewer = try network.watch(["Desk"] + way, as: sofa)
                defer { viewer.end() }
                #expect(try viewer.waitForEnd() == .exited(2))
                #expect(viewer.errorText.contains("another key"), "\(viewer.errorText)")
                #expect(viewer.errorText.contains("beamroom devices forget"), "\(viewer.errorText)")
                #expect(viewer.events("paired").isEmpty)
                expectPlainWords(viewer.errorText)
            }
            #expect(impostor.events("paired").isEmpty && impostor.events("device-paired").isEmpty)

            // A person who forgets the known host can pair again.
            #expect(try sofa.forget("Desk").ending == .exited(0))
            let viewer = try network.watch(["Desk"], as: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
        }

        @Test(
            .needsFFmpeg,
            .enabled(if: Tool.exists("avahi-publish-service"), "avahi-publish isn't installed (package avahi-utils)"))
        func aKnownHostIsNotWatchedInTheClear() throws {
            try pair()
            let scratch = try ScratchDirectory()
            let stream = try RecordedStream(width: 640, height: 360, seconds: 2, in: scratch)
            let address = network.address
            let impostor = try network.inNetwork { try IOSHost(stream, on: address) }
            defer { impostor.stop() }
            let announcement = try network.run([
                "avahi-publish-service", "Desk", "_beamctl._tcp", "\(impostor.controlPort)",
            ])
            defer { announcement.end() }
            try waitUntilListed()
            let known = try network.watch(["Desk", "--allow-unencrypted"], as: sofa)
            defer { known.end() }
            #expect(try known.waitForEnd() == .exited(2))
            #expect(known.events("paired").isEmpty && impostor.current.codes.isEmpty, "\(known.errorText)")
            expectPlainWords(known.errorText)
            known.end()
            // A machine that doesn't know the name may watch in the clear.
            let unpaired = try network.watch(["Desk", "--allow-unencrypted"])
            defer { unpaired.end() }
            try unpaired.waitFor("first-frame")
            #expect(unpaired.events("paired").first?.fields["encrypted"] == .bool(false))
        }

        @Test func aPairedHostIsWatchedUnderANewName() throws {
            try pair()
            let host = try network.share(name: "Upstairs", ["--trusted-only"], accept: nil, as: desk)
            defer { host.end() }
            try waitUntilListed()
            let viewer = try network.watch(["Upstairs"], as: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitForWords("“Upstairs” is the machine that you know as “Desk”. To use that name here: ")
            #expect(viewer.events("device-paired").isEmpty)
            expectPlainWords(viewer.errorText)
        }

        @Test func autoWatchesAKnownHostWhenItAppears() throws {
            let unknown = try network.watch(["--auto", "Desk"], as: sofa)
            defer { unknown.end() }
            #expect(try unknown.waitForEnd() == .exited(1))
            #expect(unknown.errorText.contains("Desk") && unknown.errorText.contains("beamroom watch"))
            expectPlainWords(unknown.errorText)

            try pair()
            let viewer = try network.watch(["--auto", "desk"], as: sofa)
            defer { viewer.end() }
            pause(seconds: 1)
            #expect(viewer.isRunning)
            var frames = 0.0
            for port in ["52345", "52399"] {
                let start = secondsNow()
                let seen = viewer.lineCount
                let host = try network.share(
                    name: "Desk", ["--trusted-only", "--port", port], accept: nil, as: desk)
                let stats = try viewer.waitFor("stats", from: seen) { ($0.number("frames") ?? 0) > frames + 5 }
                report("a known host appears, watched within", "\((secondsNow() - start).short) s")
                frames = stats.number("frames") ?? 0
                host.interrupt()
                #expect(try host.waitForEnd() == .exited(0))
            }
            #expect(viewer.isRunning)
            #expect(viewer.events("code-needed").isEmpty && viewer.events("device-paired").isEmpty)
        }

        @Test func autoIgnoresAKnownNameWithAnotherKey() throws {
            try pair()
            let impostor = try network.share(name: "Desk")
            defer { impostor.end() }
            try waitUntilListed()
            let viewer = try network.watch(["--auto", "Desk"], as: sofa)
            defer { viewer.end() }
            let retry = try viewer.waitFor("retry")
            #expect(retry.string("reason")?.contains("another key") == true, "\(retry)")
            #expect(viewer.events("paired").isEmpty && viewer.events("first-frame").isEmpty)
            #expect(viewer.isRunning, "the viewer still waits for the real host")
            expectPlainWords(viewer.errorText)
        }

        private func pair() throws {
            let host = try network.share(name: "Desk", ["--code", "482913"], accept: nil, as: desk)
            defer { host.end() }
            try waitUntilListed()
            let viewer = try network.watch(["Desk", "--code", "482913"], as: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("device-paired")
            #expect(try sofa.devices().map { $0.string("name") } == ["Desk"])
            host.interrupt()
            _ = try host.waitForEnd()
            guard try eventually(timeout: 30, { try network.hosts(wait: 0.5).isEmpty }) else {
                throw HarnessError("the host is still listed after its end")
            }
        }

        private func waitUntilListed() throws {
            guard try eventually(timeout: 30, { try network.hosts(wait: 0.5).count == 1 }) else {
                throw HarnessError("no host is listed")
            }
        }
    }
}
