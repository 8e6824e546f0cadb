import Foundation

/// Firefox without a window, driven by Marionette: TCP on loopback, messages `LENGTH:JSON`. Used by one thread.
final class Firefox {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/firefox-esr")

    private let process = Process()
    private let folder: URL
    private let connection: Int32
    private var received: [UInt8] = []
    private var lastID = 0

    /// - Parameter preferences: lines of `user.js`: a name, and a value in JavaScript.
    init(width: Int = 1280, height: Int = 800, preferences: [String: String] = [:], prefix: [String] = []) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "beamroom-firefox-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let port = Self.freePort()
        let all = [
            "marionette.port": "\(port)", "browser.aboutwelcome.enabled": "false",
            "termsofuse.bypassNotification": "true", "media.autoplay.default": "0",
            "datareporting.policy.dataSubmissionEnabled": "false",
        ].merging(preferences) { $1 }
        try all.map { "user_pref(\"\($0)\", \($1));\n" }.joined().write(
            to: folder.appending(path: "user.js"), atomically: true, encoding: .utf8)
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            prefix + [
                "firefox-esr", "--headless", "--no-remote", "--marionette", "--profile", folder.path, "--width",
                "\(width)", "--height", "\(height)", "about:blank",
            ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        do {
            connection = try Self.connect(port, while: process)
        } catch {
            process.terminate()
            throw error
        }
        _ = try next()
        try send("WebDriver:NewSession", ["acceptInsecureCerts": true])
    }

    deinit { end() }

    func end() {
        if process.isRunning {
            close(connection)
            process.terminate()
            let end = Date(timeIntervalSinceNow: 10)
            while process.isRunning, Date() < end { usleep(20_000) }
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
        try? FileManager.default.removeItem(at: folder)
    }

    func navigate(_ address: String) throws { try send("WebDriver:Navigate", ["url": address]) }

    /// The value of an expression of JavaScript; a promise's when it is there.
    @discardableResult
    func evaluate(_ expression: String) throws -> Any? {
        let script = "const done = arguments[arguments.length - 1]; Promise.resolve(\(expression)).then(done);"
        return try send("WebDriver:ExecuteAsyncScript", ["script": script, "args": [], "scriptTimeout": 30000])
    }

    func text(_ expression: String) throws -> String { try evaluate(expression) as? String ?? "" }

    /// Waits until the expression is true.
    func wait(until expression: String, timeout: Double = 30) throws {
        let end = Date(timeIntervalSinceNow: timeout)
        while Date() < end {
            if (try? evaluate("!!(\(expression))")) as? Bool == true { return }
            usleep(50_000)
        }
        let state =
            (try? text("document.body.dataset.state + ': ' + document.getElementById('headline').textContent")) ?? ""
        throw Failure(description: "after \(timeout) s it isn't so: \(expression); the page: \(state)")
    }

    /// PNG.
    func screenshot() throws -> Data {
        guard let text = try send("WebDriver:TakeScreenshot", ["full": false]) as? String,
            let data = Data(base64Encoded: text)
        else { throw Failure(description: "no screenshot") }
        return data
    }

    // MARK: Marionette

    @discardableResult
    private func send(_ name: String, _ parameters: [String: Any]) throws -> Any? {
        lastID += 1
        let body = Array(try JSONSerialization.data(withJSONObject: [0, lastID, name, parameters]))
        let bytes = Array("\(body.count):".utf8) + body
        guard write(connection, bytes, bytes.count) == bytes.count else {
            throw Failure(description: "Firefox has ended before \(name)")
        }
        while true {
            guard let message = try JSONSerialization.jsonObject(with: Data(try next())) as? [Any], message.count == 4,
                message[1] as? Int == lastID
            else { continue }
            if let error = message[2] as? [String: Any] {
                throw Failure(description: "\(name): \(error["message"] ?? error)")
            }
            let result = message[3] as? [String: Any] ?? [:]
            return result["value"] ?? result
        }
    }

    private func next() throws -> [UInt8] {
        while true {
            if let colon = received.firstIndex(of: UInt8(ascii: ":")),
                let length = Int(String(decoding: received[..<colon], as: UTF8.self)),
                received.count > colon + length
            {
                let message = Array(received[(colon + 1)...(colon + length)])
                received.removeSubrange(...(colon + length))
                return message
            }
            var poll = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 90_000) > 0 else { throw Failure(description: "Firefox doesn't answer") }
            var part = [UInt8](repeating: 0, count: 64 << 10)
            let count = read(connection, &part, part.count)
            guard count > 0 else { throw Failure(description: "Firefox has ended") }
            received += part[..<count]
        }
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func freePort() -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var bound = address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &bound) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, length)
                _ = getsockname(descriptor, $0, &length)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
    }

    private static func connect(_ port: UInt16, while process: Process) throws -> Int32 {
        let end = Date(timeIntervalSinceNow: 60)
        while Date() < end, process.isRunning {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var to = address(port)
            let isOpen = withUnsafePointer(to: &to) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isOpen { return descriptor }
            close(descriptor)
            usleep(100_000)
        }
        throw Failure(description: "Firefox takes no commands")
    }
}
