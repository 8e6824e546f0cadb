import Foundation
import Testing

/// A host with `--web`, and what its page says.
enum WebShare {
    static func state(_ name: String) -> String { "document.body.dataset.state === '\(name)'" }

    /// Whether the picture comes by WebRTC.
    static let hasPackets = "document.body.classList.contains('packets')"

    private static let picture = "document.getElementById(\(hasPackets) ? 'video' : 'canvas')"

    /// The page's address. By http one at which it isn't a secure context, as at another machine: loopback would be one.
    static func address(_ scheme: String, _ port: Int) throws -> String {
        guard scheme == "http" else { return "https://127.0.0.1:\(port)/" }
        return "http://\(try #require(lanAddress, "this machine has no address but loopback")):\(port)/"
    }

    /// This machine's, at which others reach it.
    static let lanAddress: String? = {
        let output = try? Tool.run("hostname", ["-I"])
        return output?.split(separator: " ").map(String.init).first { $0.contains(".") }
    }()

    /// Whether the picture changes within a second.
    static let moves = """
        new Promise(async done => {
          const picture = \(picture);
          const small = document.createElement('canvas'); small.width = 160; small.height = 90;
          const context = small.getContext('2d', { willReadFrequently: true });
          const sums = new Set();
          for (let i = 0; i < 12; i++) {
            context.drawImage(picture, 0, 0, 160, 90);
            const data = context.getImageData(0, 0, 160, 90).data;
            let sum = 0; for (let j = 0; j < data.length; j++) sum = (sum * 31 + data[j]) >>> 0;
            sums.add(sum);
            await new Promise(next => setTimeout(next, 80));
          }
          done(sums.size > 3);
        })
        """

    /// The picture that is shown, in its own size.
    static func shown(by chromium: Chromium) throws -> Screenshot {
        let text = try chromium.text(
            """
            (() => {
              const picture = \(picture);
              const copy = document.createElement('canvas');
              copy.width = picture.videoWidth || picture.width; copy.height = picture.videoHeight || picture.height;
              const context = copy.getContext('2d', { willReadFrequently: true });
              context.drawImage(picture, 0, 0);
              const data = context.getImageData(0, 0, copy.width, copy.height).data;
              let text = '';
              for (let i = 0; i < data.length; i += 32768) {
                text += String.fromCharCode.apply(null, data.subarray(i, i + 32768));
              }
              return copy.width + ' ' + copy.height + ' ' + btoa(text);
            })()
            """)
        let parts = text.split(separator: " ")
        let data = try #require(parts.count == 3 ? Data(base64Encoded: String(parts[2])) : nil)
        // The browser's bytes begin with red.
        var bytes = [UInt8](data)
        for start in stride(from: 0, to: bytes.count, by: 4) { bytes.swapAt(start, start + 2) }
        return Screenshot(width: Int(parts[0]) ?? 0, height: Int(parts[1]) ?? 0, bytes: bytes)
    }

    /// A file with a code.
    static func code(_ digits: String, in scratch: ScratchDirectory) throws -> String {
        let path = scratch.file("code")
        try Data((digits + "\n").utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }

    static let arguments = ["--web", "--web-port", "0", "--web-media-port", "0"]

    static func begin(
        _ arguments: [String], source: [String] = ["--source", "pattern"], accept: String? = "none", ports: Ports,
        environment: [String: String?] = [:], input: ChildProcess.Input = .none
    ) throws -> (host: ProgramProcess, port: Int) {
        let host = try Program.share(
            source + Self.arguments + arguments, ports: ports, accept: accept, environment: environment, input: input)
        return (host, try port(of: host))
    }

    static func port(of host: ProgramProcess) throws -> Int {
        try #require(try host.waitFor("ready").number("webPort").map { Int($0) })
    }
}
