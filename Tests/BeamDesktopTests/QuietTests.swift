import BeamBus
import Foundation
import Synchronization
import Testing

@testable import BeamDesktop

/// Other programs' notices don't pop up while somebody watches.
@Suite(.enabled(if: PrivateBus.obstacle == nil, "\(PrivateBus.obstacle ?? "")"))
struct QuietTests {
    /// What programs of a user share.
    private final class Memory: Sendable {
        let state = Mutex((text: String?.none, isTaken: false))

        final class Claim: QuietMemory {
            private let memory: Memory

            init?(_ memory: Memory) {
                let isFree = memory.state.withLock { state in
                    defer { state.isTaken = true }
                    return !state.isTaken
                }
                self.memory = memory
                if !isFree { return nil }
            }

            deinit { memory.state.withLock { $0.isTaken = false } }
            func read() -> String? { memory.state.withLock { $0.text } }
            func keep(_ text: String?) -> Bool {
                memory.state.withLock { $0.text = text }
                return true
            }
        }

        var text: String? { state.withLock { $0.text } }
    }

    private let memory = Memory()

    private func quiet(_ bus: PrivateBus, isOn: Bool = true, settings: String = "none") -> DesktopQuiet {
        DesktopQuiet(
            buses: BusAddresses(system: nil, session: bus.address), isOn: isOn, application: "test", settling: .zero,
            settings: GSettings(program: settings)
        ) { [memory] in Memory.Claim(memory) }
    }

    @Test func `A service that takes wishes is asked while somebody watches, and told the end`() throws {
        let bus = try PrivateBus()
        try bus.run("notices('inhibitions')")
        let quiet = quiet(bus)
        let asked = #"{"entry":"test","event":"inhibit","reason":"Somebody watches this screen"}"#
        let released = #"{"event":"uninhibit","number":5}"#
        quiet.set(true)
        try bus.requests.wait(for: [asked])
        quiet.set(false)
        try bus.requests.wait(for: [asked, released])
        quiet.set(true)
        try bus.requests.wait(for: [asked, released, asked])
        // A service that has begun anew knows nothing of it.
        try bus.run("drop(NOTICES); notices('inhibitions')")
        try bus.requests.wait(for: [asked, released, asked, asked])
        // What waits until it isn't quiet any more comes after that.
        let said = EventLog<String>()
        quiet.whenLoud { said.add("loud") }
        #expect(said.all.isEmpty)
        quiet.stop()
        try bus.requests.wait(for: [asked, released, asked, asked, released])
        said.wait(for: ["loud"])
        #expect(memory.text == nil)
    }

    @Test func `Nothing is asked where nobody wants it quiet, or of a service that can't`() throws {
        let bus = try PrivateBus()
        try bus.run("notices('actions')")
        let (loud, quiet) = (quiet(bus, isOn: false), quiet(bus))
        loud.set(true)
        quiet.set(true)
        try bus.run("drop(NOTICES); notices('inhibitions')")
        // Only one of them, and only of the second service.
        let asked = #"{"entry":"test","event":"inhibit","reason":"Somebody watches this screen"}"#
        try bus.requests.wait(for: [asked])
        loud.stop()
        quiet.stop()
        try bus.requests.wait(for: [asked, #"{"event":"uninhibit","number":5}"#])
    }

    @Test func `dunst's level lets critical notices through, and is put back`() throws {
        let bus = try PrivateBus()
        try bus.run("dunst(displayed=1, pauseLevel=dbus.UInt32(10), paused=dbus.Boolean(True))")
        let first = quiet(bus)
        let (set, restored) = (
            #"{"event":"set","name":"pauseLevel","value":50}"#, #"{"event":"set","name":"pauseLevel","value":10}"#
        )
        first.set(true)
        try bus.requests.wait(for: [set])
        #expect(memory.text == "dunst 10")
        // A second program finds it quiet, and leaves it alone. So does a question that dunst shows.
        let second = quiet(bus)
        second.set(true)
        second.setAsking(true)
        first.setAsking(true)
        Thread.sleep(forTimeInterval: 0.6)
        second.stop()
        #expect(try bus.requests.all == [set])
        first.set(false)
        try bus.requests.wait(for: [set, restored])
        // What the person has set meanwhile stays, also after a question.
        first.setAsking(false)
        first.set(true)
        try bus.requests.wait(for: [set, restored, set])
        try bus.run("dunst(pauseLevel=dbus.UInt32(20))")
        first.setAsking(true)
        first.setAsking(false)
        Thread.sleep(forTimeInterval: 0.3)
        first.stop()
        #expect(try bus.requests.all == [set, restored, set])
        #expect(memory.text == nil)
    }

    @Test func `A dunst without levels isn't paused while it has to show a question`() throws {
        let bus = try PrivateBus()
        try bus.run("dunst(paused=dbus.Boolean(False))")
        let quiet = quiet(bus)
        let (set, restored) = (
            #"{"event":"set","name":"paused","value":1}"#, #"{"event":"set","name":"paused","value":0}"#
        )
        quiet.set(true)
        try bus.requests.wait(for: [set])
        quiet.setAsking(true)
        try bus.requests.wait(for: [set, restored])
        quiet.setAsking(false)
        try bus.requests.wait(for: [set, restored, set])
        quiet.stop()
        try bus.requests.wait(for: [set, restored, set, restored])
        // One that was paused before stays so.
        try bus.run("dunst(paused=dbus.Boolean(True))")
        let other = self.quiet(bus)
        other.set(true)
        try bus.run("drop(NOTICES); dunst(paused=dbus.Boolean(False))")
        try bus.requests.wait(for: [set, restored, set, restored, set])
        other.stop()
    }

    /// A program in place of `gsettings`, which keeps the setting in a file.
    private struct Settings {
        let program: String
        private let (file, log): (String, String)

        init(_ bus: PrivateBus, _ value: String) throws {
            program = bus.folder.appending(path: "gsettings").path
            file = bus.folder.appending(path: "banners").path
            log = bus.folder.appending(path: "calls").path
            let script = """
                #!/bin/sh
                echo "$1" >> '\(log)'
                [ "$2 $3" = "org.gnome.desktop.notifications show-banners" ] || exit 1
                case $1 in
                get) echo "a warning" >&2; cat '\(file)' ;;
                set) echo "$4" > '\(file)' ;;
                esac
                """
            // Copied by another process: what this one has open to write is for a moment open in each child that it starts
            // for another test, and can't be run then.
            let text = bus.folder.appending(path: "gsettings.text").path
            try script.write(toFile: text, atomically: true, encoding: .utf8)
            try #require(PrivateBus.run("/usr/bin/install", ["-m", "700", text, program]) == 0)
            try set(value)
        }

        func set(_ value: String) throws { try (value + "\n").write(toFile: file, atomically: true, encoding: .utf8) }

        var value: String {
            ((try? String(contentsOfFile: file, encoding: .utf8)) ?? "").trimmingCharacters(in: .newlines)
        }

        /// How often it was asked for the setting, or to set it.
        var calls: Int {
            ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n").count
        }

        func wait(for expected: String) -> Bool {
            let deadline = Date(timeIntervalSinceNow: 30)
            while value != expected, Date() < deadline { Thread.sleep(forTimeInterval: 0.01) }
            return value == expected
        }
    }

    @Test func `GNOME's setting is put back, by the next program if need be`() throws {
        let bus = try PrivateBus()
        let settings = try Settings(bus, "true")
        try bus.run("notices(name='gnome-shell')")
        var quiet = quiet(bus, settings: settings.program)
        quiet.set(true)
        #expect(settings.wait(for: "false"))
        #expect(memory.text == "gnome")
        quiet.set(false)
        #expect(settings.wait(for: "true"))
        // The person has switched it on and off again meanwhile, or only on: that stays.
        quiet.set(true)
        #expect(settings.wait(for: "false"))
        try settings.set("true")
        quiet.stop()
        #expect(settings.value == "true" && memory.text == nil)
        // It was off before.
        try settings.set("false")
        quiet = self.quiet(bus, settings: settings.program)
        let calls = settings.calls
        quiet.set(true)
        let deadline = Date(timeIntervalSinceNow: 30)
        while settings.calls == calls, Date() < deadline { Thread.sleep(forTimeInterval: 0.01) }
        quiet.stop()
        #expect(settings.calls == calls + 1)
        #expect(settings.value == "false" && memory.text == nil)
        // A program was killed.
        memory.state.withLock { $0.text = "gnome" }
        quiet = self.quiet(bus, isOn: false, settings: settings.program)
        #expect(settings.wait(for: "true"))
        quiet.stop()
        #expect(memory.text == nil)
    }

    @Test func `What can't be read or set is left alone`() throws {
        let bus = try PrivateBus()
        try bus.run("notices(name='gnome-shell')")
        let quiet = quiet(bus, settings: "false")
        quiet.set(true)
        quiet.stop()
        #expect(memory.text == nil)
        // Without gsettings it stays remembered.
        memory.state.withLock { $0.text = "gnome" }
        self.quiet(bus, settings: bus.folder.appending(path: "no-such-program").path).stop()
        #expect(memory.text == "gnome")
    }
}
