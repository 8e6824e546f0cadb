// The viewer's side: reads the strip two thousand times a second, and samples the picture's quality.

#include <stdlib.h>
#include <sys/prctl.h>

#include "probe.h"

struct record record;
double samples[SAMPLES];
int sample_count;

/// 0 or 1 from three pixels of two rows; -1 for what is neither.
static int read_bit(const uint32_t *first, const uint32_t *second, int x) {
    int sum = 0;
    for (int i = -1; i <= 1; i++) sum += (int)(first[x + i] >> 8 & 255) + (int)(second[x + i] >> 8 & 255);
    return sum / 6 < 96 ? 0 : sum / 6 > 160 ? 1 : -1;
}

int64_t read_code(const uint32_t *first, const uint32_t *second, int left, int x, int bits) {
    int centre = x + CELL / 2 - left;
    if (read_bit(first, second, centre) != 1 || read_bit(first, second, centre + CELL) != 0) return -1;
    uint32_t gray = 0;
    for (int i = 0; i < bits; i++) {
        int bit = read_bit(first, second, centre + (2 + i) * CELL);
        if (bit < 0) return -1;
        gray = gray << 1 | (uint32_t)bit;
    }
    for (uint32_t shift = 16; shift; shift >>= 1) gray ^= gray >> shift;
    return gray;
}

uint32_t frame_of_code(int64_t code) {
    int next = record.frame + 1;
    return (uint32_t)(next - (int)((uint32_t)(next - code) & 0xFFFF));
}

/// A code that is one ahead of the newest published: the painter is about to publish it, or a broken picture was
/// misread (-1).
static int await(_Atomic int *newest, int number) {
    double limit = now() + 0.0015;
    while (*newest < number) {
        if (now() > limit) return -1;
    }
    return number;
}

static void see_marker(int64_t code, double time) {
    if (code < 0) return;
    int newest = record.marker;
    int number =
        ((newest + 1) & 255) == code ? await(&record.marker, newest + 1) : newest - (int)((newest - code) & 255);
    if (number <= record.last_marker_seen) return;
    record.marker_seen[number % MARKERS] = time;
    record.last_marker_seen = number;
}

static void see_frame(int64_t code, double time) {
    if (code < 0) return;
    int newest = record.frame, number = (int)frame_of_code(code);
    if (number == newest + 1) number = await(&record.frame, number);
    if (number <= record.last_frame_seen || number > newest + 1) return;
    record.frame_seen[number % FRAMES] = time;
    record.last_frame_seen = number;
    if (is_measuring) {
        double gap = time - record.last_new;
        record.distinct++;
        if (gap > record.longest_gap) record.longest_gap = gap;
        if (gap > 0.1) record.frozen += gap;
    }
    record.last_new = time;
}

void *watch(void *unused) {
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1);
    Display *display = XOpenDisplay(options.viewer);
    if (!display) fail("can't open the display", options.viewer);
    struct shared_image *strip = make_image(display, STRIP_WIDTH, 2);
    bool moves = options.content != STILL;
    double next = now();
    while (!is_stopping) {
        next += 500e-6;
        if (next < now())
            next = now();
        else
            sleep_until(next);
        grab(strip, STRIP_X, STRIP_Y + STRIP_HEIGHT / 2);
        double time = now();
        const uint32_t *first = image_row(strip, 0), *second = image_row(strip, 1);
        int64_t marker = read_code(first, second, STRIP_X, STRIP_X, MARKER_BITS);
        int64_t frame = moves ? read_code(first, second, STRIP_X, NUMBER_X, NUMBER_BITS) : 0;
        if (is_measuring) {
            record.looks++;
            record.unreadable += marker < 0 || frame < 0;
        }
        see_marker(marker, time);
        if (moves) see_frame(frame, time);
    }
    free_image(strip);
    XCloseDisplay(display);
    return NULL;
}

void *sample_quality(void *unused) {
    (void)unused;
    Display *display = XOpenDisplay(options.viewer);
    if (!display) fail("can't open the display", options.viewer);
    struct shared_image *screen = make_image(display, width, height);
    const int y = STRIP_Y + STRIP_HEIGHT / 2;
    while (!is_stopping && !is_frozen) {
        // About four times a second, in no step with anything.
        sleep_for(0.2 + rand() / (RAND_MAX * 10.));
        if (!is_measuring || sample_count == SAMPLES) continue;
        grab(screen, 0, 0);
        uint32_t number = 0;
        if (options.content != STILL) {
            int64_t code = read_code(image_row(screen, y), image_row(screen, y + 1), 0, NUMBER_X, NUMBER_BITS);
            // What can't be read is broken.
            if (code < 0) {
                samples[sample_count++] = 0;
                continue;
            }
            number = frame_of_code(code);
        }
        samples[sample_count++] = psnr_rgb(screen, number, 3);
    }
    free_image(screen);
    XCloseDisplay(display);
    return NULL;
}
