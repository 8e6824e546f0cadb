// Pixels of X displays, and how far they are from what they should be.

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#include "probe.h"

struct shared_image *make_image(Display *display, int columns, int rows) {
    struct shared_image *shared = calloc(1, sizeof *shared);
    if (!shared) fail("out of memory", "an image");
    int screen = DefaultScreen(display);
    shared->display = display;
    shared->image = XShmCreateImage(display, DefaultVisual(display, screen), (unsigned)DefaultDepth(display, screen),
                                    ZPixmap, NULL, &shared->segment, (unsigned)columns, (unsigned)rows);
    if (!shared->image || shared->image->bits_per_pixel != 32)
        fail("no shared images of 32 bits", DisplayString(display));
    size_t bytes = (size_t)shared->image->bytes_per_line * (size_t)rows;
    shared->segment.shmid = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    shared->segment.shmaddr = shared->image->data = shmat(shared->segment.shmid, NULL, 0);
    if (shared->segment.shmid < 0 || shared->segment.shmaddr == (void *)-1) fail("no shared memory", "an image");
    XShmAttach(display, &shared->segment);
    XSync(display, False);
    shmctl(shared->segment.shmid, IPC_RMID, NULL);
    return shared;
}

void free_image(struct shared_image *shared) {
    XShmDetach(shared->display, &shared->segment);
    XSync(shared->display, False);
    char *memory = shared->segment.shmaddr;
    shared->image->data = NULL;
    XDestroyImage(shared->image);
    shmdt(memory);
    free(shared);
}

void grab(struct shared_image *shared, int x, int y) {
    XShmGetImage(shared->display, DefaultRootWindow(shared->display), shared->image, x, y, AllPlanes);
}

Pixmap upload(Display *display, Window window, GC context, const uint32_t *pixels, int columns, int rows) {
    enum { PIECE = 256 };
    Pixmap pixmap = XCreatePixmap(display, window, (unsigned)columns, (unsigned)rows,
                                  (unsigned)DefaultDepth(display, DefaultScreen(display)));
    struct shared_image *piece = make_image(display, columns, PIECE);
    for (int y = 0; y < rows; y += PIECE) {
        int count = rows - y < PIECE ? rows - y : PIECE;
        for (int i = 0; i < count; i++)
            memcpy(image_row(piece, i), pixels + (size_t)(y + i) * (size_t)columns, (size_t)columns * 4);
        XShmPutImage(display, pixmap, context, piece->image, 0, 0, 0, y, (unsigned)columns, (unsigned)count, False);
        XSync(display, False);
    }
    free_image(piece);
    return pixmap;
}

static double decibels(double squares, double count) {
    double mean = squares / count;
    return mean < 1e-9 ? SAME_DB : 10 * log10(255 * 255 / mean);
}

static int channel(uint32_t pixel, int shift) { return (int)(pixel >> shift & 255); }

double psnr_rgb(struct shared_image *screen, uint32_t number, int step) {
    uint64_t squares = 0, count = 0;
    for (int y = 0; y < height; y += step) {
        const uint32_t *wanted = picture_row(number, y), *seen = image_row(screen, y);
        for (int x = 0; x < width; x++) {
            if (in_strip(x, y)) continue;
            for (int shift = 0; shift <= 16; shift += 8) {
                int difference = channel(wanted[x], shift) - channel(seen[x], shift);
                squares += (uint64_t)(difference * difference);
            }
            count += 3;
        }
    }
    return decibels((double)squares, (double)count);
}

/// BT.601's luma of the difference.
double psnr_luma(struct shared_image *screen, uint32_t number, int step, double *worst) {
    enum { TILES = 8 };
    double squares[TILES * TILES] = {0}, all_squares = 0;
    uint64_t counts[TILES * TILES] = {0}, all_count = 0;
    for (int y = 0; y < height; y += step) {
        const uint32_t *wanted = picture_row(number, y), *seen = image_row(screen, y);
        for (int tile = 0; tile < TILES; tile++) {
            int end = width * (tile + 1) / TILES, place = y * TILES / height * TILES + tile;
            int64_t sum = 0;
            for (int x = width * tile / TILES; x < end; x++) {
                if (in_strip(x, y)) continue;
                // In thousandths.
                int64_t difference = 299 * (channel(wanted[x], 16) - channel(seen[x], 16)) +
                                     587 * (channel(wanted[x], 8) - channel(seen[x], 8)) +
                                     114 * (channel(wanted[x], 0) - channel(seen[x], 0));
                sum += difference * difference;
                counts[place]++;
            }
            squares[place] += (double)sum * 1e-6;
        }
    }
    double least = SAME_DB;
    for (int i = 0; i < TILES * TILES; i++) {
        all_squares += squares[i];
        all_count += counts[i];
        if (counts[i]) least = fmin(least, decibels(squares[i], (double)counts[i]));
    }
    if (worst) *worst = least;
    return decibels(all_squares, (double)all_count);
}
