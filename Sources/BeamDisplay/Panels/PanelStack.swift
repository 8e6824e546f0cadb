import BeamMedia

/// The panels in the window. Each one is redrawn only when its content or the window has changed.
@MainActor final class PanelStack {
    var message: WindowMessage?
    /// Shown while there is nothing else in the middle; nil: the picture isn't held.
    var held: WindowMessage?
    /// Nil while there is no list to choose from.
    var picker: Picker?
    /// Nil while no code is asked for.
    var codeEntry: CodeEntry?
    /// Nil while there is no warning.
    var badge: WarningBadge?
    var notice: Notice?
    /// The list of keys, over all else; nil: it isn't shown.
    var keys: [WindowCommand.Row]?
    /// A few keys at the lower edge, for some seconds; nil: they aren't shown.
    var hint: Notice?
    /// A question that a key answers, and since when it is there.
    var ask: WindowAsk?
    var askSince = MediaTime.zero
    /// Whose picture is shown, if that isn't said elsewhere.
    var pictureName: String?
    var statistics: [String] = []
    var showsStatistics = false
    /// Who is in the room: a name, and after a tab what it does.
    var people: [String] = []
    var showsPeople = false
    /// Shown with the people.
    var code: WindowCode?
    /// The words are those of a room, not of what is shown: captions are shown without a picture, too.
    var isRoom = false
    /// As `CaptionPanel.prepared` makes them, oldest first.
    var captions: [WindowCaption] = []
    var showsCaptions = true
    var transcript = TranscriptView()
    var showsTranscript = false
    /// What is being written, also while its line isn't shown.
    var note = NoteEntry()
    var showsNote = false
    var allowsNotes = false
    /// The name of the one of several sources that gets the note; nil: there is one source.
    var noteRecipient: String?

    struct Setting: Hashable {
        var canvas: PixelSize
        /// Scale factor for the display's pixel density.
        var textScale: Double
        var isOverPicture: Bool
        /// The picture of a grid that the captions belong to; nil: the window shows one picture.
        var captionArea: PixelRect?

        /// The text scale, reduced in small windows.
        var scale: Double {
            max(0.5, min(textScale, Double(canvas.width) / 480, Double(canvas.height) / 330))
        }

        /// Of texts in the middle, which may take most of the window, and shrink if that isn't enough.
        var centralScale: Double {
            max(0.5, min(textScale, Double(canvas.width) / 280, Double(canvas.height) / 330))
        }

        /// Codes may be read from farther away, so they grow with the window.
        var codeScale: Double {
            max(centralScale, min(Double(canvas.width) / 960, Double(canvas.height) / 540, 2.5))
        }

        /// So do captions, and they leave more of a small window's picture free than panels do.
        var captionScale: Double {
            let size = captionArea?.size ?? canvas
            let (width, height) = (Double(size.width), Double(size.height))
            return max(0.5, min(textScale, width / 800, height / 450), min(width / 1280, height / 720, 2.5))
        }
    }

    private enum Central: Hashable {
        case keys([WindowCommand.Row])
        case code(WindowCode)
        case message(WindowMessage)
        case picker(Picker)
        case codeEntry(CodeEntry)
    }

    /// Everything that determines a panel that makes room for others.
    private struct Placed<Content: Hashable>: Hashable {
        var content: Content
        var setting: Setting
        var area: PixelRect
        var others: [PixelRect]
        var edges: [PixelRect] = []
    }

    private struct BadgeContent: Hashable {
        var warning: WindowWarning
        var isFull: Bool
    }

    private struct NoteContent: Hashable {
        var note: NoteEntry
        var mayBeSent: Bool
        var recipient: String?
        var setting: Setting
    }

    private struct TableContent: Hashable {
        var lines: [String]
        var setting: Setting
        var others: [PixelRect]
    }

    private var drawnCentral: (what: Central, setting: Setting, room: PixelSize, layer: Layer)?
    private var drawnStatistics = LayerCache<TableContent>()
    private var drawnPeople = LayerCache<TableContent>()
    private var drawnCaptions = LayerCache<Placed<[WindowCaption]>>()
    private var drawnNotice = LayerCache<Placed<WindowNotice>>()
    private var drawnBadge = LayerCache<Placed<BadgeContent>>()
    private var drawnName = LayerCache<Placed<String>>()
    private var drawnNote = LayerCache<NoteContent>()
    private var drawnHint = LayerCache<Placed<String>>()
    private var rows: [PickerPanel.Row] = []
    /// Of the note's line, in the window's pixels; nil while it isn't shown.
    private(set) var noteCursor: PixelRect?
    /// In the window's pixels; nil while it isn't shown.
    private(set) var transcriptRect: PixelRect?

    /// Whether the middle of the window shows text.
    var hasWords: Bool {
        message != nil || held != nil || picker != nil || codeEntry != nil || ask?.code != nil
    }

    /// Ordered from back to front.
    func layers(_ setting: Setting) -> [Layer] {
        guard setting.canvas.area > 0 else { return [] }
        // What the line for a note and the transcript leave to panels at the edges.
        var area = PixelRect(setting.canvas)
        let note = noteLayer(setting)
        if let note { area.height = max(0, note.y) }
        let transcript = transcriptLayer(setting, in: area)
        if let transcript { area.width = transcript.x }
        let central = centralLayer(setting, beside: transcript?.rect)
        let statistics = statisticsLayer(setting, avoiding: [central?.rect].compactMap(\.self))
        let people = peopleLayer(
            setting, in: area, avoiding: [central, statistics].compactMap { $0?.rect })
        let middle = [statistics, people, central].compactMap { $0?.rect }
        let captions = captionLayer(setting, in: area, avoiding: middle)
        let notice = noticeLayer(setting, in: area, avoiding: middle, captions: captions?.rect)
        let name = nameLayer(setting, in: area, avoiding: middle + [captions, notice].compactMap { $0?.rect })
        let hint = hintLayer(
            setting, in: area, avoiding: middle + [captions, notice, name].compactMap { $0?.rect })
        let others = [statistics, people, name, captions, transcript, central, notice, note, hint].compactMap(\.self)
        let badge = badgeLayer(
            setting, in: area, avoiding: others.map(\.rect), edges: [captions, notice, hint].compactMap { $0?.rect })
        return others + [badge].compactMap(\.self)
    }

    /// The index of the list entry at a position in the window, in pixels.
    func entry(x: Int, y: Int) -> Int? {
        guard picker != nil, codeEntry == nil, keys == nil else { return nil }
        return rows.first { $0.rect.contains(PixelRect(x: x, y: y, width: 1, height: 1)) }?.index
    }

    private func centralLayer(_ setting: Setting, beside transcript: PixelRect?) -> Layer? {
        picker?.scroll(toFit: PickerPanel.capacity(canvas: setting.canvas, scale: setting.scale))
        guard let wanted = central else {
            drawnCentral = nil
            rows = []
            return nil
        }
        var setting = setting
        // Over a transcript that covers all of the window, a message needs a panel's background, too.
        if showsTranscript { setting.isOverPicture = true }
        var room = setting.canvas
        if let transcript, transcript.x > 0 { room.width = transcript.x }
        if let drawn = drawnCentral, drawn.what == wanted, drawn.setting == setting, drawn.room == room {
            return drawn.layer
        }
        let layer: Layer
        switch wanted {
        case .keys(let keys):
            layer = KeysPanel.layer(keys, canvas: setting.canvas, scale: setting.scale)
            rows = []
        case .code(let code):
            layer = WindowCodePanel.layer(code, canvas: room, scale: setting.scale)
            rows = []
        case .message(let message):
            layer = MessagePanel.layer(
                message, canvas: room, scale: message.code == nil ? setting.centralScale : setting.codeScale,
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
        drawnCentral = (wanted, setting, room, layer)
        return layer
    }

    private var central: Central? {
        if let keys { return .keys(keys) }
        if let codeEntry { return .codeEntry(codeEntry) }
        // Digits to compare come first.
        if showsPeople, let code, ask?.code == nil { return .code(code) }
        guard let picker else { return (askMessage ?? message ?? held).map { .message($0) } }
        guard picker.entries.isEmpty else { return .picker(picker) }
        return .message(
            message
                ?? WindowMessage(
                    headline: "Looking for hosts…",
                    detail: "Run `beamroom share` on the machine that you want to watch."))
    }

    private var askMessage: WindowMessage? {
        guard let ask, let code = ask.code else { return nil }
        return WindowMessage(headline: VisibleText.cleaned(ask.text), detail: ask.detail, code: code)
    }

    private func statisticsLayer(_ setting: Setting, avoiding others: [PixelRect]) -> Layer? {
        let isShown = showsStatistics && !statistics.isEmpty
        let content = TableContent(lines: statistics, setting: setting, others: others)
        return drawnStatistics.layer(isShown ? content : nil) {
            TablePanel.layer(
                $0.lines, in: .left, canvas: setting.canvas, scale: setting.scale, avoiding: others)
        }
    }

    /// Without a picture there is nothing that the people could be in the way of.
    private func peopleLayer(_ setting: Setting, in area: PixelRect, avoiding others: [PixelRect]) -> Layer? {
        let isShown = (showsPeople || !setting.isOverPicture) && !people.isEmpty && codeEntry == nil && !area.isEmpty
        let content = TableContent(lines: people, setting: setting, others: others + [area])
        return drawnPeople.layer(isShown ? content : nil) {
            TablePanel.layer(
                $0.lines, in: .right, canvas: area.size, scale: setting.scale, avoiding: others)
        }
    }

    private func captionLayer(_ setting: Setting, in area: PixelRect, avoiding others: [PixelRect]) -> Layer? {
        let area = setting.captionArea ?? area
        let isShown = showsCaptions && !captions.isEmpty && (setting.isOverPicture || isRoom) && !area.isEmpty
        return drawnCaptions.layer(
            isShown ? Placed(content: captions, setting: setting, area: area, others: others) : nil
        ) {
            CaptionPanel.layer($0.content, in: area, scale: setting.captionScale, avoiding: others)
        }
    }

    private func noticeLayer(
        _ setting: Setting, in area: PixelRect, avoiding others: [PixelRect], captions: PixelRect?
    ) -> Layer? {
        // While the transcript covers all of the window, it is shown over that.
        let area = area.isEmpty ? PixelRect(setting.canvas) : area
        let asked = ask.flatMap { $0.code == nil && codeEntry == nil ? WindowNotice(text: $0.text, time: nil) : nil }
        let shown = asked ?? notice.flatMap { $0.isShown ? $0.notice : nil }
        let key = shown.map { notice in
            Placed(
                content: notice, setting: setting, area: area,
                others: others + [captions].compactMap(\.self), edges: [captions].compactMap(\.self))
        }
        return drawnNotice.layer(key) {
            NoticePanel.layer(
                $0.content, in: $0.area, scale: setting.scale, avoiding: $0.others, captions: captions)
        }
    }

    private func hintLayer(_ setting: Setting, in area: PixelRect, avoiding others: [PixelRect]) -> Layer? {
        let isShown = hint?.isShown == true && keys == nil && !showsNote && !area.isEmpty
        let text = hint?.notice.text ?? ""
        return drawnHint.layer(isShown ? Placed(content: text, setting: setting, area: area, others: others) : nil) {
            HintPanel.layer($0.content, in: $0.area, scale: setting.scale, avoiding: $0.others)
        }
    }

    /// In a lower corner, or where that is taken in an upper one.
    private func nameLayer(_ setting: Setting, in area: PixelRect, avoiding others: [PixelRect]) -> Layer? {
        let name = setting.isOverPicture && !area.isEmpty ? pictureName : nil
        return drawnName.layer(
            name.map { Placed(content: $0, setting: setting, area: area, others: others) }
        ) {
            NamePanel.layer($0.content, in: $0.area, scale: setting.scale, avoiding: $0.others)
        }
    }

    private func badgeLayer(
        _ setting: Setting, in area: PixelRect, avoiding others: [PixelRect], edges: [PixelRect]
    ) -> Layer? {
        guard let badge, setting.isOverPicture else { return drawnBadge.layer(nil) { _ in nil } }
        let content = BadgeContent(warning: badge.warning, isFull: badge.isFull)
        let wanted = Placed(content: content, setting: setting, area: area, others: others, edges: edges)
        let fallback = others.filter { $0 != transcriptRect }
        return drawnBadge.layer(wanted) { _ in
            WarningPanel.layer(
                badge.warning, isFull: badge.isFull, area: area, scale: setting.scale, avoiding: others, edges: edges)
                // A warning isn't hidden by the transcript.
                ?? WarningPanel.layer(
                    badge.warning, isFull: false, area: PixelRect(setting.canvas), scale: setting.scale,
                    avoiding: fallback, edges: [])
        }
    }

    private func transcriptLayer(_ setting: Setting, in area: PixelRect) -> Layer? {
        transcriptRect = nil
        guard showsTranscript, !area.isEmpty else { return nil }
        let layer = transcript.layer(in: area, scale: setting.scale)
        transcriptRect = layer.rect
        return layer
    }

    private func noteLayer(_ setting: Setting) -> Layer? {
        guard showsNote else {
            noteCursor = nil
            return drawnNote.layer(nil) { _ in nil }
        }
        return drawnNote.layer(
            NoteContent(note: note, mayBeSent: allowsNotes, recipient: noteRecipient, setting: setting)
        ) {
            let (layer, cursor) = NotePanel.layer(
                $0.note, mayBeSent: $0.mayBeSent, recipient: $0.recipient, canvas: setting.canvas, scale: setting.scale)
            noteCursor = cursor
            return layer
        }
    }
}
