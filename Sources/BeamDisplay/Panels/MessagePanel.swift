import BeamMedia

/// Words in the middle of the window.
enum MessagePanel {
    /// Over a picture the words stand on a panel, without one on the bare background, under the emblem.
    static func layer(_ message: WindowMessage, canvas: PixelSize, scale: Double, isOverPicture: Bool) -> Layer {
        let width = min(Double(canvas.width) - 48 * scale, 640 * scale)
        let headline = TextBlock(
            message.headline, .headline, scale: scale, maxWidth: width, maxLines: 3, alignment: .centre)
        let detail = message.detail.map {
            TextBlock($0, .detail, scale: scale, maxWidth: min(width, 480 * scale), maxLines: 4, alignment: .centre)
        }
        let groups = groups(of: message.code ?? "").map { TextBlock($0, .code, scale: scale, maxWidth: width) }

        let margin = isOverPicture ? 32 * scale : 2
        let emblem = isOverPicture ? 0 : 72 * scale
        let tilePadding = 20 * scale
        let tileGap = 12 * scale
        let tilesWidth =
            groups.reduce(0) { $0 + $1.width + 2 * tilePadding } + tileGap * Double(max(0, groups.count - 1))
        let tileHeight = groups.map(\.height).max().map { $0 + tilePadding } ?? 0

        var height = headline.height
        if emblem > 0 { height += emblem + 28 * scale }
        if tileHeight > 0 { height += 24 * scale + tileHeight }
        if let detail { height += (tileHeight > 0 ? 24 : 12) * scale + detail.height }
        let inner = max(headline.width, detail?.width ?? 0, tilesWidth, emblem)
        let size = PixelSize(
            width: Int((inner + 2 * margin).rounded(.up)), height: Int((height + 2 * margin).rounded(.up)))

        let bitmap = Bitmap(size) { pen in
            let middle = Double(size.width) / 2
            var y = margin
            if isOverPicture {
                pen.fill(
                    x: 0, y: 0, width: Double(size.width), height: Double(size.height), radius: 16 * scale, Theme.panel)
            }
            if emblem > 0 {
                Emblem.draw(pen, x: middle - emblem / 2, y: y, side: emblem)
                y += emblem + 28 * scale
            }
            pen.draw(headline, x: (middle - headline.width / 2).rounded(), y: y.rounded(), Theme.text)
            y += headline.height
            if tileHeight > 0 {
                y += 24 * scale
                var x = middle - tilesWidth / 2
                for group in groups {
                    let tile = group.width + 2 * tilePadding
                    pen.fill(x: x, y: y, width: tile, height: tileHeight, radius: 12 * scale, Theme.tile)
                    pen.draw(
                        group, x: (x + tilePadding).rounded(), y: (y + (tileHeight - group.height) / 2).rounded(),
                        Theme.text)
                    x += tile + tileGap
                }
                y += tileHeight
            }
            if let detail {
                y += (tileHeight > 0 ? 24 : 12) * scale
                pen.draw(detail, x: (middle - detail.width / 2).rounded(), y: y.rounded(), Theme.muted)
            }
        }
        return Layer(
            bitmap: bitmap, x: (canvas.width - size.width) / 2, y: (canvas.height - size.height) / 2)
    }

    /// `482913` is read, compared and typed as `482` and `913`.
    static func groups(of code: String) -> [String] {
        let digits = code.filter { !$0.isWhitespace }
        guard digits.count == 6 else { return digits.isEmpty ? [] : [digits] }
        return [String(digits.prefix(3)), String(digits.suffix(3))]
    }
}
