import Foundation
import Testing

/// `beamroom doctor` on machines where one thing is broken at a time.
extension EndToEnd {
    @Suite(
        .needsProgram, .needsXServer, .needsSoundServer,
        .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct DoctorTests {
        /// A machine where all is well, apart from what a virtual one can't have.
        private struct Healthy {
            let machine: PrivateMachine
            let screen: XServer
            let sound: SoundServer
            let scratch: ScratchDirectory

            init(screen arguments: [String] = []) throws {
                machine = try PrivateMachine()
                screen = try XServer(width: 320, height: 180, arguments)
                sound = try SoundServer()
                scratch = try ScratchDirectory()
            }

            var environment: [String: String?] {
                sound.environment.merging([
                    "DISPLAY": screen.display, "XDG_STATE_HOME": scratch.file("state"), "WAYLAND_DISPLAY": nil,
                    "XDG_SESSION_TYPE": nil,
                ]) { $1 }
            }

            /// What the doctor says there. - Parameter wrapper: a command that it is run with.
            func examine(
                _ wrapper: [String] = [], environment changes: [String: String?] = [:]
            ) throws -> (findings: [Event], ending: ChildProcess.Ending) {
                let process = try machine.run(
                    wrapper + [Program.path, "doctor", "--json"], environment: environment.merging(changes) { $1 })
                let ending = try process.waitForEnd(timeout: 60)
                let events = process.state.current.output.compactMap(Event.init(line:))
                #expect(events.last?.name == "diagnosis", "\(process.errorText)")
                return (events.filter { $0.name == "finding" }, ending)
            }

            func expect(
                _ subject: String, _ verdict: String, _ words: String, _ wrapper: [String] = [],
                environment changes: [String: String?] = [:]
            ) throws {
                let (findings, ending) = try examine(wrapper, environment: changes)
                let found = findings.filter { $0.string("subject") == subject && $0.string("verdict") == verdict }
                let text = found.compactMap { $0.string("text") }.joined(separator: " ")
                #expect(text.contains(words), "\(subject): \(findings.map(\.fields))")
                let isBroken = findings.contains { $0.string("verdict") == "does-not-work" }
                #expect(ending == .exited(isBroken ? 1 : 0))
                expectPlainWords(text)
            }
        }

        @Test func aHealthyMachineIsCalledGood() throws {
            let healthy = try Healthy()
            let (findings, ending) = try healthy.examine()
            let subjects = [
                "screen", "encoder", "decoder", "sound", "addresses", "multicast", "discovery", "ports", "browsers",
                "keys",
            ]
            for subject in subjects {
                let found = findings.filter { $0.string("subject") == subject }
                #expect(!found.isEmpty && found.allSatisfy { $0.string("verdict") == "good" }, "\(found.map(\.fields))")
            }
            #expect(ending == .exited(0), "\(findings.map(\.fields))")
            let words = try healthy.machine.run([Program.path, "doctor"], environment: healthy.environment)
            #expect(try words.waitForEnd(timeout: 60) == .exited(0))
            #expect(words.outputText.contains("addresses: good. Others reach this machine at 10.77.0.1"))
        }

        @Test func eachThingThatIsMissingIsNamed() throws {
            let healthy = try Healthy()
            let scratch = healthy.scratch
            try healthy.expect("screen", "does-not-work", "There is no display to share", environment: ["DISPLAY": nil])
            try healthy.expect(
                "screen", "does-not-work", "DBUS_SESSION_BUS_ADDRESS",
                environment: [
                    "WAYLAND_DISPLAY": "wayland-7", "XDG_SESSION_TYPE": "wayland", "DBUS_SESSION_BUS_ADDRESS": nil,
                    "XDG_RUNTIME_DIR": nil,
                ])
            try healthy.expect(
                "sound", "does-not-work", "sound server", environment: ["PULSE_SERVER": "unix:/nowhere/pulse"])
            let open = scratch.file("open")
            try FileManager.default.createDirectory(atPath: open + "/beamroom", withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: open + "/beamroom")
            try healthy.expect(
                "keys", "does-not-work", "can be reached by other users", environment: ["XDG_STATE_HOME": open])
            let small = scratch.file("small")
            try FileManager.default.createDirectory(atPath: small, withIntermediateDirectories: true)
            for (size, verdict) in [("64k", "does-not-work"), ("200m", "could-be-better")] {
                try healthy.expect(
                    "disk", verdict, "The disk of",
                    [
                        "unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=\(size) none \(small) && exec \"$@\"",
                        "sh",
                    ],
                    environment: ["XDG_STATE_HOME": small])
            }
            try healthy.expect(
                "priority", "could-be-better", "Let your user raise priorities",
                [
                    "prlimit", "--nice=0", "--rtprio=0", "setpriv", "--bounding-set", "-sys_nice", "--inh-caps",
                    "-sys_nice",
                ])
        }

        @Test func eachLibraryThatIsMissingIsNamed() throws {
            let healthy = try Healthy()
            for (library, subject, verdict, words) in [
                ("libavcodec.so.59", "encoder", "does-not-work", "libavcodec59"),
                ("libavcodec.so.59", "decoder", "does-not-work", "libavcodec59"),
                ("libsrtp2.so.1", "browsers", "could-be-better", "libsrtp2-1"),
            ] {
                let path = "/usr/lib/x86_64-linux-gnu/" + library
                try #require(FileManager.default.fileExists(atPath: path))
                try healthy.expect(
                    subject, verdict, words,
                    ["unshare", "--mount", "sh", "-c", "mount --bind /dev/null \(path) && exec \"$@\"", "sh"])
            }
        }

        @Test(arguments: [("MIT-SHM", "slower"), ("DAMAGE", "doesn't report changes")])
        func aScreenWithoutAnExtensionCouldBeBetter(name: String, words: String) throws {
            let healthy = try Healthy(screen: ["-extension", name])
            try healthy.expect("screen", "could-be-better", words)
        }

        @Test func networksThatLackSomethingAreNamed() throws {
            let healthy = try Healthy()
            try healthy.expect("addresses", "does-not-work", "no address on a network", ["unshare", "--net"])
            try healthy.expect("multicast", "does-not-work", "no network interface", ["unshare", "--net"])
            let taken = try healthy.machine.start(
                ["share", "--json", "--no-discovery", "--source", "pattern", "--time-limit", "60"])
            defer { taken.end() }
            try taken.waitFor("ready")
            try healthy.expect("ports", "could-be-better", "TCP port 52345 is in use")
            taken.end()
            try healthy.machine.stopDaemon()
            try healthy.expect("discovery", "does-not-work", "Avahi")
            healthy.sound.kill()
            try healthy.expect("sound", "does-not-work", "sound server")
        }

        @Test(
            .enabled(
                if: PortalDesktop.Kind.sway.obstacle == nil, Comment(rawValue: PortalDesktop.Kind.sway.obstacle ?? "")))
        func aWaylandDesktopIsAskedForItsPortal() throws {
            let desktop = try PortalDesktop(.sway, size: "640x360")
            let process = try ChildProcess(Program.path, ["doctor", "--json"], environment: desktop.environment)
            _ = try process.waitForEnd(timeout: 60)
            let screen = process.state.current.output.compactMap(Event.init(line:)).filter {
                $0.string("subject") == "screen"
            }
            #expect(screen.allSatisfy { $0.string("verdict") == "good" }, "\(screen.map(\.fields))")
            let text = screen.compactMap { $0.string("text") }.joined(separator: " ")
            #expect(text.contains("portal (ScreenCast ") && text.contains("HEADLESS-1"), "\(text)")
        }
    }
}
