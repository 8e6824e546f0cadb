import Foundation
import Glibc
import Testing

@testable import BeamTrust

struct DeviceStoreTests {
    private let scratch: Scratch
    private var store: TrustStore { scratch.store }

    init() throws { scratch = try Scratch() }

    private func forgetRefusal(_ text: String) -> TrustStoreError? {
        refusal { () throws(TrustStoreError) in try store.forget(matching: text) }
    }

    @Test func `A new store is empty, and reading creates nothing`() throws {
        #expect(try store.devices().isEmpty)
        #expect(mode(scratch.state) == nil)
    }

    @Test func `Addresses of version 1 hosts are kept, the newest 64, and removed`() throws {
        #expect(!store.isPlainHost("192.0.2.1:52345"))
        #expect(mode(scratch.state) == nil, "reading creates nothing")
        for number in 0..<70 { try store.notePlainHost("192.0.2.\(number):52345", isPlain: true) }
        #expect(!store.isPlainHost("192.0.2.5:52345"))
        #expect(store.isPlainHost("192.0.2.6:52345"))
        #expect(!store.isPlainHost("192.0.2.6"))
        try store.notePlainHost("192.0.2.6:52345", isPlain: false)
        #expect(!store.isPlainHost("192.0.2.6:52345"))
        #expect(store.isPlainHost("192.0.2.69:52345"))
        try store.notePlainHost("a\n192.0.2.6:52345", isPlain: true)
        #expect(!store.isPlainHost("192.0.2.6:52345"))
    }

    @Test func `Devices are read back unchanged, sorted by name`() throws {
        let devices = [
            makeDevice("Attic", makeKey(3), [.host, .viewer]), makeDevice("Studio", makeKey(1), [.viewer]),
            makeDevice("👩‍👩‍👧 Küche", makeKey(2), [.host]),
        ]
        for device in devices.reversed() { try store.remember(device) }
        #expect(try store.devices() == devices)
    }

    @Test func `Pairing again joins roles, updates the time and keeps the name`() throws {
        #expect(try store.remember(makeDevice("Old name", makeKey(1), [.viewer], at: 1000)) == .asNamed)
        let again = makeDevice("New name", makeKey(1), [.host], at: 2000)
        #expect(try store.remember(again) == .underOldName("Old name"))
        #expect(try store.devices() == [makeDevice("Old name", makeKey(1), [.host, .viewer], at: 2000)])
    }

    @Test func `When a host was watched is kept, to within an hour, and survives other changes`() throws {
        try store.remember(makeDevice("Studio", makeKey(1), [.host]))
        #expect(try store.devices().first?.seenAt == nil)
        let first = Date(timeIntervalSince1970: 1_800_000_000)
        try store.noteSeen(makeKey(1), at: first)
        #expect(try store.devices().first?.seenAt == first)
        try store.noteSeen(makeKey(1), at: first + 3000)
        #expect(try store.devices().first?.seenAt == first, "the file isn't written each time")
        try store.note("192.0.2.7:52345", of: makeKey(1))
        _ = try store.rename(matching: "Studio", to: "Attic")
        try store.remember(makeDevice("Studio", makeKey(1), [.viewer]))
        #expect(try store.devices().first?.seenAt == first)
        try store.noteSeen(makeKey(1), at: first + 3600)
        try store.noteSeen(makeKey(2), at: first)
        #expect(try store.devices().map(\.seenAt) == [first + 3600])
        // What another program writes there is no reason to refuse the list.
        let text = try String(contentsOfFile: scratch.file("devices.json"), encoding: .utf8)
        for other in ["\"soon\"", "7", "null", "{}"] {
            try scratch.write(text.replacing(/"seenAt" : "[^"]*"/, with: "\"seenAt\" : \(other)"), to: "devices.json")
            #expect(try store.devices().map(\.seenAt) == [nil], "\(other)")
        }
    }

    @Test func `A name is cleaned`() throws {
        #expect(makeDevice("a\u{1B}[2Jb\n", makeKey(1)).name == "a[2Jb")
        #expect(makeDevice("\u{202E}evil", makeKey(1)).name == "evil")
        #expect(makeDevice("", makeKey("9f86d081884c7d65")).name == "9f86 d081 884c 7d65")
        let long = makeDevice(String(repeating: "é", count: 200), makeKey(1)).name
        #expect(long == String(repeating: "é", count: 31) + "…")
    }

    // MARK: Names

    /// A name that can be stored and not read would make the whole list unreadable.
    @Test(arguments: [
        String(repeating: "a\u{20D0}\u{20D1}", count: 31) + "ab", String(repeating: "\u{1F468}", count: 64),
        String(repeating: "字\u{20D0}\u{20D1}", count: 200),
    ])
    func `Whatever a device calls itself can be read back`(_ name: String) throws {
        for number in 1...5 { try store.remember(makeDevice(name, makeKey(number))) }
        #expect(try store.devices().count == 5)
    }

    /// A host that was paired under one name pairs again under another host's name.
    @Test func `A device can't take the name of another key`() throws {
        try store.remember(makeDevice("desk", makeKey("aaaa"), [.host]))
        try store.remember(makeDevice("eve", makeKey("bbbb"), [.host]))
        #expect(try store.remember(makeDevice("desk", makeKey("bbbb"), [.host])) == .underOldName("eve"))
        #expect(try store.remember(makeDevice("DESK", makeKey("cccc"), [.host])) == .marked("DESK (cccc)"))
        // Keys with chosen first digits can be found by trial.
        #expect(try store.remember(makeDevice("Desk", makeKey("ccccdd"), [.host])) == .marked("Desk (ccccdd00)"))
        #expect(try store.devices().filter { $0.name.lowercased() == "desk" }.map(\.key) == [makeKey("aaaa")])
        // Host and viewer are separate roles, so the name is free.
        #expect(try store.remember(makeDevice("desk", makeKey("dddd"), [.viewer])) == .asNamed)
    }

    @Test func `Only the person can rename a device`() throws {
        try store.remember(makeDevice("desk", makeKey("aaaa"), [.host]))
        try store.remember(makeDevice("eve", makeKey("bbbb"), [.host]))
        #expect(try store.rename(matching: "eve", to: "attic").name == "eve")
        #expect(try store.devices().map(\.name) == ["attic", "desk"])
        let taken = refusal { () throws(TrustStoreError) in _ = try store.rename(matching: "bbbb", to: "Desk") }
        guard case .nameTaken("Desk", let other) = taken else {
            Issue.record("\(String(describing: taken))")
            return
        }
        #expect(other.key == makeKey("aaaa"))
        let unusable = refusal { () throws(TrustStoreError) in _ = try store.rename(matching: "attic", to: "a\u{200B}b")
        }
        #expect(unusable == .unusableName("ab"))
    }

    @Test func `A place belongs to the host last watched there`() throws {
        try store.remember(makeDevice("desk", makeKey("aaaa"), [.host]))
        try store.remember(makeDevice("attic", makeKey("bbbb"), [.host]))
        try store.note("192.0.2.7:52345", of: makeKey("aaaa"))
        try store.note("192.0.2.8:52345", of: makeKey("aaaa"))
        try store.note("192.0.2.7:52345", of: makeKey("bbbb"))
        let places = try store.devices().map(\.places)
        #expect(places == [["192.0.2.7:52345"], ["192.0.2.8:52345"]])
        for number in 0..<20 { try store.note("192.0.2.\(number):52345", of: makeKey("aaaa")) }
        #expect(try store.devices().last?.places.count == RememberedDevice.maxPlaces)
        #expect(try store.devices().last?.places.first == "192.0.2.19:52345")
    }

    // MARK: Forgetting

    @Test func `By name`() throws {
        let studio = makeDevice("Studio", makeKey(1))
        try store.remember(studio)
        try store.remember(makeDevice("Attic", makeKey(2)))
        #expect(try store.forget(matching: "Studio").identity == .device(studio.key))
        #expect(try store.devices().map(\.name) == ["Attic"])
        #expect(forgetRefusal("Studio") == .unknownDevice("Studio"))
        #expect(forgetRefusal("Att") == .unknownDevice("Att"))
        #expect(forgetRefusal("") == .unknownDevice(""))
    }

    /// As `beamroom watch` compares names.
    @Test func `By name in any case, an exact one first`() throws {
        let viewer = makeDevice("Studio", makeKey(1), [.viewer])
        let host = makeDevice("studio", makeKey(2), [.host])
        try store.remember(viewer)
        try store.remember(host)
        #expect(forgetRefusal("STUDIO") == .ambiguousDevice("STUDIO", matches: [viewer, host]))
        #expect(try store.forget(matching: "studio").identity == .device(host.key))
        #expect(try store.forget(matching: "STUDIO").identity == .device(viewer.key))
    }

    @Test(arguments: ["9f86", "9F86 D081", "9f86 d081 884c 7d65"])
    func `By the beginning of the key`(digits: String) throws {
        try store.remember(makeDevice("Studio", makeKey("9f86d081884c7d65")))
        try store.remember(makeDevice("Attic", makeKey("9f87")))
        #expect(forgetRefusal("9f8") == .unknownDevice("9f8"))
        #expect(try store.forget(matching: digits).name == "Studio")
    }

    @Test func `Two devices with one name are distinguished by their keys`() throws {
        let one = makeDevice("Studio", makeKey("1111aaaa"))
        let two = makeDevice("Studio", makeKey("1111bbbb"))
        // Older files may contain both.
        try scratch.write(DevicesFile.encode([one, two]), to: "devices.json")
        let error = try #require(forgetRefusal("Studio"))
        #expect(error == .ambiguousDevice("Studio", matches: [one, two]))
        #expect(error.description.contains("1111 aaaa 0000 0000"))
        #expect(error.description.contains("1111 bbbb 0000 0000"))
        #expect(forgetRefusal("1111") == .ambiguousDevice("1111", matches: [one, two]))
        #expect(try store.devices().count == 2)
        #expect(try store.forget(matching: "1111 bbbb 0000 0000").identity == .device(two.key))
        #expect(try store.forget(matching: "Studio").identity == .device(one.key))
    }

    @Test func `A name that looks like another device's key is ambiguous`() throws {
        let victim = makeDevice("Studio", makeKey("9f86d081884c7d65"))
        let liar = makeDevice("9f86 d081 884c 7d65", makeKey("0bad"))
        try store.remember(victim)
        try store.remember(liar)
        let error = try #require(forgetRefusal("9f86 d081 884c 7d65"))
        guard case .ambiguousDevice(_, let matches) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(Set(matches) == [victim, liar])
        // The complete key, which the error shows, always means the key.
        #expect(error.description.contains(victim.key.hex))
        #expect(try store.forget(matching: victim.key.hex).identity == .device(victim.key))
        #expect(try store.devices() == [liar])
    }

    // MARK: Bounds

    @Test func `At most a thousand devices are remembered`() throws {
        let many = (0..<DevicesFile.maxDevices).map {
            makeDevice(String(repeating: "\u{5B57}", count: 85), makeKey($0), [.host, .viewer])
        }
        try scratch.write(DevicesFile.encode(many), to: "devices.json")
        #expect(try store.devices().count == 1000)
        let error = refusal { () throws(TrustStoreError) in try store.remember(makeDevice("One more", makeKey(5000))) }
        #expect(error == .tooManyDevices(most: 1000))
        // A device that is remembered already doesn't count again.
        try store.remember(makeDevice("Known", makeKey(0), at: 3_000_000))
        #expect(try store.devices().count == 1000)
        #expect(try store.devices().contains { $0.pairedAt.timeIntervalSince1970 == 3_000_000 })
    }

    @Test func `The longest list fits into the file's size limit`() {
        let many = (0..<DevicesFile.maxDevices).map {
            makeDevice(String(repeating: "\"", count: 255), makeKey($0), [.host, .viewer])
        }
        #expect(DevicesFile.encode(many).count <= DevicesFile.maxBytes)
    }

    // MARK: Damage

    @Test(arguments: [
        "", "nonsense", "[]", "{}", #"{"version": "1", "devices": []}"#, #"{"version": 0, "devices": []}"#,
        #"{"version": 1}"#, #"{"version": 1, "devices": [{}]}"#,
    ])
    func `A damaged list is an error, and isn't overwritten`(text: String) throws {
        try scratch.write(text, to: "devices.json")
        for error in [
            refusal { () throws(TrustStoreError) in try store.devices() }, forgetRefusal("A"),
            refusal { () throws(TrustStoreError) in try store.remember(makeDevice("A", makeKey(1))) },
        ] {
            guard case .damagedDevices(scratch.file("devices.json"), _) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(try String(contentsOfFile: scratch.file("devices.json"), encoding: .utf8) == text)
    }

    @Test func `A newer program's list isn't changed`() throws {
        try scratch.write(#"{"version": 2, "things": []}"#, to: "devices.json")
        let error = refusal { () throws(TrustStoreError) in try store.remember(makeDevice("A", makeKey(1))) }
        #expect(error == .newerDevices(path: scratch.file("devices.json"), version: 2))
    }

    @Test func `An oversized list is an error`() throws {
        try scratch.write([UInt8](repeating: 0x20, count: DevicesFile.maxBytes + 1), to: "devices.json")
        guard case .damagedDevices = refusal({ () throws(TrustStoreError) in try store.devices() }) else {
            Issue.record("it was read")
            return
        }
    }

    // MARK: Concurrency

    @Test func `Concurrent tasks lose no change`() async throws {
        let store = store
        try await withThrowingTaskGroup { group in
            for number in 0..<40 { group.addTask { try store.remember(makeDevice("D\(number)", makeKey(number))) } }
            try await group.waitForAll()
        }
        #expect(try store.devices().count == 40)
        try await withThrowingTaskGroup { group in
            for number in 0..<20 { group.addTask { _ = try store.forget(matching: "D\(number)") } }
            try await group.waitForAll()
        }
        #expect(try Set(store.devices().map(\.name)) == Set((20..<40).map { "D\($0)" }))
    }

    @Test func `Concurrent processes lose no change, and readers never see a partial one`() async throws {
        let state = scratch.state
        try store.remember(makeDevice("First", makeKey(9999)))
        let store = store
        await withTaskGroup { group in
            for process in 0..<3 {
                group.addTask {
                    _ = await #expect(processExitsWith: .success) {
                        [state = state as String, process = process as Int] in
                        let store = TrustStore(path: state)
                        for number in 0..<20 {
                            try store.remember(makeDevice("P\(process) \(number)", makeKey(process * 100 + number)))
                        }
                    }
                }
            }
            group.addTask {
                var most = 0
                while most < 61, !Task.isCancelled {
                    let count = (try? store.devices().count) ?? -1
                    #expect(count >= most)
                    guard count >= most else { return }
                    most = count
                    try? await Task.sleep(for: .milliseconds(2))
                    if mode(state + "/stop") != nil { return }
                }
            }
            for _ in 0..<3 { await group.next() }
            // If a process has failed, the reader would wait indefinitely otherwise.
            close(creat(state + "/stop", 0o600))
        }
        #expect(try store.devices().count == 61)
    }

    @Test func `A process killed while it changes the list leaves a whole one`() async throws {
        let state = scratch.state
        for _ in 0..<3 {
            await #expect(processExitsWith: .signal(SIGKILL)) { [state = state as String] in
                let store = TrustStore(path: state)
                Thread.detachNewThread {
                    usleep(.random(in: 1000...30_000))
                    _ = kill(getpid(), SIGKILL)
                }
                for number in 0... { try store.remember(makeDevice("D", makeKey(number % 900))) }
            }
            _ = try store.devices()
            try store.remember(makeDevice("After", makeKey(5000)))
        }
    }
}
