import Testing

@testable import BeamDesktop

/// The machine is kept awake while somebody watches.
@Suite(.enabled(if: PrivateBus.obstacle == nil, "\(PrivateBus.obstacle ?? "")"))
struct AwakeTests {
    private static let held = #"{"event":"awake","mode":"block","what":"idle","who":"BeamRoom"}"#
    private static let released = #"{"event":"released"}"#

    @Test func `logind, the screen saver and GNOME are asked, and told the end`() throws {
        let bus = try PrivateBus()
        try bus.run("awake(); cookies('org.freedesktop.ScreenSaver', '/org/freedesktop/ScreenSaver', 'UnInhibit')")
        try bus.run("cookies('org.gnome.SessionManager', '/org/gnome/SessionManager', 'Uninhibit')")
        let watch = DesktopWatch.started(system: bus, session: bus, into: EventLog())
        watch.keepAwake(true)
        try bus.requests.wait(for: [Self.held])
        let wish = #"Inhibit "BeamRoom" "Somebody watches this screen""#
        try bus.waitForCall(wish)
        try bus.waitForCall(#"Inhibit "BeamRoom" 0 "Somebody watches this screen" 8"#)
        watch.keepAwake(false)
        try bus.requests.wait(for: [Self.held, Self.released])
        try bus.waitForCall("UnInhibit 7")
        try bus.waitForCall("Uninhibit 7")
        // The end of the program takes it back, too.
        watch.keepAwake(true)
        try bus.requests.wait(for: [Self.held, Self.released, Self.held])
        try bus.waitForCall(wish, count: 2)
        watch.stop()
        try bus.requests.wait(for: [Self.held, Self.released, Self.held, Self.released])
    }

    @Test func `A service that comes later, or again, is asked then, and only while somebody watches`() throws {
        let bus = try PrivateBus()
        let watch = DesktopWatch.started(system: bus, into: EventLog())
        watch.keepAwake(true)
        try bus.run("awake()")
        try bus.requests.wait(for: [Self.held])
        try bus.run("drop('org.freedesktop.login1')")
        try bus.requests.wait(for: [Self.held, Self.released])
        try bus.run("awake()")
        try bus.requests.wait(for: [Self.held, Self.released, Self.held])
        watch.keepAwake(false)
        try bus.requests.wait(for: [Self.held, Self.released, Self.held, Self.released])
        try bus.run("drop('org.freedesktop.login1'); awake()")
        // It is asked nothing: what comes next is the answer to this.
        watch.keepAwake(true)
        try bus.requests.wait(for: [Self.held, Self.released, Self.held, Self.released, Self.held])
        watch.stop()
    }
}
