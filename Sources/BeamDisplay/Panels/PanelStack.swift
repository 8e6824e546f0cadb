import BeamMedia

/// The panels in the window. Each one is redrawn only when its content or the window has changed.
@MainActor final class PanelStack {
    var message: WindowMessage?
    /// Nil while there is no list to choose from.
    var picker: Picker?
    /// Nil while no code is asked for.
    var codeEntry: CodeEntry?
    /// Nil while there is no warning.
    var badge: WarningBadge?
    var statistics: [String] = []
    var showsStatistics = false

    struct Setting: Hashable {
        var canvas: PixelSize
        /// Scale factor for the display's pixel density.
        var textScale: Double
        var isOverPicture: Bool

        /// The text scale, reduced in small windows.
        var scale: Double {
            max(0.5, min(textScale, Double(canvas.width) / 480, Double(canvas.height) / 330))
        }

        /// Codes may be read from farther away, so they grow with the window.
        var codeScale: Double {
            max(scale, min(Double(canvas.width) / 960, Double(canvas.height) / 540, 2.5))
        }
    }

    private enum Central: Hashable {
        case message(WindowMessage)
        case picker(Picker)
        case codeEntry(CodeEntry)
    }

    /// Everything that determines the badge's appearance and position.
    private struct BadgeSetting: Hashable {
        var warning: WindowWarning
        var isFull: Bool
        var setting: Setting
        var others: [PixelRect]
    }

    private var drawnCentral: (what: Central, setting: Setting, layer: Layer)?
    private var drawnStatistics: (lines: [String], setting: Setting, layer: Layer)?
    private var drawnBadge: (setting: BadgeSetting, layer: Layer?)?
    private var rows: [PickerPanel.Row] = []

    /// Whether the middle of the window shows text.
    var hasWords: Bool { message != nil || picker != nil || codeEntry != nil }

    /// Ordered from back to front.
    func layers(_ setting: Setting) -> [Layer] {
        guard setting.canvas.area > 0 else { return [] }
        let others = [statisticsLayer(setting), centralLayer(setting)].compactMap(\.self)
        guard let badge = badgeLayer(setting, avoiding: others.map(\.rect)) else { return others }
        return others + [badge]
    }

    /// The index of the list entry at a position in the window, in pixels.
    func entry(x: Int, y: Int) -> Int? {
        guard picker != nil, codeEntry == nil else { return nil }
        return rows.first { $0.rect.contains(PixelRect(x: x, y: y, width: 1, height: 1)) }?.index
    }

    private func centralLayer(_ setting: Setting) -> Layer? {
        picker?.scroll(toFit: PickerPanel.capacity(canvas: setting.canvas, scale: setting.scale))
        guard let wanted = central else {
            drawnCentral = nil
            rows = []
            return nil
        }
        if let drawn = drawnCentral, drawn.what == wanted, drawn.setting == setting { return drawn.layer }
        let layer: Layer
        switch wanted {
        case .message(let message):
            layer = MessagePanel.layer(
                message, canvas: setting.canvas, scale: message.code == nil ? setting.scale : setting.codeScale,
                isOverPicture: setting.isOverPicture)
            rows = []
        case .codeEntry(let entry):
            layer = CodeEntryPanel.layer(
                entry, canvas: setting.canvas, scale: setting.codeScale, isOverPicture: setting.isOverPicture)
            rows = []
        case .picker(let picker):
            (layer, rows) = PickerPanel.layer(
                picker, canvas: setting.canvas, scale: setting.scale, isOverPicture: setting.isOverPicture)
        }
        drawnCentral = (wanted, setting, layer)
        return layer
    }

    private var central: Central? {
        if let codeEntry { return .codeEntry(codeEntry) }
        guard let picker else { return message.map { .message($0) } }
        guard picker.entries.isEmpty else { return .picker(picker) }
        return .message(
            message
                ?? WindowMessage(
                    headline: "Looking for hosts…",
                    detail: "Start “beamroom share” on a computer, or BeamRoom on a phone, in the same network."))
    }

    private func badgeLayer(_ setting: Setting, avoiding others: [PixelRect]) -> Layer? {
        guard let badge, setting.isOverPicture else {
            drawnBadge = nil
            return nil
        }
        let wanted = BadgeSetting(warning: badge.warning, isFull: badge.isFull, setting: setting, others: others)
        if let drawn = drawnBadge, drawn.setting == wanted { return drawn.layer }
        let layer = WarningPanel.layer(
            badge.warning, isFull: badge.isFull, canvas: setting.canvas, scale: setting.scale, avoiding: others)
        drawnBadge = (wanted, layer)
        return layer
    }

    private func statisticsLayer(_ setting: Setting) -> Layer? {
        guard showsStatistics, !statistics.isEmpty else {
            drawnStatistics = nil
            return nil
        }
        if let drawn = drawnStatistics, drawn.lines == statistics, drawn.setting == setting { return drawn.layer }
        let layer = StatisticsPanel.layer(statistics, canvas: setting.canvas, scale: setting.scale)
        drawnStatistics = (statistics, setting, layer)
        return layer
    }
}
