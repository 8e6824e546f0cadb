import BeamDiscovery
import Foundation
import Testing

/// The daemon or D-Bus is missing, goes away, comes back, or doesn't answer.
@Suite(
    .serialized,
    .enabled(if: PrivateMachine.obstacle == nil, "no private Avahi daemon: \(PrivateMachine.obstacle ?? "")"))
struct DaemonLossTests {
    @Test func `After a restart of the daemon the service is published again, and found hosts stay`() async throws {
        try await PrivateMachine.with(2) { machines in
            await #expect(processExitsWith: .success) {
                [here = machines[0] as PrivateMachine, there = machines[1] as PrivateMachine] in
                here.use()
                let published = PublisherLog()
                let seen = BrowserLog()
                let publisher = published.publish("Here")
                let browser = seen.browse()
                let stays = try there.start("avahi-publish", "-s", "Stays", ServiceType.control, "50001")
                let goes = try there.start("avahi-publish", "-s", "Goes", ServiceType.control, "50002")
                for name in ["Here", "Stays", "Goes"] { _ = try seen.waitForHost(name) }

                here.perform("stop-daemon")
                _ = try published.waitForUnavailable()
                try seen.waitForUnavailable()
                goes.end()
                let before = (published.all.count, seen.all.count)
                here.perform("start-daemon")
                _ = try published.wait("published again", skipping: before.0) { $0 == .published(name: "Here") }
                _ = try seen.wait("available again", skipping: before.1) { $0 == .available }
                _ = try seen.wait("settled again", skipping: before.1) { $0 == .settled }
                _ = try seen.wait("lost", skipping: before.1) { $0 == .lost(name: "Goes") }
                #expect(seen.lost.filter { $0 == "Stays" } == [])
                stays.end()
                _ = try seen.wait("lost", skipping: before.1) { $0 == .lost(name: "Stays") }
                publisher.withdraw()
                browser.stop()
            }
        }
    }

    @Test func `A daemon that crashed and came back is used again`() async throws {
        try await PrivateMachine.with(2) { machines in
            await #expect(processExitsWith: .success) {
                [here = machines[0] as PrivateMachine, there = machines[1] as PrivateMachine] in
                here.use()
                let published = PublisherLog()
                let publisher = published.publish("Here", port: 50001)
                _ = try published.wait("published") { $0 == .published(name: "Here") }
                kill(try #require(here.daemon), SIGKILL)
                here.perform("restart-daemon")
                _ = try published.wait("published again", skipping: 1) { $0 == .published(name: "Here") }
                let listed = there.run("avahi-browse", "--resolve", "--terminate", "--parsable", ServiceType.control)
                #expect(listed.contains("=;lan0;IPv4;Here;"), "\(listed)")
                publisher.withdraw()
            }
        }
    }

    @Test func `A missing daemon is reported once, and the service is published when it starts`() async throws {
        try await PrivateMachine.with(options: ["--no-daemon"]) { machines in
            await #expect(processExitsWith: .success) { [machine = machines[0] as PrivateMachine] in
                machine.use()
                let published = PublisherLog()
                let seen = BrowserLog()
                let publisher = published.publish("Studio")
                let browser = seen.browse()
                #expect(try published.waitForUnavailable().contains("isn't running"))
                try seen.waitForUnavailable()
                machine.perform("start-daemon")
                _ = try published.wait("published") { $0 == .published(name: "Studio") }
                _ = try seen.waitForHost("Studio")
                #expect(published.all.count == 2, "\(published.all)")
                publisher.withdraw()
                browser.stop()
            }
        }
    }

    @Test func `A missing message bus is reported once, and the service is published when it starts`()
        async throws
    {
        try await PrivateMachine.with(options: ["--no-bus"]) { machines in
            await #expect(processExitsWith: .success) { [machine = machines[0] as PrivateMachine] in
                machine.use()
                let published = PublisherLog()
                let publisher = published.publish("Studio")
                #expect(try published.waitForUnavailable().contains("D-Bus"))
                machine.perform("start-bus")
                machine.perform("start-daemon")
                _ = try published.wait("published") { $0 == .published(name: "Studio") }
                #expect(published.all.count == 2, "\(published.all)")
                publisher.withdraw()
            }
        }
    }

    @Test func `A message bus that goes away and comes back is used again`() async throws {
        try await PrivateMachine.with { machines in
            await #expect(processExitsWith: .success) { [machine = machines[0] as PrivateMachine] in
                machine.use()
                let published = PublisherLog()
                let seen = BrowserLog()
                let publisher = published.publish("Studio")
                let browser = seen.browse()
                _ = try seen.waitForHost("Studio")
                machine.perform("stop-daemon")
                machine.perform("stop-bus")
                _ = try published.waitForUnavailable()
                let before = (published.all.count, seen.all.count)
                machine.perform("start-bus")
                machine.perform("start-daemon")
                _ = try published.wait("published again", skipping: before.0) { $0 == .published(name: "Studio") }
                _ = try seen.wait("settled again", skipping: before.1) { $0 == .settled }
                publisher.withdraw()
                _ = try seen.wait("lost", skipping: before.1) { $0 == .lost(name: "Studio") }
                browser.stop()
            }
        }
    }

    @Test func `A receiver may withdraw its publisher, and a released publisher withdraws itself`() async throws {
        try await PrivateMachine.with { machines in
            await #expect(processExitsWith: .success) { [machine = machines[0] as PrivateMachine] in
                machine.use()
                let seen = BrowserLog()
                let browser = seen.browse()
                let holder = Holder()
                let published = PublisherLog()
                holder.publisher = ServicePublisher(name: "Brief", type: ServiceType.control, port: 1, txt: []) {
                    event in
                    holder.publisher?.withdraw()
                    published.add(event)
                }
                _ = try published.wait("published") { $0 == .published(name: "Brief") }

                var forgotten: ServicePublisher? = published.publish("Forgotten")
                _ = try seen.waitForHost("Forgotten")
                withExtendedLifetime(forgotten) {}
                forgotten = nil
                _ = try seen.wait("lost") { $0 == .lost(name: "Forgotten") }
                browser.stop()
            }
        }
    }

    @Test func `A daemon that doesn't answer doesn't keep the program from ending`() async throws {
        try await PrivateMachine.with { machines in
            await #expect(processExitsWith: .success) { [machine = machines[0] as PrivateMachine] in
                machine.use()
                let published = PublisherLog()
                let publisher = published.publish("Studio")
                _ = try published.wait("published") { $0 == .published(name: "Studio") }
                let daemon = try #require(machine.daemon)
                kill(daemon, SIGSTOP)
                publisher.withdraw()
                kill(daemon, SIGCONT)
            }
        }
    }
}

/// Lets a receiver access the publisher that calls it.
private final class Holder: @unchecked Sendable {
    // Sendable: `held` is accessed under `lock` only.
    private let lock = NSLock()
    private var held: ServicePublisher?

    var publisher: ServicePublisher? {
        get { lock.withLock { held } }
        set { lock.withLock { held = newValue } }
    }
}
