import BeamMedia

/// Whose picture is shown, in a corner of the window.
enum NamePanel {
    /// At the left or right of the lower edge of `area`, or else of its upper edge, where it is under none of `others`; nil
    /// if there is no such corner.
    static func layer(_ name: String, in area: PixelRect, scale: Double, avoiding others: [PixelRect]) -> Layer? {
        let margin = Int((10 * scale).rounded())
        let padding = (x: (9 * scale).rounded(), y: (4 * scale).rounded())
        let room = Double(area.width - 2 * margin) - 2 * padding.x
        guard room > 4 * Theme.Font.tileName.size * scale else { return nil }
        let text = TextBlock(VisibleText.name(name), .tileName, scale: scale, maxWidth: room)
        let size = PixelSize(
            width: Int((text.width + 2 * padding.x).rounded(.up)),
            height: Int((text.height + 2 * padding.y).rounded(.up)))
        let (left, right) = (area.x + margin, area.maxX - margin - size.width)
        let (upper, lower) = (area.y + margin, area.maxY - margin - size.height)
        let places = [(left, lower), (right, lower), (left, upper), (right, upper)].map { x, y in
            PixelRect(x: x, y: y, width: size.width, height: size.height)
        }
        guard upper <= lower,
            let place = places.first(where: { place in others.allSatisfy { $0.intersection(place).isEmpty } })
        else { return nil }
        let bitmap = Bitmap(size) { pen in
            pen.fill(
                x: 0, y: 0, width: Double(size.width), height: Double(size.height), radius: 7 * scale, Theme.panel)
            pen.draw(text, x: padding.x, y: padding.y, Theme.name)
        }
        return Layer(bitmap: bitmap, x: place.x, y: place.y)
    }
}
