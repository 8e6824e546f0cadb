// When flashes are seen in the middle of a display.

#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#include "soundprobe.h"

enum { WIDTH = 16, HEIGHT = 2 };

/// The mean of the green of a few pixels, 0 ... 255.
static int brightness(const XImage *image) {
    int sum = 0;
    for (int y = 0; y < HEIGHT; y++) {
        const uint32_t *row = (const uint32_t *)(image->data + (size_t)y * (size_t)image->bytes_per_line);
        for (int x = 0; x < WIDTH; x++) sum += (int)(row[x] >> 8 & 255);
    }
    return sum / (WIDTH * HEIGHT);
}

void watch_flashes(void) {
    Display *display = XOpenDisplay(options.display);
    if (!display) fail("can't open the display", options.display ? options.display : "--display");
    int screen = DefaultScreen(display);
    XShmSegmentInfo segment;
    XImage *image = XShmCreateImage(display, DefaultVisual(display, screen), (unsigned)DefaultDepth(display, screen),
                                    ZPixmap, NULL, &segment, WIDTH, HEIGHT);
    if (!image || image->bits_per_pixel != 32) fail("no shared images of 32 bits", options.display);
    segment.shmid = shmget(IPC_PRIVATE, (size_t)image->bytes_per_line * HEIGHT, IPC_CREAT | 0600);
    segment.shmaddr = image->data = shmat(segment.shmid, NULL, 0);
    segment.readOnly = False;
    if (segment.shmid < 0 || segment.shmaddr == (void *)-1) fail("no shared memory", "an image");
    XShmAttach(display, &segment);
    XSync(display, False);
    shmctl(segment.shmid, IPC_RMID, NULL);
    int left = (DisplayWidth(display, screen) - WIDTH) / 2, top = (DisplayHeight(display, screen) - HEIGHT) / 2;
    printf("ready %.6f\n", now());
    fflush(stdout);
    bool was_bright = true;
    double next = now();
    while (!is_over()) {
        // Two thousand times a second.
        next += 500e-6;
        if (next < now())
            next = now();
        else
            sleep_until(next);
        XShmGetImage(display, RootWindow(display, screen), image, left, top, AllPlanes);
        double time = now();
        int found = brightness(image);
        if (!was_bright && found >= 160) {
            printf("flash %.6f\n", time);
            fflush(stdout);
        }
        // Between both it stays what it was, so that a flash that is drawn in steps counts once.
        was_bright = found >= 160 || (was_bright && found >= 96);
    }
    XCloseDisplay(display);
}
