import BeamBus
import Foundation
import Synchronization
import Testing

@testable import BeamDesktop

/// Buses that are missing, restarted, or silent.
@Suite(.enabled(if: PrivateBus.obstacle == nil, "\(PrivateBus.obstacle ?? "")"))
struct BusLossTests {
    private let log = EventLog<DesktopEvent>()

    @Test func `A bus that is restarted is used again, and what has changed meanwhile is reported`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(); add_session('7', locked=True)")
        let watch = DesktopWatch.started(system: bus, sessionID: "7", into: log)
        log.wait(for: [.screenLocked(true)])
        bus.stop()
        try bus.start()
        try bus.run("logind(); add_session('7', locked=True); upower(10.0)")
        // Still locked: no event.
        log.wait(for: [.screenLocked(true), .batteryLow(percent: 10)])
        bus.stop()
        try bus.start()
        try bus.run("logind(); add_session('7')")
        log.wait(for: [.screenLocked(true), .batteryLow(percent: 10), .screenLocked(false)])
        watch.stop()
    }

    @Test func `A bus that isn't there is used when it is`() throws {
        let bus = try PrivateBus(isRunning: false)
        let watch = DesktopWatch.started(system: bus, session: bus, into: log)
        Thread.sleep(forTimeInterval: 0.2)
        try bus.start()
        try bus.run("screen_saver('org.gnome.ScreenSaver', '/org/gnome/ScreenSaver', active=True)")
        log.wait(for: [.screenLocked(true)])
        watch.stop()
    }

    @Test(arguments: [
        "", "unix:path=/dev/null/none", "nonsense", "autolaunch:", "unix:path=/dev/null", "tcp:host=127.0.0.1,port=1",
        "unix:path=" + String(repeating: "x", count: 5000),
    ])
    func `Without a bus the kernel's battery is followed, and nothing is said`(_ address: String) async throws {
        let supplies = FakeSupplies()
        try supplies.add("BAT0", ["type": "Battery", "status": "Discharging", "capacity": "12"])
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardErrorContent, \.standardOutputContent]
        ) { [address = address as String, folder = supplies.folder.path as String] in
            let log = EventLog<DesktopEvent>()
            let found = EventLog<BluetoothHost>()
            let buses = BusAddresses(system: address, session: address)
            let watch = DesktopWatch(options: .init(buses: buses, powerSupplies: folder)) { log.add($0) }
            let presence = BluetoothPresence(buses: buses) { found.add($0) }
            watch.start()
            presence.advertise(addresses: ["192.0.2.7"], port: 52345, key: [1, 2, 3, 4])
            presence.search()
            log.wait(for: [.batteryLow(percent: 12)])
            // Long enough for some attempts to connect.
            try await Task.sleep(for: .seconds(2))
            watch.stop()
            presence.stop()
            #expect(log.all.count == 1)
            #expect(found.all.isEmpty)
        }
        #expect(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } == "")
    }

    @Test func `Without libsystemd the kernel's battery is followed`() throws {
        let bus = try PrivateBus()
        try bus.run("upower(90.0)")
        let supplies = FakeSupplies()
        try supplies.add("BAT0", ["type": "Battery", "status": "Discharging", "capacity": "12"])
        let watch = DesktopWatch(
            options: .init(
                buses: BusAddresses(system: bus.address, session: bus.address), powerSupplies: supplies.folder.path),
            isLibraryThere: { false }
        ) { [log] in log.add($0) }
        watch.start()
        log.wait(for: [.batteryLow(percent: 12)])
        watch.stop()
        let presence = BluetoothPresence(
            buses: BusAddresses(system: bus.address, session: nil), isLibraryThere: { false }, onHost: { _ in })
        presence.advertise(addresses: ["192.0.2.7"], port: 52345, key: [1, 2, 3, 4])
        presence.search()
        presence.stop()
    }

    @Test func `A bus that says nothing doesn't keep the program from ending`() throws {
        let listener = try SilentListener()
        let buses = BusAddresses(system: listener.address, session: listener.address)
        let watch = DesktopWatch(options: .init(buses: buses, powerSupplies: "/dev/null/none")) { [log] in log.add($0) }
        watch.start()
        let presence = BluetoothPresence(buses: buses)
        presence.advertise(addresses: ["192.0.2.7"], port: 52345, key: [1, 2, 3, 4])
        listener.waitForConnection()
        watch.stop()
        presence.stop()
        #expect(log.all.isEmpty)
    }

    @Test func `A receiver may stop the watch, and gets nothing from then on`() throws {
        let bus = try PrivateBus()
        try bus.run("logind(); add_session('7', locked=True)")
        let holder = Holder()
        var options = DesktopWatch.Options(
            buses: BusAddresses(system: bus.address, session: nil), powerSupplies: "/dev/null/none")
        options.sessionID = "7"
        let queued = DispatchSemaphore(value: 0)
        let watch = DesktopWatch(options: options) { [log] event in
            log.add(event)
            queued.wait()
            holder.watch.withLock { $0 }?.stop()
        }
        holder.watch.withLock { $0 = watch }
        watch.start()
        log.wait("an event") { !$0.isEmpty }
        // These wait in the connection while the first event is handled.
        try bus.run("[ask('7', member) for member in ['Unlock', 'Lock'] * 3]; forge('/', 'a.b', 'C')")
        queued.signal()
        Thread.sleep(forTimeInterval: 0.5)
        #expect(log.all.count == 1)
        queued.signal()
        // Once more from the beginning.
        watch.start()
        log.wait("a second event") { $0.count > 1 }
        holder.watch.withLock { $0 = nil }
    }

    @Test func `The usual addresses`() async {
        await #expect(processExitsWith: .success) {
            for name in ["DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"] { unsetenv(name) }
            let system = "unix:path=/run/dbus/system_bus_socket"
            #expect(BusAddresses.ofThisMachine == BusAddresses(system: system, session: nil))
            setenv("XDG_RUNTIME_DIR", "/run/user/1,000\u{1}", 1)
            #expect(BusAddresses.ofThisMachine.session == "unix:path=/run/user/1%2c000%01/bus")
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/a", 1)
            setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/b", 1)
            #expect(BusAddresses.ofThisMachine == BusAddresses(system: "unix:path=/b", session: "unix:path=/a"))
        }
    }

    private final class Holder: Sendable {
        let watch = Mutex<DesktopWatch?>(nil)
    }
}

/// A socket that accepts connections, and never answers. Closed in `deinit`.
private final class SilentListener {
    private let folder = FileManager.default.temporaryDirectory.appending(
        path: "beam-mute-\(UUID().uuidString.prefix(8))")
    private let descriptor: Int32

    var address: String { "unix:path=\(folder.path)/bus" }

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: "\(folder.path)/bus".utf8) }
        let bound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0 && listen(descriptor, 8) == 0)
    }

    deinit {
        close(descriptor)
        try? FileManager.default.removeItem(at: folder)
    }

    /// The connection stays open as long as the process.
    func waitForConnection() { #expect(accept(descriptor, nil, nil) >= 0) }
}
