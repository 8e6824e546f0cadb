import BeamLog
import Foundation
import Glibc
import Testing

@testable import BeamTrust

/// Hosts publish their viewers, `devices` lists them, and orders evict them.
struct GuestStoreTests {
    private let scratch: Scratch
    private var store: TrustStore { scratch.store }
    private let run: HostRun

    init() throws {
        scratch = try Scratch()
        run = try #require(HostRun.current)
    }

    private let sofa = Guest(identity: .device(makeKey("aaaa1111")), name: "Sofa")
    private let phone = Guest(identity: .address(.v4(0xC000_0207)), name: nil)
    private let garden = Guest(
        identity: .address(.v6(high: 0xFE80_0000_0000_0000, low: 7, scope: 3)), name: nil)

    @Test func `Viewers are listed until their host ends`() throws {
        try store.publish([sofa, phone, garden], of: run)
        #expect(try store.watching().map(\.guest) == [sofa, phone, garden])
        #expect(mode(scratch.file(run.guestsName)) == 0o600)
        try store.publish([phone], of: run)
        #expect(try store.watching().map(\.guest) == [phone])
        store.withdraw(run)
        #expect(try store.watching() == [])
        #expect(mode(scratch.file(run.guestsName)) == nil)
    }

    @Test func `Files of a dead host are removed`() throws {
        // The same pid with another start time: that process has ended.
        let dead = HostRun(pid: run.pid, start: run.start + 1)
        try store.publish([sofa], of: dead)
        try scratch.write("[]", to: dead.ordersName)
        #expect(try store.watching() == [])
        #expect(mode(scratch.file(dead.guestsName)) == nil && mode(scratch.file(dead.ordersName)) == nil)
        #expect(!dead.isRunning && run.isRunning)
    }

    @Test func `A viewer that isn't remembered is evicted by order`() throws {
        try store.publish([sofa, phone, garden], of: run)
        let orders = Orders()
        let watch = try store.watchOrders(for: run) { orders.take($0) }
        defer { watch.cancel() }
        let eviction = try store.forget(matching: "Sofa")
        #expect(eviction.identity == sofa.identity && eviction.wasWatching && !eviction.wasRemembered)
        #expect(orders.come(to: [sofa.identity]))
        #expect(try store.forget(matching: "192.0.2.7").identity == phone.identity)
        #expect(try store.forget(matching: "fe80::7%3").identity == garden.identity)
        #expect(orders.come(to: [sofa.identity, phone.identity, garden.identity]))
        #expect(mode(scratch.file(run.ordersName)) == 0o600)
        #expect(refusal { () throws(TrustStoreError) in try store.forget(matching: "192.0.2.8") } != nil)
    }

    @Test func `A remembered viewer is forgotten without an order`() throws {
        try store.remember(makeDevice("Sofa", makeKey("aaaa1111")))
        try store.publish([sofa], of: run)
        let eviction = try store.forget(matching: "aaaa 1111")
        #expect(eviction.wasRemembered && eviction.wasWatching)
        #expect(try store.devices().isEmpty)
        #expect(mode(scratch.file(run.ordersName)) == nil)
    }

    @Test func `A device named like an address isn't evicted in its place, nor the other way round`() throws {
        let namesake = makeDevice("192.0.2.7", makeKey("cccc3333"))
        try store.remember(namesake)
        try store.publish([sofa, phone], of: run)
        let error = refusal { () throws(TrustStoreError) in try store.forget(matching: "192.0.2.7") }
        #expect(error == .ambiguousAddress("192.0.2.7", namesake))
        #expect(error?.description.contains("cccc 3333") == true)
        #expect(try store.forget(matching: "cccc3333").identity == .device(namesake.key))
        #expect(try store.forget(matching: "192.0.2.7").identity == phone.identity)
    }

    @Test func `A guest with a remembered device's name is ambiguous`() throws {
        try store.remember(makeDevice("Sofa", makeKey("bbbb2222")))
        try store.publish([sofa], of: run)
        #expect(refusal { () throws(TrustStoreError) in try store.forget(matching: "Sofa") } != nil, "which one?")
        #expect(try store.forget(matching: "aaaa1111").wasRemembered == false)
        #expect(try store.devices().count == 1)
    }

    @Test func `Names are cleaned`() throws {
        let loud = Guest(identity: .device(makeKey(1)), name: "a\u{1B}[31m\n" + String(repeating: "x", count: 4000))
        try store.publish([loud, Guest(identity: .device(makeKey(2)), name: "")], of: run)
        let names = try store.watching().map(\.guest.shownName)
        #expect(names.count == 2 && names[0].hasPrefix("a\u{FFFD}[31m\u{FFFD}x") && names[0].utf8.count <= 255)
        #expect(names[1] == makeKey(2).description)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"version":2,"guests":[]}"#, #"{"version":1,"guests":[{"name":"a"}]}"#,
        #"{"version":1,"guests":[{"name":"","address":"192.0.2.7"}]}"#,
        #"{"version":1,"guests":[{"name":"a","address":"192.0.2.7.1"}]}"#,
        #"{"version":1,"guests":[{"name":"a","address":"fe80::1%-1"}]}"#,
        #"{"version":1,"guests":[{"name":"a","key":"12"}]}"#,
        #"{"version":1,"guests":[{"name":"a\u0007","address":"192.0.2.7"}]}"#,
    ])
    func `Invalid lists of viewers are ignored`(_ text: String) throws {
        #expect(GuestsFile.decode(Array(text.utf8)) == nil)
        try scratch.write(text, to: run.guestsName)
        #expect(try store.watching().isEmpty)
    }

    @Test(arguments: [
        "guests-1.json", "guests-1-2", "guests--1-2.json", "orders-0-2.json", "devices.json", "guests-1-2-3.json",
    ])
    func `Other files aren't changed`(_ name: String) throws {
        #expect(HostRun(fileName: name) == nil)
        try scratch.write("x", to: name)
        _ = try store.watching()
        #expect(mode(scratch.file(name)) != nil)
    }
}

/// Records the orders that a host receives.
private final class Orders: Sendable {
    private let counter = Counter()
    private let last = Box()

    private final class Box: @unchecked Sendable {
        // Sendable: accessed under `lock` only.
        private let lock = NSLock()
        private var stored: [Guest.Identity] = []
        var value: [Guest.Identity] {
            get { lock.withLock { stored } }
            set { lock.withLock { stored = newValue } }
        }
    }

    func take(_ result: Result<[Guest.Identity], TrustStoreError>) {
        if case .success(let orders) = result { last.value = orders }
        counter.increase()
    }

    func come(to wanted: [Guest.Identity]) -> Bool {
        for _ in 0..<6000 {
            if last.value == wanted { return true }
            usleep(10_000)
        }
        return false
    }
}
