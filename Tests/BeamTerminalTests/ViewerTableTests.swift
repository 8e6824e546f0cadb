import Testing

@testable import BeamTerminal

/// The terminal's table of viewers.
struct ViewerTableTests {
    private func row(_ name: String, _ rate: Double, isWatching: Bool = true) -> ViewerTable.Row {
        ViewerTable.Row(
            name: name, framesPerSecond: rate, bitsPerSecond: 8_040_000, loss: 0.0123, roundTrip: .milliseconds(12),
            isReduced: false, isWatching: isWatching, isAtGateway: false, time: .seconds(59))
    }

    @Test func withoutViewersThereIsNoTable() { #expect(ViewerTable.lines([]).isEmpty) }

    @Test func theSlowestViewerComesFirstAndColumnsAlign() {
        var slow = row("192.0.2.7", 9.6)
        (slow.loss, slow.roundTrip, slow.isReduced, slow.time) = (nil, nil, true, .seconds(3 * 3600 + 62))
        let comes = row("“comes”", 0, isWatching: false)
        #expect(
            ViewerTable.lines([row("“漢字”", 60), comes, slow]) == [
                "  viewer      frames/s   Mbit/s    lost   round trip   stream        since",
                "  192.0.2.7         10      8.0       –            –   smaller   3 h 1 min",
                "  “漢字”            60      8.0   1.2 %        12 ms   full           59 s",
                "  “comes”            0      8.0   1.2 %        12 ms   waiting        59 s",
            ])
    }

    /// Of whom nothing is known but the time, below the others.
    @Test func viewersAtGatewaysComeLast() {
        var elsewhere = row("“hall”", 0)
        (elsewhere.isAtGateway, elsewhere.loss, elsewhere.roundTrip) = (true, nil, nil)
        #expect(
            ViewerTable.lines([elsewhere, row("“desk”", 60)]).dropFirst() == [
                "  “desk”         60      8.0   1.2 %        12 ms   full       59 s",
                "  “hall”          –        –       –            –   gateway    59 s",
            ])
        let many = ViewerTable.lines((0..<8).map { row("“\($0)”", 30) } + Array(repeating: elsewhere, count: 2000))
        #expect(many.last == "  and 2000 more")
    }

    @Test func viewersThatDoNotFitAreCounted() {
        let lines = ViewerTable.lines((0..<40).map { row("“\($0)”", Double(20 + $0)) })
        #expect(lines.count == 2 + ViewerTable.mostRows)
        #expect(lines.last == "  and 32 more, with 28 frames/s or more")
        #expect(
            ViewerTable.lines((0..<9).map { row("“\($0)”", 30) }).count == 10,
            "one more viewer gets a row, not a line that counts it")
    }

    @Test func columnsAreAsWideAsTheirWidestCell() {
        let lines = CommonText.columns([
            ["“desk”", "9f86", "may watch"], ["“漢字”", "70c0 1a", "watching now, may watch"], ["a"],
        ])
        #expect(lines == ["“desk”   9f86      may watch", "“漢字”   70c0 1a   watching now, may watch", "a"])
        #expect(CommonText.columns([]).isEmpty)
    }
}
