// The floor: what is drawn on the host's display is copied to the viewer's, by the least that a program can do with two
// X servers. Nothing that streams a screen by way of them can be sooner.

#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/shm.h>

#include "notices.h"

/// Pixels that both servers have in their memory: the one writes them, the other one reads them.
struct shared_pixels {
    Display *host, *viewer;
    XImage *image;
    XShmSegmentInfo segment, viewers;
};

static struct shared_pixels share_pixels(Display *host, Display *viewer) {
    struct shared_pixels pixels = {.host = host, .viewer = viewer};
    int screen = DefaultScreen(host);
    pixels.image = XShmCreateImage(host, DefaultVisual(host, screen), (unsigned)DefaultDepth(host, screen), ZPixmap,
                                   NULL, &pixels.segment, (unsigned)width, (unsigned)height);
    if (!pixels.image || pixels.image->bits_per_pixel != 32) fail("no shared images of 32 bits", options.host);
    size_t bytes = (size_t)width * (size_t)height * 4;
    pixels.segment.shmid = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    pixels.segment.shmaddr = shmat(pixels.segment.shmid, NULL, 0);
    if (pixels.segment.shmid < 0 || pixels.segment.shmaddr == (void *)-1) fail("no shared memory", "an image");
    pixels.image->data = pixels.segment.shmaddr;
    pixels.viewers = pixels.segment;
    XShmAttach(host, &pixels.segment);
    XShmAttach(viewer, &pixels.viewers);
    XSync(host, False);
    XSync(viewer, False);
    shmctl(pixels.segment.shmid, IPC_RMID, NULL);
    return pixels;
}

static Window open_window(Display *display) {
    int screen = DefaultScreen(display);
    XSetWindowAttributes attributes = {.override_redirect = True};
    Window window = XCreateWindow(display, RootWindow(display, screen), 0, 0, (unsigned)width, (unsigned)height, 0,
                                  DefaultDepth(display, screen), InputOutput, DefaultVisual(display, screen),
                                  CWOverrideRedirect, &attributes);
    XMapRaised(display, window);
    XSync(display, False);
    return window;
}

/// Grabs a part of the host's screen, and puts it.
static void copy(struct shared_pixels *pixels, Window window, GC context, struct part part) {
    if (part.x < 0) part.width += part.x, part.x = 0;
    if (part.y < 0) part.height += part.y, part.y = 0;
    if (part.x + part.width > width) part.width = width - part.x;
    if (part.y + part.height > height) part.height = height - part.y;
    if (part.width <= 0 || part.height <= 0) return;
    XImage *image = pixels->image;
    image->width = part.width;
    image->height = part.height;
    image->bytes_per_line = part.width * 4;
    image->obdata = (char *)&pixels->segment;
    XShmGetImage(pixels->host, DefaultRootWindow(pixels->host), image, part.x, part.y, AllPlanes);
    image->obdata = (char *)&pixels->viewers;
    XShmPutImage(pixels->viewer, window, context, image, 0, 0, part.x, part.y, (unsigned)part.width,
                 (unsigned)part.height, False);
}

/// Gives the viewer's pointer the look of the host's: two colours, as that of the probe has.
static void define_pointer(Display *display, Window window, const struct sprite *sprite, int left, int top) {
    char look[SPRITE * SPRITE / 8] = {0}, mask[SPRITE * SPRITE / 8] = {0};
    int stride = (sprite->width + 7) / 8;
    for (int y = 0; y < sprite->height; y++) {
        for (int x = 0; x < sprite->width; x++) {
            uint32_t pixel = sprite->pixels[y * sprite->width + x];
            if (pixel >> 24) mask[y * stride + x / 8] |= (char)(1 << x % 8);
            if ((pixel & 0xff) > 127) look[y * stride + x / 8] |= (char)(1 << x % 8);
        }
    }
    Pixmap bits = XCreateBitmapFromData(display, window, look, (unsigned)sprite->width, (unsigned)sprite->height);
    Pixmap around = XCreateBitmapFromData(display, window, mask, (unsigned)sprite->width, (unsigned)sprite->height);
    XColor white = {.red = 0xffff, .green = 0xffff, .blue = 0xffff}, black = {0};
    Cursor cursor = XCreatePixmapCursor(display, bits, around, &white, &black, (unsigned)left, (unsigned)top);
    XDefineCursor(display, window, cursor);
    XFreeCursor(display, cursor);
    XFreePixmap(display, bits);
    XFreePixmap(display, around);
}

void mirror(void) {
    prctl(PR_SET_TIMERSLACK, 1);
    Display *host = XOpenDisplay(options.host), *viewer = XOpenDisplay(options.viewer);
    if (!host) fail("can't open the display", options.host);
    if (!viewer) fail("can't open the display", options.viewer);
    width = DisplayWidth(host, 0);
    height = DisplayHeight(host, 0);
    struct notices notices;
    open_notices(&notices, options.host, true);
    struct shared_pixels pixels = share_pixels(host, viewer);
    Window window = open_window(viewer);
    GC context = XCreateGC(viewer, window, 0, NULL);
    copy(&pixels, window, context, (struct part){0, 0, width, height});
    struct sprite sprite = {0}, before = {0};
    while (true) {
        for (int i = 0; i < notices.drawn_count; i++) {
            copy(&pixels, window, context, notices.drawn[i]);
            // The next part is grabbed into the same memory.
            if (i + 1 < notices.drawn_count) XSync(viewer, False);
        }
        if (notices.has_moved && read_sprite(&notices, &sprite)) {
            if (memcmp(before.pixels, sprite.pixels, sizeof before.pixels) != 0)
                define_pointer(viewer, window, &sprite, 0, 0);
            XWarpPointer(viewer, None, window, 0, 0, 0, 0, sprite.x, sprite.y);
            before = sprite;
        }
        XSync(viewer, False);
        await_notice(&notices, now() + 3600);
    }
}
