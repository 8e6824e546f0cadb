import Foundation

/// Chromium without a window, driven by DevTools over a pipe (`--remote-debugging-pipe`): it reads commands from descriptor
/// 3 and writes answers to descriptor 4, in JSON, each ended by a zero byte. Used by one thread.
final class Chromium {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static let isInstalled = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].contains {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private let process = Process()
    private let folder: URL
    private let commands: Int32
    private let answers: Int32
    private var received: [UInt8] = []
    private var lastID = 0
    private var session: String?

    /// - Parameters:
    ///   - width: of the page, in CSS pixels.
    ///   - isPhone: it says that it is a phone with a touch screen.
    ///   - language: such as `de`.
    ///   - prefix: a command that it is run with, such as `ip netns exec NAME`.
    ///   - trustsAll: it takes any certificate without a warning.
    ///   - bound: a name that means 127.0.0.1 to it.
    ///   - sound: the environment of the sound server that it plays to; nil: to none.
    init(
        width: Int = 1280, height: Int = 800, isPhone: Bool = false, isDark: Bool = true, language: String = "en",
        prefix: [String] = [], trustsAll: Bool = true, bound: String? = nil, sound: [String: String?]? = nil
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "beamroom-chromium-\(UUID().uuidString)")
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let pipes = ["in", "out"].map { folder.appending(path: $0).path }
        for pipe in pipes where mkfifo(pipe, 0o600) != 0 { throw Failure(description: "no pipe at \(pipe)") }
        // Foundation passes no other descriptors than the standard ones on.
        process.executableURL = URL(filePath: "/bin/bash")
        var arguments = ["-c", "exec \"${@:3}\" 3<\"$1\" 4>\"$2\"", "chromium"]
        arguments += pipes + prefix
        arguments += [
            "chromium", "--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu",
            "--user-data-dir=\(folder.appending(path: "profile").path)", "--remote-debugging-pipe",
            "--lang=\(language)", "--accept-lang=\(language)", "--window-size=\(width),\(height)",
        ]
        if trustsAll { arguments.append("--ignore-certificate-errors") }
        if let bound { arguments.append("--host-resolver-rules=MAP \(bound) 127.0.0.1") }
        if sound == nil { arguments.append("--mute-audio") }
        process.arguments = arguments + ["about:blank"]
        var variables = ProcessInfo.processInfo.environment
        for (name, value) in sound ?? [:] { variables[name] = value }
        variables["LANGUAGE"] = language
        process.environment = variables
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Each waits until the other end is open.
        commands = open(pipes[0], O_WRONLY | O_CLOEXEC)
        answers = open(pipes[1], O_RDONLY | O_CLOEXEC)
        try attach()
        try send(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": isPhone ? 2 : 1, "mobile": isPhone])
        try send(
            "Emulation.setEmulatedMedia",
            ["features": [["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]]])
    }

    deinit { end() }

    func end() {
        if process.isRunning {
            process.terminate()
            let end = Date(timeIntervalSinceNow: 10)
            while process.isRunning, Date() < end { usleep(20_000) }
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
            close(commands)
            close(answers)
        }
        try? FileManager.default.removeItem(at: folder)
    }

    // MARK: The page

    func navigate(_ address: String) throws { try send("Page.navigate", ["url": address]) }

    /// The value of an expression of JavaScript; a promise's when it is there.
    @discardableResult
    func evaluate(_ expression: String) throws -> Any? {
        let answer = try send(
            "Runtime.evaluate", ["expression": expression, "awaitPromise": true, "returnByValue": true])
        if let details = answer["exceptionDetails"] as? [String: Any] {
            let thrown = (details["exception"] as? [String: Any])?["description"] ?? details["text"] ?? ""
            throw Failure(description: "\(expression): \(thrown)")
        }
        return (answer["result"] as? [String: Any])?["value"]
    }

    func text(_ expression: String) throws -> String { try evaluate(expression) as? String ?? "" }
    func number(_ expression: String) throws -> Double { (try evaluate(expression) as? NSNumber)?.doubleValue ?? .nan }

    /// Waits until the expression is true.
    func wait(until expression: String, timeout: Double = 30) throws {
        let end = Date(timeIntervalSinceNow: timeout)
        while Date() < end {
            if (try? evaluate("!!(\(expression))")) as? Bool == true { return }
            usleep(20_000)
        }
        let state =
            (try? text("document.body.dataset.state + ': ' + document.getElementById('headline').textContent")) ?? ""
        throw Failure(description: "after \(timeout) s it isn't so: \(expression); the page: \(state)")
    }

    /// PNG.
    func screenshot() throws -> Data {
        let answer = try send("Page.captureScreenshot", ["format": "png"])
        guard let data = (answer["data"] as? String).flatMap({ Data(base64Encoded: $0) }) else {
            throw Failure(description: "no screenshot")
        }
        return data
    }

    /// Types as a person does.
    func type(_ text: String) throws { try send("Input.insertText", ["text": text]) }

    func press(_ key: String, code: Int = 0, text: String = "") throws {
        for kind in ["keyDown", "keyUp"] {
            var event: [String: Any] = ["type": kind, "key": key, "windowsVirtualKeyCode": code]
            if kind == "keyDown", !text.isEmpty { event["text"] = text }
            try send("Input.dispatchKeyEvent", event)
        }
    }

    /// Clicks the middle of an element, which counts as a person's touch.
    func click(_ selector: String) throws {
        let place = try text(
            "(() => { const r = document.querySelector('\(selector)').getBoundingClientRect();"
                + " return (r.x + r.width / 2) + ' ' + (r.y + r.height / 2); })()")
        let numbers = place.split(separator: " ").compactMap { Double($0) }
        guard numbers.count == 2 else { throw Failure(description: "no place to click: \(selector)") }
        for kind in ["mousePressed", "mouseReleased"] {
            try send(
                "Input.dispatchMouseEvent",
                ["type": kind, "x": numbers[0], "y": numbers[1], "button": "left", "clickCount": 1])
        }
    }

    // MARK: DevTools

    private func attach() throws {
        let end = Date(timeIntervalSinceNow: 30)
        while Date() < end {
            let answer = try send("Target.getTargets", [:])
            let targets = answer["targetInfos"] as? [[String: Any]] ?? []
            if let page = targets.first(where: { $0["type"] as? String == "page" })?["targetId"] as? String {
                let attached = try send("Target.attachToTarget", ["targetId": page, "flatten": true])
                session = attached["sessionId"] as? String
                return
            }
            usleep(50_000)
        }
        throw Failure(description: "Chromium has no page")
    }

    /// Sends a command; returns its result.
    @discardableResult
    func send(_ method: String, _ parameters: [String: Any]) throws -> [String: Any] {
        lastID += 1
        var command: [String: Any] = ["id": lastID, "method": method, "params": parameters]
        if let session { command["sessionId"] = session }
        let bytes = Array(try JSONSerialization.data(withJSONObject: command)) + [0]
        guard write(commands, bytes, bytes.count) == bytes.count else {
            throw Failure(description: "Chromium has ended before \(method)")
        }
        while true {
            guard let message = try JSONSerialization.jsonObject(with: Data(try next())) as? [String: Any],
                message["id"] as? Int == lastID
            else { continue }
            if let error = message["error"] as? [String: Any] {
                throw Failure(description: "\(method): \(error["message"] ?? error)")
            }
            return message["result"] as? [String: Any] ?? [:]
        }
    }

    /// The next message; events are among them.
    private func next() throws -> [UInt8] {
        while true {
            if let end = received.firstIndex(of: 0) {
                defer { received.removeSubrange(...end) }
                return Array(received[..<end])
            }
            var poll = pollfd(fd: answers, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 60_000) > 0 else { throw Failure(description: "Chromium doesn't answer") }
            var part = [UInt8](repeating: 0, count: 64 << 10)
            let count = read(answers, &part, part.count)
            guard count > 0 else { throw Failure(description: "Chromium has ended") }
            received += part[..<count]
        }
    }
}
