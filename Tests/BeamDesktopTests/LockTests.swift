import Foundation
import Testing

@testable import BeamDesktop

@Suite(.enabled(if: PrivateBus.obstacle == nil, "\(PrivateBus.obstacle ?? "")"))
struct LockTests {
    private let log = EventLog<DesktopEvent>()

    @Test func `logind's LockedHint of the process's session`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(by_pid='7'); add_session('7'); add_session('8')")
        let watch = DesktopWatch.started(system: bus, into: log)
        try settle(bus)
        try bus.run("hint('8', True)")
        try bus.run("hint('7', True)")
        log.wait(for: mark + [.screenLocked(true)])
        try bus.run("hint('7', True)")
        try bus.run("hint('7', False)")
        log.wait(for: mark + [.screenLocked(true), .screenLocked(false)])
        watch.stop()
    }

    @Test func `The session of XDG_SESSION_ID, if logind doesn't know the process`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(); add_session('7'); add_session('8', locked=True)")
        let watch = DesktopWatch.started(system: bus, sessionID: "8", into: log)
        log.wait(for: [.screenLocked(true)])
        watch.stop()
    }

    @Test func `The user's graphical session, for a process that belongs to none`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(display='8'); add_session('7'); add_session('8', locked=True)")
        let watch = DesktopWatch.started(system: bus, sessionID: "6", into: log)
        log.wait(for: [.screenLocked(true)])
        watch.stop()
    }

    @Test func `The user's graphical session, for a process that was started over SSH`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(by_pid='7', display='8'); add_session('7', 'tty'); add_session('8', locked=True)")
        let watch = DesktopWatch.started(system: bus, into: log)
        log.wait(for: [.screenLocked(true)])
        watch.stop()
    }

    @Test func `A session without a screen counts if there is no other`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(by_pid='7'); add_session('7', 'tty', locked=True)")
        let watch = DesktopWatch.started(system: bus, into: log)
        log.wait(for: [.screenLocked(true)])
        watch.stop()
    }

    @Test func `logind's signals Lock and Unlock, for desktops that set no hint`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(by_pid='7'); add_session('7'); add_session('8')")
        let watch = DesktopWatch.started(system: bus, into: log)
        try settle(bus)
        try bus.run("ask('8', 'Lock')")
        try bus.run("ask('7', 'Unlock')")
        try bus.run("ask('7', 'Lock')")
        log.wait(for: mark + [.screenLocked(true)])
        // Another property of the session doesn't unlock it.
        try bus.run("session('7').UpdateProperties('org.freedesktop.login1.Session', {'IdleHint': dbus.Boolean(True)})")
        try bus.run("ask('7', 'Unlock')")
        try bus.run("ask('7', 'Lock')")
        log.wait(for: mark + [.screenLocked(true), .screenLocked(false), .screenLocked(true)])
        watch.stop()
    }

    @Test func `Signals of another program than logind and the screen saver are ignored`() throws {
        let bus = try PrivateBus()
        try bus.run(
            "logind(by_pid='7'); add_session('7'); screen_saver('org.gnome.ScreenSaver', '/org/gnome/ScreenSaver')")
        let watch = DesktopWatch.started(system: bus, session: bus, into: log)
        try settle(bus, hasScreenSaver: true)
        try bus.run("forge('/org/freedesktop/login1/session/7', 'org.freedesktop.login1.Session', 'Lock')")
        try bus.run("forge('/org/gnome/ScreenSaver', 'org.gnome.ScreenSaver', 'ActiveChanged', 'b', True)")
        try bus.run(
            "forge('/', 'org.freedesktop.DBus', 'NameOwnerChanged', 'sss', 'org.gnome.ScreenSaver', '', ':1.1')"
        )
        try bus.run("battery(State=dbus.UInt32(1))")
        log.wait(for: mark + [.batteryFine])
        // The forged change of owner had no effect.
        try bus.run("active('org.gnome.ScreenSaver', True)")
        log.wait(for: mark + [.batteryFine, .screenLocked(true)])
        watch.stop()
    }

    @Test func `A session that ends while it is locked is unlocked, and a new one is found`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(); add_session('7', locked=True)")
        let watch = DesktopWatch.started(system: bus, sessionID: "7", into: log)
        log.wait(for: [.screenLocked(true)])
        try bus.run("remove_session('7')")
        log.wait(for: [.screenLocked(true), .screenLocked(false)])
        try bus.run("add_session('7', locked=True)")
        log.wait(for: [.screenLocked(true), .screenLocked(false), .screenLocked(true)])
        watch.stop()
    }

    @Test func `logind keeps the screen locked when it is restarted`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(); add_session('7', locked=True)")
        let watch = DesktopWatch.started(system: bus, sessionID: "7", into: log)
        log.wait(for: [.screenLocked(true)])
        try bus.run("drop('org.freedesktop.login1')")
        try bus.run("logind(); add_session('7', locked=True); upower(10.0)")
        log.wait(for: [.screenLocked(true)] + mark)
        try bus.run("drop('org.freedesktop.login1')")
        try bus.run("logind(); add_session('7')")
        log.wait(for: [.screenLocked(true)] + mark + [.screenLocked(false)])
        watch.stop()
    }

    @Test(arguments: ScreenSaver.all.map(\.name))
    func `The screen savers of the session`(_ name: String) throws {
        let path = "/" + name.replacing(".", with: "/")
        let bus = try PrivateBus()
        try bus.run("screen_saver('\(name)', '\(path)', active=True)")
        let watch = DesktopWatch.started(session: bus, into: log)
        log.wait(for: [.screenLocked(true)])
        try bus.run("active('\(name)', True)")
        try bus.run("active('\(name)', False)")
        log.wait(for: [.screenLocked(true), .screenLocked(false)])
        try bus.run("active('\(name)', True)")
        log.wait(for: [.screenLocked(true), .screenLocked(false), .screenLocked(true)])
        // One that crashes keeps nothing locked.
        try bus.run("drop('\(name)')")
        log.wait(for: [.screenLocked(true), .screenLocked(false), .screenLocked(true), .screenLocked(false)])
        try bus.run("screen_saver('\(name)', '\(path)', active=True)")
        log.wait("locked again") { $0.count == 5 && $0.last == .screenLocked(true) }
        watch.stop()
    }

    @Test func `A lock that logind and a screen saver tell is one event`() throws {
        let bus = try PrivateBus()
        try bus.run(
            "logind(by_pid='7'); add_session('7'); screen_saver('org.gnome.ScreenSaver', '/org/gnome/ScreenSaver')")
        let watch = DesktopWatch.started(system: bus, session: bus, into: log)
        try settle(bus, hasScreenSaver: true)
        try bus.run("active('org.gnome.ScreenSaver', True)")
        log.wait(for: mark + [.screenLocked(true)])
        try bus.run("ask('7', 'Lock'); hint('7', True)")
        try bus.run("battery(State=dbus.UInt32(1))")
        log.wait(for: mark + [.screenLocked(true), .batteryFine])
        try bus.run("hint('7', False)")
        log.wait(for: mark + [.screenLocked(true), .batteryFine, .screenLocked(false)])
        try bus.run("active('org.gnome.ScreenSaver', False)")
        try bus.run("battery(State=dbus.UInt32(2))")
        log.wait(for: mark + [.screenLocked(true), .batteryFine, .screenLocked(false), .batteryLow(percent: 10)])
        watch.stop()
    }

    @Test func `Properties of other types are ignored`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(by_pid='7'); add_session('7')")
        let watch = DesktopWatch.started(system: bus, into: log)
        try settle(bus)
        for garbage in ["dbus.String('yes')", "dbus.UInt32(1)", "dbus.Array([True], signature='b')"] {
            try bus.run("session('7').UpdateProperties('org.freedesktop.login1.Session', {'LockedHint': \(garbage)})")
        }
        try bus.run("battery(State=dbus.UInt32(1))")
        log.wait(for: mark + [.batteryFine])
        watch.stop()
    }

    /// The event that `settle` makes.
    private let mark = [DesktopEvent.batteryLow(percent: 10)]

    /// Returns when the watch has read the state of session 7 and of the screen saver, and has reported `mark`.
    private func settle(_ bus: PrivateBus, hasScreenSaver: Bool = false) throws {
        // Once for its type, and once for all properties.
        try bus.waitForCall("GetAll /org/freedesktop/login1/session/7 org.freedesktop.login1.Session", count: 2)
        if hasScreenSaver { try bus.waitForCall("GetActive") }
        try bus.run("upower(10.0)")
        log.wait(for: mark)
    }

    // MARK: The decision

    @Test func `The first source that tells counts, and each change is reported once`() {
        var state = LockState()
        #expect(state.hear(.logind, isLocked: false) == nil)
        #expect(state.hear(.screenSaver("a"), isLocked: true) == true)
        #expect(state.hear(.screenSaver("a"), isLocked: true) == nil)
        #expect(state.hear(.logind, isLocked: true) == nil)
        #expect(state.happened(isLocked: true) == nil)
        #expect(state.hear(.logind, isLocked: false) == false)
        // The screen saver still says what it said.
        #expect(state.hear(.screenSaver("a"), isLocked: true) == nil)
        #expect(state.hear(.screenSaver("a"), isLocked: false) == nil)
        #expect(state.happened(isLocked: true) == true)
        #expect(state.happened(isLocked: false) == false)
    }

    @Test func `A source that goes leaves the screen locked only if another says so`() {
        var state = LockState()
        #expect(state.hear(.screenSaver("a"), isLocked: true) == true)
        #expect(state.hear(.logind, isLocked: true) == nil)
        #expect(state.lose(.screenSaver("a")) == nil)
        #expect(state.lose(.screenSaver("b")) == nil)
        #expect(state.lose(.logind) == false)
        #expect(state.lose(.logind) == nil)
    }
}
