import BeamMedia
import CSDL2

/// Zooming into the picture: of several sources, into the one that is shown alone.
extension VideoWindow {
    var leftButtonMask: UInt32 { 1 << (UInt32(SDL_BUTTON_LEFT) - 1) }

    /// The picture's rectangle in the window.
    func viewport(of picture: PixelSize, in canvas: PixelSize) -> PixelRect {
        zoom?.viewport(of: picture, in: canvas) ?? picture.viewport(in: canvas)
    }

    /// Whether there is one picture that can be zoomed.
    var mayZoom: Bool {
        picture != nil && !grid.isShown && panels.picker == nil && panels.codeEntry == nil && panels.message == nil
    }

    private func set(_ new: Zoom?) {
        guard new != zoom else { return }
        let wasZoomed = zoom != nil
        zoom = new
        isStale = true
        // A zoomed picture is worth its full size.
        if wasZoomed != (new != nil) { layoutChanged() }
        if let new {
            let percent = Int((new.times * 100).rounded())
            tell(new.isActual ? "Each pixel as it is · 0 shows all" : "\(percent) % · 0 shows all")
        } else {
            tell("All of the picture")
        }
    }

    private func zoom(in larger: Bool, at point: (x: Int, y: Int)) {
        guard mayZoom, let picture else {
            if grid.isShown { tell("Show one alone to zoom it") }
            return
        }
        set(Zoom.next(zoom, larger: larger, at: point, picture.size, in: window.pixelSize))
    }

    /// At the window's middle.
    func zoom(in larger: Bool) {
        zoom(in: larger, at: (window.pixelSize.width / 2, window.pixelSize.height / 2))
    }

    func showWholePicture() { if mayZoom { set(nil) } }

    func toggleActualPixels() {
        guard mayZoom, let picture else {
            if grid.isShown { tell("Show one alone to zoom it") }
            return
        }
        set(zoom?.isActual == true ? nil : .actualPixels(of: picture.size))
    }

    /// Ctrl and the wheel: at the pointer.
    func zoom(byWheel wheel: SDL_MouseWheelEvent) {
        let steps = max(-4, min(4, wheel.y))
        for _ in 0..<abs(steps) { zoom(in: steps > 0, at: pixel(wheel.mouseX, wheel.mouseY)) }
    }

    /// Ctrl and +, - or 0: at the window's middle. Returns whether it was one of them.
    func zoom(by key: SDL_KeyboardEvent) -> Bool {
        let mod = UInt32(key.keysym.mod)
        guard mod & UInt32(KMOD_CTRL.rawValue) != 0, mod & UInt32(KMOD_ALT.rawValue | KMOD_GUI.rawValue) == 0 else {
            return false
        }
        switch SDL_KeyCode(UInt32(bitPattern: key.keysym.sym)) {
        case SDLK_PLUS, SDLK_EQUALS, SDLK_KP_PLUS: zoom(in: true)
        case SDLK_MINUS, SDLK_KP_MINUS: zoom(in: false)
        case SDLK_0, SDLK_KP_0: showWholePicture()
        default:
            // A layout that has no digits without Shift.
            guard key.keysym.scancode == SDL_SCANCODE_0 else { return false }
            showWholePicture()
        }
        return true
    }

    func beginDrag(_ x: Int32, _ y: Int32) { dragged = zoom != nil && mayZoom ? pixel(x, y) : nil }

    func drag(_ x: Int32, _ y: Int32) {
        guard let from = dragged, let picture, mayZoom, var new = zoom else { return dragged = nil }
        let to = pixel(x, y)
        new.move(x: to.x - from.x, y: to.y - from.y, picture.size, in: window.pixelSize)
        dragged = to
        guard new != zoom else { return }
        zoom = new
        isStale = true
    }

    /// A position in the display's units, in pixels.
    func pixel(_ x: Int32, _ y: Int32) -> (x: Int, y: Int) {
        let ratio = window.pixelRatio
        return (Int(Double(x) * ratio), Int(Double(y) * ratio))
    }
}
