import Foundation

/// Draws charts with gnuplot, as SVG for embedding.
public struct Gnuplot: Sendable {
    /// The Debian package that contains it.
    public static let package = "gnuplot-nox"

    private let path: String

    /// Nil if it isn't installed.
    public init?(searchPath: String = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin") {
        let candidates = searchPath.split(separator: ":").map { $0 + "/gnuplot" }
        guard let path = candidates.first(where: { FileManager.default.isExecutableFile(atPath: String($0)) }) else {
            return nil
        }
        self.path = String(path)
    }

    /// The chart as SVG; nil if gnuplot fails.
    func draw(_ chart: Chart) -> String? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        // Ignore the user's gnuplot settings, and read the script from standard input.
        process.arguments = ["--default-settings", "-"]
        process.environment = ["LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        // The script is smaller than a pipe's buffer, so this doesn't block.
        try? input.fileHandleForWriting.write(contentsOf: Data(PlotScript(chart).text.utf8))
        try? input.fileHandleForWriting.close()
        let drawn = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0, !drawn.isEmpty else { return nil }
        return InlineSVG.make(String(decoding: drawn, as: UTF8.self), id: chart.id, label: chart.title)
    }
}

/// Adapts gnuplot's SVG for embedding: unique ids and the page's colours.
enum InlineSVG {
    static func make(_ svg: String, id: String, label: String) -> String? {
        guard let start = svg.range(of: "<svg"), let end = svg.range(of: "</svg>", options: .backwards) else {
            return nil
        }
        var text = String(svg[start.lowerBound..<end.upperBound])
        for pattern in ["<title>[^<]*</title>", "<desc>[^<]*</desc>", "<!--[^>]*-->"] { text.remove(pattern) }
        // Remove gnuplot's group colour (black), which lines without their own colour would inherit.
        text.replace(" color=\"[a-z]+\"", with: "")
        text.replace("rgb\\( *1, *2, *3\\)", with: "currentColor")
        text.replace("stroke=(['\"])rgb\\( *1, *2, *4\\)['\"]", with: "stroke=$1currentColor$1 stroke-opacity=$1.18$1")
        text.replace("\\bid=(['\"])", with: "id=$1\(id)-")
        text.replace("href=(['\"])#", with: "href=$1#\(id)-")
        text.replace("url\\(#", with: "url(#\(id)-")
        text.replace("^<svg", with: "<svg role=\"img\" aria-label=\"\(HTML.escaped(label))\"")
        return text
    }
}

extension String {
    fileprivate mutating func replace(_ pattern: String, with template: String) {
        self = replacingOccurrences(of: pattern, with: template, options: .regularExpression)
    }

    fileprivate mutating func remove(_ pattern: String) { replace(pattern, with: "") }
}
