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
    /// The list of keys, over all else but the menu; nil: it isn't shown.
    var keys: [WindowCommand.Row]?
    /// Over all else; nil: it isn't open.
    var menu: WindowMenu?
    /// The number of the button that Enter presses, of a message or a code entry.
    var selectedButton = 0
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

    private enum Central: Hashable {
        case keys([WindowCommand.Row])
        case code(WindowCode)
        case message(WindowMessage, selected: Int)
        case picker(Picker)
        case codeEntry(CodeEntry, selected: Int)
    }

    private struct MenuContent: Hashable {
        var menu: WindowMenu
        var setting: Setting
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
    private var drawnMenu: (content: MenuContent, drawn: MenuPanel.Drawn)?
    private var rows: [PickerPanel.Row] = []
    private(set) var field: PixelRect?
    private(set) var buttonRects: [PixelRect] = []
    /// Of the note's line, or of that for an address, in the window's pixels; nil while neither is shown.
    var textCursor: PixelRect? { noteCursor ?? fieldCursor }
    private var noteCursor: PixelRect?
    private var fieldCursor: PixelRect?
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
        return others + [badge, menuLayer(setting)].compactMap(\.self)
    }

    // MARK: What is under the pointer

    /// The index of the list entry at a position in the window, in pixels.
    func entry(x: Int, y: Int) -> Int? {
        guard picker != nil, codeEntry == nil, keys == nil else { return nil }
        return rows.first { $0.rect.has(x, y) }?.index
    }

    /// Whether the line for an address is there.
    func isField(x: Int, y: Int) -> Bool {
        guard picker != nil, codeEntry == nil, keys == nil else { return false }
        return field?.has(x, y) ?? false
    }

    /// The buttons that are shown.
    var buttons: [WindowButton] {
        guard keys == nil else { return [] }
        return switch central {
        case .message(let message, _): message.buttons
        case .codeEntry(let entry, _): entry.prompt.buttons
        default: []
        }
    }

    /// The number of the button there.
    func button(x: Int, y: Int) -> Int? {
        guard buttons.count == buttonRects.count else { return nil }
        return buttonRects.firstIndex { $0.has(x, y) }
    }

    /// The menu's entry there.
    func menuCommand(x: Int, y: Int) -> WindowCommand? { drawnMenu?.drawn.rows.first { $0.rect.has(x, y) }?.command }

    /// Whether the menu is there.
    func isMenu(x: Int, y: Int) -> Bool { drawnMenu?.drawn.layer.rect.has(x, y) ?? false }

    /// Scrolls the menu, if not all of it has room.
    func scrollMenu(by rows: Int) { if let count = drawnMenu?.drawn.count { menu?.scroll(by: rows, count: count) } }

    private func menuLayer(_ setting: Setting) -> Layer? {
        guard var menu else {
            drawnMenu = nil
            return nil
        }
        if let drawnMenu, drawnMenu.content == MenuContent(menu: menu, setting: setting) {
            return drawnMenu.drawn.layer
        }
        let drawn = MenuPanel.draw(&menu, canvas: setting.canvas, scale: setting.scale)
        self.menu = menu
        drawnMenu = (MenuContent(menu: menu, setting: setting), drawn)
        return drawn.layer
    }

    private func centralLayer(_ setting: Setting, beside transcript: PixelRect?) -> Layer? {
        if let picker {
            self.picker?.scroll(
                toFit: PickerPanel.capacity(of: picker, canvas: setting.canvas, scale: setting.scale))
        }
        guard let wanted = central else {
            drawnCentral = nil
            forgetParts()
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
        forgetParts()
        let layer = draw(wanted, setting, room)
        drawnCentral = (wanted, setting, room, layer)
        return layer
    }

    /// What can be clicked in the middle of the window.
    private func forgetParts() { (rows, field, fieldCursor, buttonRects) = ([], nil, nil, []) }

    private func draw(_ wanted: Central, _ setting: Setting, _ room: PixelSize) -> Layer {
        switch wanted {
        case .keys(let keys): return KeysPanel.layer(keys, canvas: setting.canvas, scale: setting.scale)
        case .code(let code): return WindowCodePanel.layer(code, canvas: room, scale: setting.scale)
        case .message(let message, let selected):
            let drawn = MessagePanel.layer(
                message, selected: selected, canvas: room,
                scale: message.code == nil ? setting.centralScale : setting.codeScale,
                isOverPicture: setting.isOverPicture)
            buttonRects = drawn.parts
            return drawn.layer
        case .codeEntry(let entry, let selected):
            let drawn = CodeEntryPanel.layer(
                entry, selected: selected, canvas: setting.canvas, scale: setting.codeScale,
                isOverPicture: setting.isOverPicture)
            buttonRects = drawn.parts
            return drawn.layer
        case .picker(let picker):
            let drawn = PickerPanel.draw(
                picker, canvas: setting.canvas, scale: setting.scale, isOverPicture: setting.isOverPicture)
            (rows, field, fieldCursor) = (drawn.rows, drawn.field, drawn.cursor)
            return drawn.layer
        }
    }

    private var central: Central? {
        if let keys { return .keys(keys) }
        if let codeEntry { return .codeEntry(codeEntry, selected: selectedButton) }
        // Digits to compare come first.
        if showsPeople, let code, ask?.code == nil { return .code(code) }
        guard var picker else {
            return (askMessage ?? message ?? held).map { .message($0, selected: selectedButton) }
        }
        let searching =
            message
            ?? WindowMessage(
                headline: "Looking for hosts…",
                detail: "Run `beamroom share` on the machine that you want to watch.")
        if picker.entries.isEmpty, picker.field == nil { return .message(searching, selected: selectedButton) }
        if picker.entries.allSatisfy(\.isAway) { (picker.title, picker.words) = (searching.headline, searching.detail) }
        return .picker(picker)
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

    /// Without a picture there is nothing that the people could be in the way of. Beside the list of keys, or digits to
    /// compare, they would be too small to be read.
    private func peopleLayer(_ setting: Setting, in area: PixelRect, avoiding others: [PixelRect]) -> Layer? {
        let isShown =
            (showsPeople || !setting.isOverPicture) && !people.isEmpty && codeEntry == nil && keys == nil
            && ask?.code == nil && !area.isEmpty
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

extension PixelRect {
    fileprivate func has(_ x: Int, _ y: Int) -> Bool { contains(PixelRect(x: x, y: y, width: 1, height: 1)) }
}
