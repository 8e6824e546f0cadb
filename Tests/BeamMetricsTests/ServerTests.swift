import Glibc
import NIOCore
import Synchronization
import Testing

@testable import BeamMetrics

/// The real server on loopback, and clients that are no friends of its.
struct ServerTests {
    private static let get = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"

    private func server(
        _ address: String = "0", _ limits: MetricsListener.Limits = MetricsListener.Limits(), text: String = "a 1\n"
    ) throws -> MetricsServer {
        try MetricsServer(try #require(MetricsAddress(address)), limits: limits) { text }
    }

    @Test func metricsAreServedAndTheConnectionEnds() throws {
        let server = try server()
        defer { server.shutdown() }
        #expect(server.address.port != 0)
        let answer = try Client.answer(server.address.port, Self.get)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\na 1\n"))
        #expect(answer.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
        #expect(answer.contains("Content-Length: 4\r\n") && answer.contains("Connection: close\r\n"))
        // What comes behind a request isn't answered.
        let two = try Client.answer(server.address.port, Self.get + Self.get)
        #expect(two.ranges(of: "HTTP/1.1 ").count == 1)
        let head = try Client.answer(server.address.port, Self.get.replacing("GET", with: "HEAD"))
        #expect(head.contains("Content-Length: 4\r\n") && head.hasSuffix("\r\n\r\n"))
        let page = try Client.answer(server.address.port, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        #expect(page.contains("Content-Type: text/html") && page.contains("href=\"/metrics\""))
    }

    @Test func whatIsNoRequestForMetricsIsRefused() throws {
        let server = try server()
        defer { server.shutdown() }
        let host = "Host: localhost:9464\r\n"
        let long = String(repeating: "x", count: 20_000)
        for (request, status) in [
            ("GET /metrics?name[]=a HTTP/1.1\r\n\(host)\r\n", 200), ("GET /metrics HTTP/1.0\r\n\(host)\r\n", 200),
            ("GET /metrics/ HTTP/1.1\r\n\(host)\r\n", 404), ("GET /../etc/passwd HTTP/1.1\r\n\(host)\r\n", 404),
            ("POST /metrics HTTP/1.1\r\n\(host)Content-Length: 3\r\n\r\na=b", 405),
            ("CONNECT a:1 HTTP/1.1\r\n\(host)\r\n", 405), ("OPTIONS * HTTP/1.1\r\n\(host)\r\n", 405),
            ("GET /metrics HTTP/1.1\r\n\r\n", 400), ("GET /metrics HTTP/1.1\r\n\(host)\(host)\r\n", 400),
            ("hello\r\n\r\n", 400), ("GET /metrics HTTP/9.9\r\n\(host)\r\n", 400),
            ("GET /metrics HTTP/1.1\r\n\(host)a\u{0}b: c\r\n\r\n", 400),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400), ("\u{16}\u{3}\u{1}\u{2}\u{0}", 400),
            ("GET /\(long) HTTP/1.1\r\n\(host)\r\n", 431), ("GET / HTTP/1.1\r\n\(host)X: \(long)\r\n\r\n", 431),
            ("GET / HTTP/1.1\r\n\(host)" + (0..<2000).map { "a\($0): b\r\n" }.joined() + "\r\n", 431),
        ] {
            let answer = try Client.answer(server.address.port, request)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(60)): \(answer.prefix(200))")
            #expect(status == 200 || !answer.contains("a 1\n"))
        }
    }

    /// Another site's page whose name leads to 127.0.0.1 (DNS rebinding) doesn't get the names of viewers.
    @Test(arguments: [
        ("localhost", true), ("LOCALHOST:9464", true), ("127.0.0.1:1", true), ("127.1.2.3", true), ("[::1]:9464", true),
        ("evil.example", false), ("localhost.evil.example", false), ("127.0.0.1.evil.example", false),
        ("192.0.2.7", false),
        ("localhost:evil", false), ("", false), ("[::1", false), ("[::2]:80", false), ("user@localhost", false),
    ])
    func onlyNamesOfLoopbackAreTaken(_ host: String, _ isTaken: Bool) throws {
        let server = try server()
        defer { server.shutdown() }
        let answer = try Client.answer(server.address.port, "GET /metrics HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(answer.hasPrefix(isTaken ? "HTTP/1.1 200 " : "HTTP/1.1 421 "), "\(answer)")
        #expect(answer.hasSuffix("a 1\n") == isTaken)
    }

    /// Nor does it where others may read: the name that leads here isn't one of this machine's.
    @Test(arguments: [
        ("desk:9464", true), ("DESK.Example", true), ("desk.local.", true), ("localhost", true), ("192.0.2.7:1", true),
        ("[2001:db8::7]:80", true), ("127.0.0.1", true),
        ("evil.example", false), ("desk.evil.example", false), ("192.0.2.7.evil.example", false), ("local", false),
        ("desk:evil", false), ("", false), (".local", false), ("[desk]", false),
    ])
    func elsewhereAddressesAndOwnNamesAreTaken(_ host: String, _ isTaken: Bool) throws {
        let address = try #require(MetricsAddress("0.0.0.0:0"))
        let server = try MetricsServer(address, limits: MetricsListener.Limits(), machine: "Desk.example") { "a 1\n" }
        defer { server.shutdown() }
        let answer = try Client.answer(server.address.port, "GET /metrics HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(answer.hasPrefix(isTaken ? "HTTP/1.1 200 " : "HTTP/1.1 421 "), "\(answer)")
        #expect(answer.hasSuffix("a 1\n") == isTaken)
    }

    /// Whoever only holds connections keeps nobody out.
    @Test func theOldestIdleConnectionMakesRoom() throws {
        var limits = MetricsListener.Limits()
        limits.connections = 3
        let server = try server("0", limits)
        defer { server.shutdown() }
        let idle = try (0..<3).map { _ in try Client(server.address.port) }
        for client in idle { client.send("GET /metrics HTTP/1.1\r\n") }
        #expect(try Client.answer(server.address.port, Self.get).hasSuffix("a 1\n"))
        #expect(idle[0].readToEnd().error == ECONNRESET)
        idle[2].send("Host: localhost\r\n\r\n")
        #expect(idle[2].readToEnd().text.hasSuffix("a 1\n"))
    }

    /// One that has its answer and doesn't close makes room, too.
    @Test func aClientThatDoesNotCloseMakesRoom() throws {
        var limits = MetricsListener.Limits()
        limits.connections = 2
        let server = try server("0", limits)
        defer { server.shutdown() }
        let lazy = try (0..<2).map { _ in try Client(server.address.port) }
        for client in lazy {
            client.send(Self.get)
            #expect(client.readToEnd().text.hasSuffix("a 1\n"))
        }
        for _ in 0..<5 { #expect(try Client.answer(server.address.port, Self.get).hasSuffix("a 1\n")) }
    }

    @Test func aSlowRequestIsEnded() throws {
        var limits = MetricsListener.Limits()
        limits.request = .milliseconds(100)
        let server = try server("0", limits)
        defer { server.shutdown() }
        let client = try Client(server.address.port)
        client.send("GET /metrics HTTP/1.1\r\n")
        #expect(client.readToEnd().text.hasPrefix("HTTP/1.1 408 "))
        // One that ends its side before the request is complete gets nothing.
        let other = try Client(server.address.port)
        other.send("GET /me")
        other.endSending()
        #expect(!other.readToEnd().text.contains(" 200 "))
    }

    /// Longer than what the system's buffers take.
    private static let long = String(repeating: "a", count: 24 << 20)

    /// So do those that don't read their answers.
    @Test func clientsThatDoNotReadMakeRoom() throws {
        var limits = MetricsListener.Limits()
        limits.connections = 2
        limits.answer = .seconds(600)
        let server = try server("0", limits, text: Self.long)
        defer { server.shutdown() }
        let lazy = try (0..<2).map { _ in try Client(server.address.port) }
        for client in lazy {
            client.send(Self.get)
            // The answer is under way, and not all of it can leave.
            #expect(client.read(1) == "H")
        }
        let answer = try Client.answer(server.address.port, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 404 "))
        #expect(lazy[0].readToEnd().text.utf8.count < Self.long.utf8.count)
        #expect(lazy[1].readToEnd().text.hasSuffix("aaaa"))
    }

    /// A client that doesn't read is disconnected.
    @Test func aClientThatDoesNotReadIsEnded() throws {
        var limits = MetricsListener.Limits()
        limits.answer = .milliseconds(100)
        let server = try server("0", limits, text: Self.long)
        defer { server.shutdown() }
        let client = try Client(server.address.port)
        client.send(Self.get)
        #expect(client.read(1) == "H")
        // 30 s: only what hangs takes so long.
        for _ in 0..<1500 where server.connectionCount > 0 { usleep(20_000) }
        #expect(server.connectionCount == 0)
        #expect(client.readToEnd().text.utf8.count < Self.long.utf8.count)
    }

    /// However often it is asked for, the text is made ten times a second at most.
    @Test func aTextServesForAWhile() throws {
        let count = Mutex(0)
        var limits = MetricsListener.Limits()
        limits.textAge = .seconds(3600)
        let server = try MetricsServer(try #require(MetricsAddress("0")), limits: limits) {
            count.withLock { count in
                count += 1
                return "a \(count)\n"
            }
        }
        defer { server.shutdown() }
        for _ in 0..<20 { #expect(try Client.answer(server.address.port, Self.get).hasSuffix("a 1\n")) }
    }

    @Test func aPortInUseIsSaid() throws {
        let first = try server()
        defer { first.shutdown() }
        let error = #expect(throws: MetricsError.self) { _ = try server("\(first.address.port)") }
        #expect(error == .portInUse(first.address))
        #expect("\(MetricsError.portInUse(first.address))".contains("uses port \(first.address.port)"))
        #expect("\(MetricsError.portInUse(first.address))".contains("`--metrics 0`"))
        #expect(throws: MetricsError.self) { _ = try server("192.0.2.7:0") }
    }

    /// The port is free again at once. At an address of its own, where no other test takes the port in between.
    @Test func itEndsWhileClientsHoldConnections() throws {
        let address: UInt32 = 0x7F17_0A3D
        let first = try server("127.23.10.61:0")
        let port = first.address.port
        let idle = try (0..<5).map { _ in try Client(port, at: address) }
        let last = try Client(port, at: address)
        last.send(Self.get)
        #expect(last.readToEnd().text.hasSuffix("a 1\n"))
        first.shutdown()
        for client in idle { #expect(client.readToEnd().text.isEmpty) }
        #expect(throws: Client.Failure.self) { try Client(port, at: address) }
        let second = try server("127.23.10.61:\(port)")
        second.shutdown()
    }
}
