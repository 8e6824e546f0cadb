extension Report {
    /// All that is known of the sound; empty if no sound came.
    static func soundTable(_ results: [CellResults]) -> String {
        let results = results.filter { $0.records.contains { $0.sound != nil } }
        guard !results.isEmpty else { return "" }
        let columns = SoundColumn.all.filter { column in results.contains { !column.values($0).isEmpty } }
        let head = columns.map { "<th>\($0.title)<small>\($0.unit)</small></th>" }.joined()
        let rows = results.map { cell in
            let found = cell.records.compactMap { $0.sound?.recorded }
            let bursts =
                found.isEmpty
                ? "–"
                : "\(found.map(\.foundBursts).reduce(0, +)) of \(found.map(\.expectedBursts).reduce(0, +))"
            return "<tr><th scope=\"row\">\(HTML.escaped(cell.cell))</th>"
                + columns.map { "<td>\($0.text(cell))</td>" }.joined() + "<td>\(bursts)</td></tr>"
        }
        return """
            <h2>Sound</h2>
            <div class="scroll"><table><thead><tr><th></th>\(head)<th>Bursts<small>found</small></th></tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
            <p class="note">Latency, buffer and concealed sound are the viewer's figures. The skew is that of a recording, by \
            the numbers in sound and picture: positive if the sound is late.</p>
            """
    }
}

/// A column of the table of sound: the median over the repetitions, below it the range.
private struct SoundColumn: Sendable {
    var title: String
    var unit: String
    var decimals = 1
    var value: @Sendable (MeasureRecord.Sound) -> Double?

    static let all = [
        SoundColumn(title: "Latency", unit: "ms") { $0.latencyMs?.median },
        SoundColumn(title: "p95", unit: "ms") { $0.latencyMs?.p95 },
        SoundColumn(title: "Buffer", unit: "ms") { $0.bufferMs },
        SoundColumn(title: "Concealed", unit: "%", decimals: 2) { 100 * $0.concealed },
        SoundColumn(title: "To the window", unit: "ms") { $0.skewMs },
        SoundColumn(title: "Skew", unit: "ms") { $0.recorded?.medianSkewMs },
        SoundColumn(title: "p95", unit: "ms, magnitude") { $0.recorded?.p95SkewMs },
        SoundColumn(title: "Largest", unit: "ms, magnitude") { $0.recorded?.maxSkewMs },
    ]

    func values(_ cell: CellResults) -> [Double] { cell.records.compactMap { $0.sound.flatMap(value) } }

    func text(_ cell: CellResults) -> String {
        guard let spread = Spread(values(cell)) else { return "–" }
        func text(_ value: Double) -> String { Number.text(value, decimals: decimals) }
        let range = spread.count > 1 ? "<small>\(text(spread.min)) – \(text(spread.max))</small>" : ""
        return text(spread.median) + range
    }
}
