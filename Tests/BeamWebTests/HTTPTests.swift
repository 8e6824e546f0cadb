import BeamIdentity
import BeamSession
import Crypto
import Foundation
import NIOCore
import Testing

@testable import BeamWeb

/// The page's port by real sockets on loopback.
@Suite(.serialized)
struct HTTPTests {
    private func get(_ web: TestWeb, _ target: String, host: String? = nil, headers: String = "") throws -> String {
        let connection = try TestConnection(web.server.port)
        connection.send("GET \(target) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(web.server.port)")\r\n\(headers)\r\n")
        return connection.receiveText()
    }

    @Test func thePageIsServedWithItsHashes() throws {
        let web = try TestWeb()
        let page = try get(web, "/")
        #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n"))
        let parts = page.components(separatedBy: "\r\n\r\n")
        let headers = parts[0]
        let body = parts.dropFirst().joined(separator: "\r\n\r\n")
        #expect(headers.contains("Content-Length: \(body.utf8.count)\r\n"))
        for header in [
            "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer", "Cache-Control: no-store",
            "Content-Type: text/html; charset=utf-8",
        ] { #expect(headers.contains(header)) }
        #expect(!headers.contains("unsafe") && !headers.lowercased().contains("content-encoding"))
        for tag in ["script", "style"] {
            let inside = try #require(body.firstRange(of: "<\(tag)>")).upperBound
            let end = try #require(body.firstRange(of: "</\(tag)>")).lowerBound
            let hash = Data(SHA256.hash(data: Data(body[inside..<end].utf8))).base64EncodedString()
            #expect(headers.contains("\(tag)-src 'sha256-\(hash)'"), "\(tag)")
        }
        // Nothing comes from elsewhere, and everything that was to be filled in is.
        #expect(!body.contains("src=\"http") && !body.contains("{host}") && body.contains("data-asks=\"yes\""))
        #expect(body.contains("<p id=\"host\">desk</p>") && body.contains("<title>desk · BeamRoom</title>"))
        #expect(body.contains("data-code=\"one\"") && body.contains("data-certificate=\"own\""))
    }

    @Test func thePageSaysWhatTheHostHas() {
        let page = WebPage(
            hostName: "desk", asksPerson: false, code: .any, hasPackets: false, hasOwnCertificate: false)
        let body = String(decoding: page.response.body, as: UTF8.self)
        for attribute in ["asks=\"no\"", "code=\"any\"", "packets=\"no\"", "certificate=\"given\""] {
            #expect(body.contains(" data-\(attribute)"))
        }
    }

    /// As when the settings are read again.
    @Test func whetherThePersonIsAskedCanChange() throws {
        let web = try TestWeb(code: .no)
        web.server.setAsksPerson(false)
        let closed = try get(web, "/")
        #expect(closed.contains("data-asks=\"no\"") && closed.contains("data-code=\"no\""))
        web.server.setAsksPerson(true)
        #expect(try get(web, "/").contains("data-asks=\"yes\""))
    }

    @Test func aNameCannotBreakOutOfThePage() {
        let page = WebPage(hostName: "a<script>\"{script}'&", asksPerson: false, code: .one, hasPackets: true)
        let body = String(decoding: page.response.body, as: UTF8.self)
        #expect(!body.contains("a<script>"))
        #expect(body.components(separatedBy: "<script>").count == 2)
    }

    @Test func everythingElseIsntThere() throws {
        let web = try TestWeb()
        for target in ["/index.html", "/../etc/passwd", "/ws/", "//", "*", "http://desk/"] {
            #expect(try get(web, target).hasPrefix("HTTP/1.1 404 "), "\(target)")
        }
        #expect(try get(web, "/favicon").contains("Content-Type: image/svg+xml\r\n"))
        let connection = try TestConnection(web.server.port)
        connection.send("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(connection.receiveText().hasPrefix("HTTP/1.1 404 "))
    }

    @Test func aReboundNameIsRefused() throws {
        let web = try TestWeb()
        for host in ["evil.example:\(web.server.port)", "192.0.2.99", ""] {
            let answer = try get(web, "/", host: host)
            #expect(answer.hasPrefix("HTTP/1.1 421 ") && answer.contains("isn't known by that name"))
        }
        let without = try TestConnection(web.server.port)
        without.send("GET / HTTP/1.1\r\n\r\n")
        #expect(without.receiveText().hasPrefix("HTTP/1.1 421 "))
        #expect(try get(web, "/", host: "desk.local").hasPrefix("HTTP/1.1 200 "))
    }

    @Test func onlyTheOwnPageOpensAWebSocket() throws {
        let web = try TestWeb()
        let port = web.server.port
        let own = "127.0.0.1:\(port)"
        let origins = ["http://evil.example", "https://\(own)", "http://127.0.0.1", "null", "http://\(own)/", nil]
        for origin in origins {
            let connection = try TestConnection(port)
            connection.send(TestSocket.request(host: own, origin: origin))
            #expect(connection.receiveText().hasPrefix("HTTP/1.1 403 "), "\(origin ?? "none")")
        }
        let rebound = try TestConnection(port)
        rebound.send(TestSocket.request(host: "evil.example", origin: "http://evil.example"))
        #expect(rebound.receiveText().hasPrefix("HTTP/1.1 421 "))
        for (request, status) in [
            (TestSocket.request(host: own, origin: "http://\(own)", key: "c2hvcnQ="), "400"),
            (
                TestSocket.request(host: own, origin: "http://\(own)").replacing("Version: 13", with: "Version: 8"),
                "426"
            ),
            (
                TestSocket.request(host: own, origin: "http://\(own)").replacing("Upgrade: websocket\r\n", with: ""),
                "400"
            ),
            (TestSocket.request(host: own, origin: "http://\(own)") + "\u{81}\u{80}", "400"),
        ] {
            let connection = try TestConnection(port)
            connection.send(request)
            #expect(connection.receiveText().hasPrefix("HTTP/1.1 \(status) "), "\(request)")
        }
    }

    @Test func garbageIsAnsweredWithALineAndClosed() throws {
        let web = try TestWeb()
        var random = SystemRandomNumberGenerator()
        for first in [UInt8(0x00), 0x16, 0x41, 0x80, 0xFF] {
            let connection = try TestConnection(web.server.port)
            var bytes = (0..<1_000_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            bytes[0] = first
            connection.send(bytes)
            #expect(connection.receiveAll().count < 1000)
        }
        // Letters without an end.
        let endless = try TestConnection(web.server.port)
        endless.send(String(repeating: "A", count: 1_000_000))
        let answer = endless.receiveText()
        #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 431 "))
        #expect(try get(web, "/").hasPrefix("HTTP/1.1 200 "))
    }

    @Test func slowClientsAreClosed() throws {
        let web = try TestWeb(
            times: WebListener.Times(request: .milliseconds(400), firstByte: .milliseconds(200)))
        let silent = try TestConnection(web.server.port)
        #expect(silent.receiveAll().isEmpty)
        let slow = try TestConnection(web.server.port)
        slow.send("GET / HT")
        #expect(slow.receiveText().hasPrefix("HTTP/1.1 408 "))
        let halfTLS = try TestConnection(web.server.port)
        halfTLS.send([0x16, 0x03, 0x01])
        #expect(halfTLS.receiveAll().count < 100)
    }

    @Test func connectionsFromOneAddressAreBounded() throws {
        let web = try TestWeb()
        let connections = try (0..<40).map { _ in try TestConnection(web.server.port) }
        for connection in connections { connection.send("GET / HT") }
        func open() -> Int {
            connections.count { connection in
                var byte: UInt8 = 0
                return recv(connection.descriptor, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) < 0
                    && errno == EAGAIN
            }
        }
        var count = open()
        for _ in 0..<200 where count > 16 {
            usleep(20_000)
            count = open()
        }
        #expect(count <= 16 && count > 0)
    }

    @Test func httpsOnlySendsPagesOn() throws {
        let web = try TestWeb(isHTTPSOnly: true)
        let answer = try get(web, "/")
        #expect(
            answer.hasPrefix("HTTP/1.1 307 ") && answer.contains("Location: https://127.0.0.1:\(web.server.port)/\r\n"))
        #expect(try get(web, "/", host: "evil.example").hasPrefix("HTTP/1.1 421 "))
    }

    @Test(.enabled(if: OpenSSL.isInstalled, "openssl isn't installed"))
    func httpsIsOnTheSamePort() throws {
        let web = try TestWeb()
        let request = "GET / HTTP/1.1\r\nHost: desk.local:\(web.server.port)\r\n\r\n"
        let answer = try OpenSSL.talk(port: web.server.port, request)
        #expect(answer.contains("HTTP/1.1 200 OK"))
        #expect(answer.contains("TLSv1.3") && answer.contains("DNS:desk, DNS:desk.local, IP Address:127.0.0.1"))
        #expect(try OpenSSL.talk(port: web.server.port, request, "-tls1_2").contains("HTTP/1.1 200 OK") == false)
    }

    @Test func badCertificateFilesAreExplained() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ text: String) throws -> String {
            let url = folder.appending(path: name)
            try text.write(to: url, atomically: true, encoding: .utf8)
            return url.path
        }
        let one = try file("one.pem", WebIdentity(names: ["a.example"], addresses: []).pem)
        let other = try file("other.pem", WebIdentity(names: ["a.example"], addresses: []).pem)
        let none = try file("none.pem", "nothing")
        func failure(_ certificate: String, _ key: String) -> String {
            do {
                _ = try TestWeb(certificate: .files(certificate: certificate, key: key))
                return ""
            } catch { return "\(error)" }
        }
        #expect(failure(one, one) == "")
        #expect(failure(folder.path + "/missing", one).contains("missing can't be used for browsers: No such file"))
        #expect(failure(none, one).contains("none.pem can't be used for browsers: it can't be read as a certificate"))
        #expect(failure(one, none).contains("none.pem can't be used for browsers: it can't be read as a private key"))
        #expect(failure(one, other).contains("the key isn't that of the certificate"))
    }

    @Test func theNextFreePortsAreTaken() throws {
        let first = try TestWeb()
        let second = try TestWeb(port: first.server.port)
        #expect(second.server.port > first.server.port && second.server.port <= first.server.port + 20)
    }
}

enum OpenSSL {
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    /// What `openssl s_client` and the server say.
    static func talk(port: UInt16, _ request: String, _ options: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c",
            "printf '%s' \"$1\" | timeout 60 openssl s_client -connect 127.0.0.1:\(port) -quiet \(options.joined(separator: " ")) 2>&1; "
                + "openssl s_client -connect 127.0.0.1:\(port) </dev/null 2>/dev/null"
                + " | tee /dev/stderr | openssl x509 -noout -ext subjectAltName",
            "sh", request,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output, as: UTF8.self)
    }
}
