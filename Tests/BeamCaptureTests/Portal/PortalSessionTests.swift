import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamCapture

/// The dialogue with a mock of the portal.
@Suite(.enabled(if: MockPortal.obstacle == nil, Comment(rawValue: MockPortal.obstacle ?? "")))
struct PortalSessionTests {
    private final class Tokens: Sendable {
        let kept = Mutex<[String: String]>([:])

        var tokens: PortalTokens {
            PortalTokens(
                take: { name in self.kept.withLock { $0.removeValue(forKey: name) } },
                keep: { name, token in
                    self.kept.withLock { $0[name] = token }
                    return nil
                })
        }
    }

    private func options(_ portal: MockPortal, _ change: (inout PortalOptions) -> Void = { _ in }) -> PortalOptions {
        var options = PortalOptions(buses: portal.buses)
        options.desktop = "sway"
        options.display = "wayland-7"
        change(&options)
        return options
    }

    private func trouble(_ settings: [String]?, _ change: (inout PortalOptions) -> Void = { _ in }) throws
        -> PortalTrouble?
    {
        let portal = try MockPortal(settings)
        let options = options(portal, change)
        return #expect(throws: PortalTrouble.self) { try PortalSession(options, while: { true }, say: { _ in }) }
    }

    @Test func aSessionIsBegunAndItsConsentKept() throws {
        let portal = try MockPortal(["registry=yes", "token=second"])
        let tokens = Tokens()
        tokens.kept.withLock { $0 = ["wayland-7 any": "first", "wayland-7 window": "other"] }
        let session = try PortalSession(
            options(portal) { $0.tokens = tokens.tokens }, while: { true }, say: { Issue.record("said \($0)") })
        let descriptor = try #require(session.takeDescriptor())
        #expect(fcntl(descriptor, F_GETFD) == FD_CLOEXEC)
        close(descriptor)
        #expect(session.streams.map(\.node) == [42])
        #expect(session.streams.first?.serial == 7000)
        #expect(session.streams.first?.kind == .monitor)
        #expect(session.streams.first?.position == .init(x: 0, y: -5))
        #expect(session.streams.first?.size == PixelSize(width: 640, height: 480))
        #expect(session.warnings.isEmpty)
        #expect(tokens.kept.withLock { $0 } == ["wayland-7 any": "second", "wayland-7 window": "other"])
        #expect(
            portal.calls() == [
                #"{"call": "Register", "id": "org.beamroom.BeamRoom"}"#, #"{"call": "CreateSession"}"#,
                #"{"call": "SelectSources", "cursor_mode": 4, "multiple": 0, "persist_mode": 2, "restore_token": "first", "types": 3}"#,
                #"{"call": "Start"}"#, #"{"call": "OpenPipeWireRemote"}"#,
            ])
    }

    @Test func whatIsNotOfferedIsNotAskedFor() throws {
        let portal = try MockPortal(["version=3", "sources=1", "cursors=0"])
        let session = try PortalSession(
            options(portal) {
                $0.choice = .several
                $0.drawsCursor = false
            }, while: { true }, say: { _ in })
        #expect(session.warnings.count == 2)
        #expect(session.warnings.contains { $0.contains("asks each time") })
        #expect(session.warnings.contains { $0.contains("--no-cursor") })
        #expect(portal.calls().contains(#"{"call": "SelectSources", "multiple": 1, "types": 1}"#))
    }

    @Test func askedAgainTheOldConsentIsForgotten() throws {
        let portal = try MockPortal([])
        let tokens = Tokens()
        tokens.kept.withLock { $0 = ["wayland-7 any": "first"] }
        _ = try PortalSession(
            options(portal) {
                $0.tokens = tokens.tokens
                $0.asksAgain = true
            }, while: { true }, say: { _ in })
        // The desktop has given no new one.
        #expect(tokens.kept.withLock { $0.isEmpty })
        #expect(!portal.calls().contains { $0.contains("restore_token") })
    }

    @Test func eachRefusalIsItsOwn() throws {
        #expect(try trouble(nil) == .noPortal(desktop: "sway"))
        #expect(try trouble(["interface=no"]) == .noBackend(desktop: "sway"))
        #expect(try trouble(["sources=0"]) == .noBackend(desktop: "sway"))
        #expect(try trouble(["sources=1"]) { $0.choice = .window } == .notOffered(.window, offersWindows: false))
        #expect(try trouble(["refuse=Start"]) == .declined)
        #expect(try trouble(["fail=Start"]) == .failed(call: "Start", desktop: "sway"))
        #expect(try trouble(["error=SelectSources"]) == .refused(call: "SelectSources", reason: "not today"))
        #expect(try trouble(["die=Start"]) == .portalGone(call: "Start"))
        let nowhere = try trouble([]) { $0.buses.session = "unix:path=/nowhere" }
        #expect(nowhere == .noSessionBus(reason: "No such file or directory"))
        #expect(
            try trouble([]) { $0.buses.session = nil }
                == .noSessionBus(reason: "DBUS_SESSION_BUS_ADDRESS isn't set"))
    }

    /// A consent that nobody has withdrawn may still serve.
    @Test(
        arguments: [
            ("refuse=Start", false), ("error=SelectSources", false), ("die=SelectSources", true), ("die=Start", true),
            ("fail=Start", true),
        ])
    func aConsentSurvivesAPortalThatFails(setting: String, isKept: Bool) throws {
        let tokens = Tokens()
        tokens.kept.withLock { $0 = ["wayland-7 any": "first"] }
        #expect(try trouble([setting]) { $0.tokens = tokens.tokens } != nil)
        #expect(tokens.kept.withLock { $0 } == (isKept ? ["wayland-7 any": "first"] : [:]))
    }

    /// The person is told that the desktop asks, and can give up.
    @Test func theDialogIsWaitedForUntilThePersonGivesUp() throws {
        let portal = try MockPortal(["hang=Start"])
        let said = Mutex<[String]>([])
        let options = options(portal)
        #expect(throws: PortalTrouble.abandoned) {
            try PortalSession(options, while: { said.withLock { $0.isEmpty } }) { line in
                said.withLock { $0.append(line) }
            }
        }
        #expect(said.withLock { $0.count } == 1)
    }

    /// GNOME's lock uses consent up, so nothing is asked before it is unlocked. Elsewhere what has failed is asked once more.
    @Test(
        arguments: [
            ("GNOME", [], ["unlock", "CreateSession", "SelectSources", "Start"]),
            (
                "KDE", ["fail-locked=Start"],
                ["CreateSession", "SelectSources", "Start", "unlock", "CreateSession", "SelectSources", "Start"]
            ),
        ] as [(String, [String], [String])])
    func aLockedScreenIsWaitedFor(desktop: String, settings: [String], calls: [String]) throws {
        let saver = desktop == "GNOME" ? "org.gnome.ScreenSaver" : "org.freedesktop.ScreenSaver"
        let portal = try MockPortal(["locked=\(saver)"] + settings)
        let tokens = Tokens()
        tokens.kept.withLock { $0 = ["wayland-7 any": "first"] }
        let said = Mutex<[String]>([])
        _ = try PortalSession(
            options(portal) {
                $0.desktop = desktop
                $0.tokens = tokens.tokens
            }, while: { true },
            say: { line in
                said.withLock { $0.append(line) }
                portal.unlock()
            })
        #expect(said.withLock { $0.count == 1 && $0[0].contains("The screen is locked") })
        let seen = portal.calls().filter { !$0.contains("OpenPipeWireRemote") && !$0.contains("ready") }
        #expect(seen.count == calls.count && zip(seen, calls).allSatisfy { $0.contains("\"\($1)\"") }, "\(seen)")
        #expect(seen.filter { $0.contains("SelectSources") }.allSatisfy { $0.contains(#""restore_token": "first""#) })
    }

    /// A dialog that waits behind the lock is told of as such; a lock that lasts is given up with the rest.
    @Test(arguments: [("KDE", "behind the lock"), ("ubuntu:GNOME", "The screen is locked")])
    func aDialogBehindTheLockIsToldOf(desktop: String, part: String) throws {
        let portal = try MockPortal(["hang=Start", "locked=org.freedesktop.ScreenSaver"])
        let said = Mutex<[String]>([])
        let options = options(portal) { $0.desktop = desktop }
        #expect(throws: PortalTrouble.abandoned) {
            try PortalSession(options, while: { said.withLock { $0.isEmpty } }) { line in
                said.withLock { $0.append(line) }
            }
        }
        #expect(said.withLock { $0.count == 1 && $0[0].contains(part) })
    }

    @Test func theEndOfASessionIsHeard() throws {
        let portal = try MockPortal([])
        let closed = try PortalSession(options(portal), while: { true }, say: { _ in })
        #expect(closed.news() == nil)
        portal.closeSession()
        #expect(eventually { closed.news() == .closed })

        let lost = try PortalSession(options(portal), while: { true }, say: { _ in })
        portal.kill()
        #expect(eventually { lost.news() == .portalGone })
    }

    private func eventually(_ condition: () -> Bool) -> Bool {
        let deadline = MediaTime.now + .seconds(30)
        while MediaTime.now < deadline {
            if condition() { return true }
            usleep(5000)
        }
        return false
    }
}
