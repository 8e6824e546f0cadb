// For LD_PRELOAD in KWin 5.27 with its virtual backend: that draws its output into memory, but tells the screencast of no
// change, and doesn't leave the picture where the screencast looks for it, which is the topmost framebuffer. This does both
// after each frame, as the backends with a device do. As theirs, the output has the pointer in a plane of its own: without one
// KWin draws it into the picture, whatever a screencast asks for.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>

static void *output;
// The framebuffer that was drawn into last.
static void *drawn;

static void *original(const char *name) { return dlsym(RTLD_NEXT, name); }

// KWin::Output::Output(QObject *)
void _ZN4KWin6OutputC2EP7QObject(void *this, void *parent) {
    void (*real)(void *, void *) = (void (*)(void *, void *))original("_ZN4KWin6OutputC2EP7QObject");
    // KWin makes one for the time without outputs first; the last one is the virtual output.
    output = this;
    real(this, parent);
}

// KWin::Output::setCursor(CursorSource *), KWin::Output::moveCursor(const QPoint &): whether there is such a plane.
bool _ZN4KWin6Output9setCursorEPNS_12CursorSourceE(void *this, void *source) { return true; }
bool _ZN4KWin6Output10moveCursorERK6QPoint(void *this, const void *place) { return true; }

// KWin::GLFramebuffer::popFramebuffer()
void *_ZN4KWin13GLFramebuffer14popFramebufferEv(void) {
    static void *(*real)(void);
    if (!real) real = (void *(*)(void))original("_ZN4KWin13GLFramebuffer14popFramebufferEv");
    return drawn = real();
}

// KWin::SoftwareVsyncMonitor::arm(): what the virtual backend does to present a frame.
void _ZN4KWin20SoftwareVsyncMonitor3armEv(void *this) {
    static void (*real)(void *), (*push)(void *), (*changed)(void *, void *), (*region)(void *, int, int, int, int, int);
    static void *shown;
    if (!real) {
        real = (void (*)(void *))original("_ZN4KWin20SoftwareVsyncMonitor3armEv");
        push = (void (*)(void *))original("_ZN4KWin13GLFramebuffer15pushFramebufferEPS0_");
        changed = (void (*)(void *, void *))original("_ZN4KWin6Output12outputChangeERK7QRegion");
        region = (void (*)(void *, int, int, int, int, int))original("_ZN7QRegionC1EiiiiNS_10RegionTypeE");
    }
    real(this);
    if (!drawn || !output || !push || !changed || !region) return;
    if (!shown) push(shown = drawn);
    // All of it. Never destroyed, as it is the same each time: a QRegion is a pointer.
    static void *all;
    if (!all) region(&all, 0, 0, 16384, 16384, 0);
    changed(output, &all);
}
