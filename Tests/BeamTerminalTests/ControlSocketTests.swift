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

        func found() throws -> (clients: [ControlClient], busy: [pid_t]) {
            var found = ControlClient.Found()
            ControlClient.running(in: try directory(), into: &found)
            return (found.clients, found.busy)
        }

        func clients() throws -> [ControlClient] { try found().clients }
    }

    private func socket(_ folder: Folder, _ answer: @escaping @Sendable ([UInt8]) -> [UInt8]) throws -> ControlSocket {
        try ControlSocket(in: try folder.directory(), answer: answer)
    }

    @Test func aClientAsksAndNoticesTheEnd() throws {
        let folder = Folder()
        #expect(try folder.clients().isEmpty)
        let socket = try socket(folder) { line in Array(#"{"event":"done","was":"#.utf8) + line + Array("}\n".utf8) }
        let clients = try folder.clients()
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
        // The last one is another machine's, with the same home.
        let foreign = "99998-0badcafe.sock"
        for name in [ControlName(process: 99_999).text, foreign] {
            let left = ControlAddress.socket()
            #expect(ControlAddress.use(directory.socketPath(name), { bind(left, $0, $1) }) == 0)
            close(left)
        }
        _ = FileManager.default.createFile(atPath: folder.path + "/other", contents: nil)
        #expect(try folder.clients().isEmpty)
        let socket = try socket(folder) { _ in [] }
        #expect(Set(folder.names) == [ControlName(process: getpid()).text, foreign, "other"])
        socket.close()
        #expect(Set(folder.names) == [foreign, "other"])
    }

    /// One that was stopped is known to run, also when no more connections wait at it.
    @Test func aProgramThatTakesNoConnectionIsBusy() throws {
        let folder = Folder()
        let listener = ControlAddress.socket()
        defer { close(listener) }
        let directory = try folder.directory()
        let path = directory.socketPath(ControlName(process: 99_999).text)
        try #require(ControlAddress.use(path) { bind(listener, $0, $1) } == 0 && listen(listener, 1) == 0)
        var waiting: [CInt] = []
        defer { for descriptor in waiting { close(descriptor) } }
        while case .open(let descriptor) = ControlAddress.connect(path), waiting.count < 10 {
            waiting.append(descriptor)
        }
        #expect((1..<10).contains(waiting.count))
        let found = try folder.found()
        #expect(found.clients.isEmpty && found.busy == [99_999])
        // As soon as there is room, it is reached.
        close(ControlAddress.accept(listener))
        #expect(try folder.clients().map(\.process) == [99_999])
    }

    @Test(arguments: [
        "1.sock", "-1-abc.sock", "0-abc.sock", "99999999999-abc.sock", "1-abc", "x-abc.sock", "1-a-b.sock", "",
    ])
    func otherNamesAreNone(_ name: String) { #expect(ControlName(name) == nil) }

    /// Clients that say too much are cut off, and those that don't listen hold up only themselves. Others are answered all the
    /// while.
    @Test func badClientsDisturbNobody() throws {
        let folder = Folder()
        let long = String(repeating: "x", count: 100_000)
        let socket = try socket(folder) { _ in Array(#"{"event":"done","long":"\#(long)"}"#.utf8) + [UInt8(ascii: "\n")]
        }
        defer { socket.close() }
        let directory = try folder.directory()
        let path = directory.socketPath(ControlName(process: getpid()).text)
        func expectAnswer() throws {
            let good = try #require(try folder.clients().first)
            #expect(try good.ask(["text": .bool(true)])["long"]?.string == long)
        }
        func connect() throws -> CInt {
            guard case .open(let descriptor) = ControlAddress.connect(path) else {
                throw ControlError(reason: "no connection")
            }
            return descriptor
        }

        let endless = try connect()
        defer { close(endless) }
        let piece = [UInt8](repeating: UInt8(ascii: "{"), count: 1000)
        // Until it is cut off: then writing fails.
        while true {
            var entry = pollfd(fd: endless, events: Int16(POLLOUT), revents: 0)
            try #require(poll(&entry, 1, 60_000) > 0)
            let sent = piece.withUnsafeBytes { send(endless, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if sent < 0, errno != EAGAIN { break }
        }
        try expectAnswer()

        let deaf = try connect()
        defer { close(deaf) }
        // Its own lines wait once the answers aren't read: then the socket takes no more.
        let line = Array("{}\n".utf8)
        var count = 0
        while line.withUnsafeBytes({ send(deaf, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }) > 0, count < 1_000_000
        {
            count += 1
        }
        #expect(count < 1_000_000)
        try expectAnswer()

        // More at once than are served: the others wait until some have gone.
        let many = try (0..<30).map { _ in try connect() }
        for descriptor in many { close(descriptor) }
        try expectAnswer()
    }
}
