import Foundation

/// Draws charts with the gnuplot program, as SVG to be put into a page.
public struct Gnuplot: Sendable {
    /// The Debian package that it comes with.
    public static let package = "gnuplot-nox"

    private let path: String

    /// Nil where it isn't installed.
    public init?(searchPath: String = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin") {
        let candidates = searchPath.split(separator: ":").map { $0 + "/gnuplot" }
        guard let path = candidates.first(where: { FileManager.default.isExecutableFile(atPath: String($0)) }) else {
            return nil
        }
        self.path = String(path)
    }

    /// The chart; nil when gnuplot doesn't draw it.
    func draw(_ chart: Chart) -> String? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        // Nobody's own settings, and no other file.
        process.arguments = ["--default-settings", "-"]
        process.environment = ["LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        // Far less than a pipe holds: writing doesn't wait for gnuplot to read.
        try? input.fileHandleForWriting.write(contentsOf: Data(PlotScript(chart).text.utf8))
        try? input.fileHandleForWriting.close()
        let drawn = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0, !drawn.isEmpty else { return nil }
        return InlineSVG.make(String(decoding: drawn, as: UTF8.self), id: chart.id, label: chart.title)
    }
}

/// Makes a picture of gnuplot's a part of a page: names that are the page's only ones, and the page's colours.
enum InlineSVG {
    static func make(_ svg: String, id: String, label: String) -> String? {
        guard let start = svg.range(of: "<svg"), let end = svg.range(of: "</svg>", options: .backwards) else {
            return nil
        }
        var text = String(svg[start.lowerBound..<end.upperBound])
        for pattern in ["<title>[^<]*</title>", "<desc>[^<]*</desc>", "<!--[^>]*-->"] { text.remove(pattern) }
        // Lines without a colour of their own take their group's, which is black for gnuplot.
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
