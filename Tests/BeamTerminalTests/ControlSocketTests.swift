import BeamMedia
import BeamTrust
import Foundation
import Glibc
import Testing

@testable import BeamTerminal

/// Programs of one user reach each other by sockets in a folder.
struct ControlSocketTests {
    /// A folder with a path that is too long for a socket's address.
    private final class Folder {
        private let root = NSTemporaryDirectory() + "beamroom-control-\(UUID())"
        var path: String { root + "/" + String(repeating: "deep/", count: 30) + "running" }

        deinit { try? FileManager.default.removeItem(atPath: root) }

        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
        func directory() throws -> RuntimeDirectory { try RuntimeDirectory.make(at: path) }
    }

    private func socket(_ folder: Folder, _ answer: @escaping @Sendable ([UInt8]) -> [UInt8]) throws -> ControlSocket {
        try ControlSocket(in: try folder.directory(), answer: answer)
    }

    @Test func aClientAsksAndNoticesTheEnd() throws {
        let folder = Folder()
        #expect(ControlClient.running(in: try folder.directory()).isEmpty)
        let socket = try socket(folder) { line in Array(#"{"event":"done","was":"#.utf8) + line + Array("}\n".utf8) }
        let clients = ControlClient.running(in: try folder.directory())
        let client = try #require(clients.first)
        #expect(clients.count == 1 && client.process == getpid())
        for text in ["one", String(repeating: "long ", count: 10_000)] {
            #expect(try client.ask(["text": .string(text)])["was"]?["text"]?.string == text)
        }
        #expect(!client.waitForEnd(atMost: .milliseconds(10)))
        socket.close()
        #expect(client.waitForEnd(atMost: .seconds(30)))
        #expect(throws: ControlError.self) { try client.ask(["text": .bool(true)]) }
        #expect(folder.names.isEmpty)
    }

    @Test func whatAKilledProgramHasLeftIsRemoved() throws {
        let folder = Folder()
        let directory = try folder.directory()
        let left = ControlAddress.socket()
        #expect(ControlAddress.use(directory.socketPath("99999.sock"), { bind(left, $0, $1) }) == 0)
        close(left)
        _ = FileManager.default.createFile(atPath: folder.path + "/other", contents: nil)
        #expect(ControlClient.running(in: try folder.directory()).isEmpty)
        let socket = try socket(folder) { _ in [] }
        #expect(folder.names == ["\(getpid()).sock", "other"])
        socket.close()
        #expect(folder.names == ["other"])
    }

    /// Clients that say too much, or don't listen, are cut off. Others are answered all the while.
    @Test func badClientsDisturbNobody() throws {
        let folder = Folder()
        let socket = try socket(folder) { _ in Array(repeating: UInt8(ascii: "x"), count: 99_999) + [UInt8(ascii: "\n")]
        }
        defer { socket.close() }
        let directory = try folder.directory()
        let path = directory.socketPath("\(getpid()).sock")
        for line in [[UInt8](repeating: UInt8(ascii: "{"), count: 1000), Array("{}\n".utf8)] {
            guard case .open(let bad) = ControlAddress.connect(path) else {
                Issue.record("no connection")
                return
            }
            defer { close(bad) }
            var sent = 0
            var isOpen = true
            while isOpen {
                var entry = pollfd(fd: bad, events: Int16(POLLOUT), revents: 0)
                // The lines of one that doesn't listen wait in its socket: then it holds up only itself.
                guard poll(&entry, 1, 2000) > 0 else { break }
                let result = line.withUnsafeBytes { send(bad, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                sent += max(0, result)
                isOpen = result > 0 || errno == EAGAIN
            }
            #expect(!isOpen || line.last == UInt8(ascii: "\n"))
            #expect(sent < 4 << 20)
            let good = try #require(ControlClient.running(in: try folder.directory()).first)
            #expect(throws: ControlError.self) { try good.ask(["text": .bool(true)]) }
        }
        // A hundred at once: those beyond the limit wait until others have gone.
        let many = (0..<30).compactMap { _ -> CInt? in
            if case .open(let descriptor) = ControlAddress.connect(path) { descriptor } else { nil }
        }
        for descriptor in many { close(descriptor) }
        let last = try #require(ControlClient.running(in: try folder.directory()).first)
        #expect(throws: ControlError.self) { try last.ask(["text": .bool(true)]) }
    }
}
