import BeamMedia
import CSDL2

/// The menu: everything that keys do, for the mouse, and for whoever doesn't know the keys.
extension VideoWindow {
    /// - Parameter origin: the pointer's place; nil: it was opened by a key.
    func openMenu(at origin: WindowMenu.Point?) {
        topObstacle = alwaysOnTopObstacle
        panels.keys = nil
        panels.hint = nil
        panels.menu = WindowMenu(menuEntries, at: origin)
        areLayersStale = true
        pointer.restart(mayHide: mayHidePointer)
    }

    func closeMenu() {
        guard panels.menu != nil else { return }
        panels.menu = nil
        areLayersStale = true
        pointer.restart(mayHide: mayHidePointer)
    }

    /// What can be used, and what is on, may have changed while the menu is open.
    func refreshMenu() { changeMenu { $0.update(menuEntries) } }

    private func changeMenu(_ change: (inout WindowMenu) -> Void) {
        guard var menu = panels.menu else { return }
        change(&menu)
        guard menu != panels.menu else { return }
        panels.menu = menu
        areLayersStale = true
    }

    // MARK: Its entries

    private var menuEntries: [WindowMenu.Entry] {
        let place = place
        var group: Int?
        return WindowCommand.allCases.filter { $0.isInMenu(of: place) }.map { command in
            defer { group = command.group }
            return WindowMenu.Entry(
                command: command, words: command.menuWords(in: place), key: command.menuKey,
                isEnabled: mayPerform(command), isOn: isOn(command),
                beginsGroup: group.map { $0 != command.group } ?? false)
        }
    }

    private func mayPerform(_ command: WindowCommand) -> Bool {
        switch command {
        case .choose: panels.picker?.entries.isEmpty == false
        case .pasteCode: panels.codeEntry?.takesDigits ?? false
        case .keepAbove: topObstacle == nil
        case .screenshot: screenshotObstacle == nil
        case .note: panels.allowsNotes
        case .pause: commandStates.isSharing
        case .showAlone: grid.isShown
        case .showAll: grid.sources.count > 1 && !grid.isShown
        case .moveFocus: grid.sources.count > 1
        case .mute, .louder, .softer: commandStates.isMuted != nil
        case .zoomIn, .actualPixels: mayZoom
        case .zoomOut, .fit: mayZoom && zoom != nil
        default: true
        }
    }

    /// Nil: it switches nothing.
    private func isOn(_ command: WindowCommand) -> Bool? {
        switch command {
        case .fullscreen: isFullscreen
        case .keepAbove: isAlwaysOnTop
        case .captions: showsCaptions
        case .transcript: showsTranscript
        case .share: commandStates.isSharing
        case .pause: commandStates.isPaused
        case .people: panels.showsPeople
        case .mute: commandStates.isMuted ?? false
        case .actualPixels: zoom?.isActual ?? false
        case .statistics: showsStatistics
        default: nil
        }
    }

    // MARK: Keys and mouse

    static func opensMenu(_ key: SDL_KeyboardEvent) -> Bool {
        guard key.repeat == 0 else { return false }
        let mod = UInt32(key.keysym.mod)
        switch SDL_KeyCode(UInt32(bitPattern: key.keysym.sym)) {
        case SDLK_APPLICATION, SDLK_MENU: return true
        case SDLK_F10:
            return mod & UInt32(KMOD_SHIFT.rawValue) != 0
                && mod & UInt32(KMOD_CTRL.rawValue | KMOD_ALT.rawValue | KMOD_GUI.rawValue) == 0
        default: return false
        }
    }

    /// Returns whether the key belonged to the menu. The key of a command closes it, and does what it does without a menu.
    func pressInMenu(_ key: SDL_KeyboardEvent, _ events: inout [WindowEvent]) -> Bool {
        guard let menu = panels.menu else { return false }
        let code = SDL_KeyCode(UInt32(bitPattern: key.keysym.sym))
        switch code {
        case SDLK_UP: changeMenu { $0.move(by: -1) }
        case SDLK_DOWN: changeMenu { $0.move(by: 1) }
        case SDLK_TAB:
            let isShifted = UInt32(key.keysym.mod) & UInt32(KMOD_SHIFT.rawValue) != 0
            changeMenu { $0.move(by: isShifted ? -1 : 1) }
        case SDLK_HOME, SDLK_PAGEUP: changeMenu { $0.moveToEnd(false) }
        case SDLK_END, SDLK_PAGEDOWN: changeMenu { $0.moveToEnd(true) }
        case SDLK_LEFT, SDLK_RIGHT: break
        case SDLK_RETURN, SDLK_KP_ENTER, SDLK_SPACE:
            guard key.repeat == 0 else { break }
            if let entry = menu.selectedEntry { choose(entry.command, &events) } else { closeMenu() }
        case SDLK_ESCAPE: if key.repeat == 0 { closeMenu() }
        default:
            if Self.opensMenu(key) {
                closeMenu()
                break
            }
            guard !Self.modifiers.contains(code) else { break }
            closeMenu()
            return false
        }
        // What the key types isn't for a text below the menu.
        ignoresText = true
        return true
    }

    private func choose(_ command: WindowCommand, _ events: inout [WindowEvent]) {
        closeMenu()
        perform(command, &events)
    }

    func pointInMenu(_ motion: SDL_MouseMotionEvent) {
        let (x, y) = pixel(motion.x, motion.y)
        let command = panels.menuCommand(x: x, y: y)
        changeMenu { $0.select(command) }
    }

    /// A click beside the menu closes it and does nothing else, but for a right click, which opens it there.
    func clickInMenu(_ button: SDL_MouseButtonEvent, _ events: inout [WindowEvent]) {
        let (x, y) = pixel(button.x, button.y)
        if panels.isMenu(x: x, y: y) {
            guard let command = panels.menuCommand(x: x, y: y), mayPerform(command) else { return }
            choose(command, &events)
        } else if button.button == UInt8(SDL_BUTTON_RIGHT) {
            openMenu(at: WindowMenu.Point(x: x, y: y))
        } else {
            closeMenu()
        }
    }

    func scrollMenu(_ wheel: SDL_MouseWheelEvent) {
        let old = panels.menu
        panels.scrollMenu(by: Int(-max(-4, min(4, wheel.y))) * 2)
        if panels.menu != old { areLayersStale = true }
    }

    /// What keys do in lists, grids and texts, when the menu is asked for it.
    func performInMenu(_ command: WindowCommand, _ events: inout [WindowEvent]) {
        switch command {
        case .choose: if let picker = panels.picker, !picker.entries.isEmpty { events.append(.chosen(picker.selected)) }
        case .typeAddress: focusField(true)
        case .pasteCode: changeCode(&events) { CodeKeys.paste(into: &$0) }
        case .takeOffer: events.append(.offerTaken)
        case .chooseAnother: events.append(.listWanted)
        case .showAlone: showFocusedAlone()
        case .showAll: showAll()
        case .moveFocus: focusNext()
        case .louder: events.append(.volumeChanged(steps: 1))
        case .softer: events.append(.volumeChanged(steps: -1))
        case .zoomIn: zoom(in: true)
        case .zoomOut: zoom(in: false)
        default: break
        }
    }
}
