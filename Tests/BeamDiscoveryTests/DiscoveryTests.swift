import BeamDiscovery
import Foundation
import Testing

/// With real Avahi daemons on a private network.
@Suite(
    .serialized,
    .enabled(if: PrivateMachine.obstacle == nil, "no private Avahi daemon: \(PrivateMachine.obstacle ?? "")"))
struct DiscoveryTests {
    @Test func `A published service is found with its port and TXT record, and lost when it is withdrawn`() async throws
    {
        try await PrivateMachine.with { machines in
            await #expect(processExitsWith: .success) { [machine = machines[0] as PrivateMachine] in
                machine.use()
                let published = PublisherLog()
                let seen = BrowserLog()
                let browser = seen.browse()
                _ = try seen.wait("settled") { $0 == .settled }
                #expect(seen.all == [.available, .settled])
                let publisher = published.publish("Studio", port: 50123)
                _ = try published.wait("published") { $0 == .published(name: "Studio") }

                let host = try #require(try seen.waitForHost("Studio") { $0.addresses.count == 2 })
                #expect(host.port == 50123)
                #expect(host.hostName == "beam-machine-1.local")
                #expect(host.txt == ["deviceName": "Studio", "beam": "1"])
                #expect(host.isLocal)
                #expect(host.addresses[0] == "10.77.0.1")
                #expect(host.addresses[1].hasPrefix("fe80::1%"))

                publisher.withdraw()
                _ = try seen.wait("lost") { $0 == .lost(name: "Studio") }
                #expect(published.all == [.published(name: "Studio")])
                browser.stop()
                let count = seen.all.count
                let another = published.publish("Late")
                _ = try published.wait("published") { $0 == .published(name: "Late") }
                another.withdraw()
                #expect(seen.all.count == count)
            }
        }
    }

    @Test func `A TXT record changes in place, also before its service is announced`() async throws {
        try await PrivateMachine.with(2) { machines in
            await #expect(processExitsWith: .success) {
                [here = machines[0] as PrivateMachine, there = machines[1] as PrivateMachine] in
                here.use()
                let seen = BrowserLog()
                let browser = seen.browse()
                let published = PublisherLog()
                let publisher = published.publish("Studio", port: 50123)
                publisher.update(txt: [(key: "m", value: "1")])
                _ = try #require(try seen.waitForHost("Studio") { $0.txt == ["m": "1"] })
                publisher.update(txt: [(key: "m", value: "2")])
                _ = try #require(try seen.waitForHost("Studio") { $0.txt == ["m": "2"] })
                let listed = there.run("avahi-browse", "--resolve", "--terminate", "--parsable", ServiceType.control)
                #expect(listed.contains(#";50123;"m=2""#), "\(listed)")
                #expect(seen.lost.isEmpty && published.all == [.published(name: "Studio")])
                publisher.withdraw()
                _ = try seen.wait("lost") { $0 == .lost(name: "Studio") }
                publisher.update(txt: [(key: "m", value: "3")])
                browser.stop()
            }
        }
    }

    @Test func `Two machines see each other's services`() async throws {
        try await PrivateMachine.with(2) { machines in
            await #expect(processExitsWith: .success) {
                [here = machines[0] as PrivateMachine, there = machines[1] as PrivateMachine] in
                here.use()
                let published = PublisherLog()
                let publisher = published.publish("Here", port: 50001)
                _ = try published.wait("published") { $0 == .published(name: "Here") }
                let listed = there.run("avahi-browse", "--resolve", "--terminate", "--parsable", ServiceType.control)
                let line = listed.split(separator: "\n").first { $0.hasPrefix("=;lan0;") && $0.contains(";Here;") }
                #expect(line?.hasSuffix(#";50001;"deviceName=Here" "beam=1""#) == true, "\(listed)")

                let seen = BrowserLog()
                let browser = seen.browse()
                let other = try there.start("avahi-publish", "-s", "There", ServiceType.control, "50002", "beam=1")
                let host = try #require(try seen.waitForHost("There") { $0.addresses.count == 2 })
                #expect(host.port == 50002)
                #expect(host.addresses[0] == "10.77.0.2")
                #expect(!host.isLocal)
                other.end()
                _ = try seen.wait("lost") { $0 == .lost(name: "There") }
                #expect(seen.lost == ["There"])
                browser.stop()
                publisher.withdraw()
            }
        }
    }

    @Test func `A host that comes back on another port is found there`() async throws {
        try await PrivateMachine.with(2) { machines in
            await #expect(processExitsWith: .success) {
                [here = machines[0] as PrivateMachine, there = machines[1] as PrivateMachine] in
                here.use()
                let seen = BrowserLog()
                let browser = seen.browse()
                let first = try there.start("avahi-publish", "-s", "Studio", ServiceType.control, "50001")
                _ = try seen.waitForHost("Studio") { $0.port == 50001 }
                first.end()
                let second = try there.start("avahi-publish", "-s", "Studio", ServiceType.control, "50002")
                let host = try #require(try seen.waitForHost("Studio") { $0.port == 50002 && $0.addresses.count == 2 })
                #expect(host.addresses[0] == "10.77.0.2")
                second.end()
                browser.stop()
            }
        }
    }

    @Test func `A name in use on another machine is changed`() async throws {
        try await PrivateMachine.with(2) { machines in
            await #expect(processExitsWith: .success) {
                [here = machines[0] as PrivateMachine, there = machines[1] as PrivateMachine] in
                here.use()
                let seen = BrowserLog()
                let browser = seen.browse()
                // The daemons settle who keeps a name: each asks three times within 0.75 s whether it is in use, and takes it if
                // nobody answers in time. On a busy machine the other one's answer may be late, and then it is the other one that
                // gives way. That isn't ours to decide, so it is tried again.
                for attempt in 1...4 {
                    let before = seen.all.count
                    let other = try there.start("avahi-publish", "-s", "Studio", ServiceType.control, "50002")
                    _ = try seen.waitForHost("Studio", skipping: before) { $0.port == 50002 }
                    // Avahi announces a name after 0, 1 and 3 s. Whoever finds it in use while it is still being announced may
                    // get it.
                    try await Task.sleep(for: .seconds(6))
                    let published = PublisherLog()
                    let publisher = published.publish("Studio", port: 50001)
                    let outcome = try published.wait("published") { if case .published = $0 { true } else { false } }
                    if outcome == .published(name: "Studio #2") || attempt == 4 {
                        #expect(
                            published.all == [
                                .renamed(from: "Studio", to: "Studio #2"), .published(name: "Studio #2"),
                            ])
                        #expect(try seen.waitForHost("Studio #2")?.port == 50001)
                        publisher.withdraw()
                        other.end()
                        break
                    }
                    publisher.withdraw()
                    other.end()
                    try await Task.sleep(for: .seconds(3))
                }
                browser.stop()
            }
        }
    }

    @Test func `A name in use by another program on this machine is changed`() async throws {
        try await PrivateMachine.with { machines in
            await #expect(processExitsWith: .success) { [machine = machines[0] as PrivateMachine] in
                machine.use()
                let first = PublisherLog()
                let second = PublisherLog()
                let firstPublisher = first.publish("Studio", port: 50001)
                _ = try first.wait("published") { $0 == .published(name: "Studio") }
                let secondPublisher = second.publish("Studio", port: 50002)
                _ = try second.wait("published") { $0 == .published(name: "Studio #2") }
                #expect(second.all == [.renamed(from: "Studio", to: "Studio #2"), .published(name: "Studio #2")])
                firstPublisher.withdraw()
                secondPublisher.withdraw()
            }
        }
    }

    @Test func `Names of every kind arrive as one line of at most 63 bytes`() async throws {
        try await PrivateMachine.with { machines in
            await #expect(processExitsWith: .success) { [machine = machines[0] as PrivateMachine] in
                machine.use()
                let seen = BrowserLog()
                let browser = seen.browse()
                let names = [
                    "Küche 📺": "Küche 📺",
                    #"Bob's "big.screen" \ 2"#: #"Bob's "big.screen" \ 2"#,
                    "line\nbreak\u{1B}[31m": "line break [31m",
                    String(repeating: "ü", count: 40): String(repeating: "ü", count: 31),
                    "": "beamroom",
                ]
                var publishers: [ServicePublisher] = []
                for (name, expected) in names {
                    let published = PublisherLog()
                    publishers.append(published.publish(name))
                    _ = try published.wait("published \(expected)") { $0 == .published(name: expected) }
                    #expect(try seen.waitForHost(expected)?.name.utf8.count ?? 64 <= 63)
                }
                for publisher in publishers { publisher.withdraw() }
                browser.stop()
            }
        }
    }

    @Test func `Control characters in a received name and TXT record are replaced`() async throws {
        try await PrivateMachine.with(2) { machines in
            await #expect(processExitsWith: .success) {
                [here = machines[0] as PrivateMachine, there = machines[1] as PrivateMachine] in
                here.use()
                let seen = BrowserLog()
                let browser = seen.browse()
                let other = try there.start(
                    "avahi-publish", "-s", "evil\u{1B}[2J\u{202E}name", ServiceType.control, "1", "deviceName=\u{07}x",
                    "=novalue", "novalue", "deviceName=second")
                let host = try #require(try seen.waitForHost("evil\u{FFFD}[2J\u{FFFD}name"))
                #expect(host.txt == ["deviceName": "\u{FFFD}x", "novalue": ""])
                other.end()
                browser.stop()
            }
        }
    }

    @Test func `A refusal by the daemon is reported`() async throws {
        try await PrivateMachine.with { machines in
            await #expect(processExitsWith: .success) { [machine = machines[0] as PrivateMachine] in
                machine.use()
                let published = PublisherLog()
                let publisher = published.publish("Studio", type: "no type")
                let event = try published.wait("failed") { if case .failed = $0 { true } else { false } }
                #expect("\(event)".contains("Invalid service type"))
                publisher.withdraw()
            }
        }
    }
}
