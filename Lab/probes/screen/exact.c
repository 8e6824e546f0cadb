// Paints a scene's changes, and finds when each is seen at the viewer: nearly, and in every pixel.

#include "exact.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "notices.h"

enum {
    CHANGES = 1 << 15,
    MOST_KEPT = 64,
    /// Of a tall part only each so many rows are compared where a rough comparison is enough.
    ROUGH_STEP = 5,
};

/// A change that may still be seen, with the pixels of its places one after the other.
struct kept_change {
    int place_count;
    struct part places[MOST_PLACES];
    size_t capacity;
    uint32_t *before, *after;
    /// The squared difference of both.
    uint64_t contrast;
};

static const struct scene *scene;
static uint32_t *model;
/// Guards all below: the painter writes a change before it is painted, the watcher reads it.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept_change kept[MOST_KEPT];
static int newest = -1;
static double painted[CHANGES], seen[CHANGES], exact[CHANGES], equal_later[CHANGES];
/// Looks at the viewer while measuring; those in which something that was exact no longer was, and showed what had been
/// there before, or neither.
static int looks, reverted, wrong;

// --- Comparing

static size_t area_of(struct part part) { return (size_t)part.width * (size_t)part.height; }

void copy_pixels(uint32_t *to, int to_stride, const uint32_t *from, int from_stride, int columns, int rows) {
    for (int y = 0; y < rows; y++)
        memcpy(to + (size_t)y * (size_t)to_stride, from + (size_t)y * (size_t)from_stride, (size_t)columns * 4);
}

static void copy_places(const struct kept_change *change, uint32_t *to) {
    for (int i = 0; i < change->place_count; i++) {
        struct part place = change->places[i];
        copy_pixels(to, place.width, pixel_at(model, place.x, place.y), width, place.width, place.height);
        to += area_of(place);
    }
}

/// The rows of a place in the watched picture, which begins with the scene's area.
static const uint32_t *watched_row(struct shared_image *image, struct part place, int y) {
    return image_row(image, place.y - scene->area.y + y) + (place.x - scene->area.x);
}

static bool is_equal_row(const uint32_t *a, const uint32_t *b, int count) {
    uint32_t difference = 0;
    for (int x = 0; x < count; x++) difference |= a[x] ^ b[x];
    // The highest byte of a pixel isn't shown.
    return (difference & 0xffffff) == 0;
}

static bool is_exact(const struct kept_change *change, struct shared_image *image) {
    const uint32_t *wanted = change->after;
    for (int i = 0; i < change->place_count; i++) {
        struct part place = change->places[i];
        for (int y = 0; y < place.height; y++, wanted += place.width) {
            if (!is_equal_row(wanted, watched_row(image, place, y), place.width)) return false;
        }
    }
    return true;
}

static uint64_t row_difference(const uint32_t *a, const uint32_t *b, int count) {
    uint64_t sum = 0;
    for (int x = 0; x < count; x++) {
        for (int shift = 0; shift <= 16; shift += 8) {
            int difference = (int)(a[x] >> shift & 255) - (int)(b[x] >> shift & 255);
            sum += (uint64_t)(difference * difference);
        }
    }
    return sum;
}

/// The squared difference between a change's places and `pixels`, which are its own or, if NULL, the watched ones.
static uint64_t difference(const struct kept_change *change, const uint32_t *wanted, const uint32_t *pixels,
                           struct shared_image *image) {
    uint64_t sum = 0;
    size_t first = 0;
    for (int i = 0; i < change->place_count; i++) {
        struct part place = change->places[i];
        int step = place.height > 64 ? ROUGH_STEP : 1;
        for (int y = 0; y < place.height; y += step) {
            size_t at = first + (size_t)y * (size_t)place.width;
            const uint32_t *row = pixels ? pixels + at : watched_row(image, place, y);
            sum += row_difference(wanted + at, row, place.width);
        }
        first += area_of(place);
    }
    return sum;
}

/// Nearer to `wanted` than half of the way from what was there to what is there: a video's inexact pixels are.
static bool is_near(const struct kept_change *change, const uint32_t *wanted, struct shared_image *image) {
    return difference(change, wanted, NULL, image) < change->contrast / 4;
}

// --- The viewer's side

/// A change that was exact must stay so, as nothing else is painted there.
static void judge_lasting(const struct kept_change *change, struct shared_image *image, bool *is_back,
                          bool *is_neither) {
    if (is_near(change, change->after, image)) return;
    if (is_near(change, change->before, image))
        *is_back = true;
    else
        *is_neither = true;
}

static void look(struct shared_image *image, double time) {
    bool is_back = false, is_neither = false;
    pthread_mutex_lock(&lock);
    for (int number = newest; number >= 0 && number > newest - scene->kept; number--) {
        const struct kept_change *change = &kept[number % scene->kept];
        if (exact[number] > 0) {
            if (scene->replaces) break;
            judge_lasting(change, image, &is_back, &is_neither);
            continue;
        }
        if (is_exact(change, image)) exact[number] = time;
        if (seen[number] == 0 && (exact[number] > 0 || is_near(change, change->after, image))) seen[number] = time;
        // Older ones are covered by it.
        if (scene->replaces && (seen[number] == time || exact[number] == time)) break;
    }
    if (is_measuring) {
        looks++;
        reverted += is_back && !is_neither;
        wrong += is_neither;
    }
    pthread_mutex_unlock(&lock);
}

/// Adds the pointer to a grabbed part of the screen.
static void blend(const struct sprite *sprite, struct shared_image *image) {
    for (int y = 0; y < sprite->height; y++) {
        int row = sprite->y + y - scene->area.y;
        if (row < 0 || row >= scene->area.height) continue;
        for (int x = 0; x < sprite->width; x++) {
            int column = sprite->x + x - scene->area.x;
            if (column < 0 || column >= scene->area.width) continue;
            uint32_t over = sprite->pixels[y * sprite->width + x], alpha = over >> 24, result = 0;
            uint32_t *pixel = image_row(image, row) + column;
            for (int shift = 0; shift <= 16; shift += 8) {
                uint32_t under = (*pixel >> shift & 255) * (255 - alpha) / 255 + (over >> shift & 255);
                result |= (under > 255 ? 255 : under) << shift;
            }
            *pixel = result;
        }
    }
}

static void *watch_changes(void *unused) {
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1);
    Display *display = XOpenDisplay(options.viewer);
    if (!display) fail("can't open the display", options.viewer);
    struct shared_image *image = make_image(display, scene->area.width, scene->area.height);
    struct notices notices;
    open_notices(&notices, options.viewer, false);
    static struct sprite sprite;
    while (!is_stopping) {
        // A pointer may be drawn without a notice: it is asked for a thousand times a second.
        bool is_other = await_notice(&notices, now() + (scene->moves_pointer ? 0.001 : 0.02));
        if (scene->moves_pointer && read_sprite(&notices, &sprite)) is_other = true;
        if (!is_other) continue;
        grab(image, scene->area.x, scene->area.y);
        double time = now();
        if (scene->moves_pointer) blend(&sprite, image);
        look(image, time);
    }
    close_notices(&notices);
    free_image(image);
    XCloseDisplay(display);
    return NULL;
}

/// The share of a display's pixels in the scene's area that are as they should be, in %.
static double equal_share(struct shared_image *image) {
    grab(image, scene->area.x, scene->area.y);
    size_t equal = 0;
    for (int y = 0; y < scene->area.height; y++) {
        const uint32_t *row = image_row(image, y), *wanted = pixel_at(model, scene->area.x, scene->area.y + y);
        for (int x = 0; x < scene->area.width; x++) equal += ((row[x] ^ wanted[x]) & 0xffffff) == 0;
    }
    return 100 * (double)equal / (double)area_of(scene->area);
}

// --- The host's side

/// Keeps what change `number` will have changed, before it is painted: it may be seen at once.
static void keep_change(int number) {
    struct kept_change *change = &kept[number % scene->kept];
    change->place_count = scene->plan(number, change->places, model);
    size_t size = 0;
    for (int i = 0; i < change->place_count; i++) size += area_of(change->places[i]);
    if (size > change->capacity) {
        change->before = realloc(change->before, size * 4);
        change->after = realloc(change->after, size * 4);
        if (!change->before || !change->after) fail("out of memory", "a change");
        change->capacity = size;
    }
    copy_places(change, change->before);
    scene->draw(model);
    copy_places(change, change->after);
    change->contrast = difference(change, change->after, change->before, NULL);
    if (change->contrast == 0) fail("a change has changed nothing", "the scene");
    newest = number;
}

/// Between 0 and 1, the same in each run.
static double chance(void) {
    static uint32_t state = 88675123;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (double)(state % 10000) / 10000;
}

static void *paint_changes(void *unused) {
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1);
    Display *display = XOpenDisplay(options.viewer);
    if (!display) fail("can't open the display", options.viewer);
    struct shared_image *image = make_image(display, scene->area.width, scene->area.height);
    double next = now();
    for (int number = 0; !is_frozen && number < CHANGES; number++) {
        next += (1 + scene->unevenness * (2 * chance() - 1)) / scene->rate;
        if (next < now()) next = now();
        sleep_until(next);
        if (is_frozen) break;
        pthread_mutex_lock(&lock);
        keep_change(number);
        pthread_mutex_unlock(&lock);
        // Before, because it may be seen before this thread runs again: so nothing looks sooner than it was.
        painted[number] = now();
        scene->paint();
        if (options.content != REST) continue;
        sleep_until(painted[number] + 0.3);
        equal_later[number] = equal_share(image);
    }
    free_image(image);
    XCloseDisplay(display);
    return NULL;
}

static double equal_share_at(const char *name) {
    Display *display = XOpenDisplay(name);
    if (!display) fail("can't open the display", name);
    struct shared_image *image = make_image(display, scene->area.width, scene->area.height);
    double share = equal_share(image);
    free_image(image);
    XCloseDisplay(display);
    return share;
}

/// A host that shows anything else than the model would make every figure a lie.
static void check_host(const char *when) {
    if (equal_share_at(options.host) < 100) fail("it doesn't show what was painted", when);
}

// --- Measuring

static double median_share(int first, int last) {
    static double values[CHANGES];
    int count = 0;
    for (int number = first; number <= last; number++) values[count++] = equal_later[number];
    qsort(values, (size_t)count, sizeof *values, by_value);
    return percentile(values, count, 0.5);
}

static void print_seen(int first, int last) {
    if (scene->replaces && options.content != REST) {
        // Nothing covers the last one: it has all the time, and tells another thing.
        print_number("settled", exact[last] > 0 ? (exact[last] - painted[last]) * 1e3 : NAN);
        last--;
    }
    print_latency("exact", painted, exact, CHANGES, first, last);
    print_latency("seen", painted, seen, CHANGES, first, last);
    print_number("changes", last - first + 1);
    if (options.content == REST) print_number("equal_later", median_share(first, last));
    printf("\"looks\":%d,", looks);
    if (!scene->replaces) printf("\"reverted\":%d,\"wrong\":%d,", reverted, wrong);
}

/// How long the last changes have, in seconds: lost ones come late, or never.
static const double patience = 1.5;

static int newest_change(void) {
    pthread_mutex_lock(&lock);
    int number = newest;
    pthread_mutex_unlock(&lock);
    return number;
}

void measure_changes(void) {
    scene = choose_scene();
    model = calloc((size_t)width * (size_t)height, 4);
    if (!model) fail("out of memory", "the model");
    scene->open(model);
    check_host("before the first change");
    pthread_t painter, watcher;
    pthread_create(&watcher, NULL, watch_changes, NULL);
    pthread_create(&painter, NULL, paint_changes, NULL);
    sleep_for(options.warm_up);
    if (options.signalled > 0 && kill(options.signalled, SIGUSR1) != 0) fail("can't tell the process", "--signal");
    begin_usage();
    int first = newest_change() + 1;
    double start = now();
    is_measuring = true;
    sleep_for(options.duration);
    double seconds = now() - start;
    is_frozen = true;
    printf("{\"width\":%d,\"height\":%d,\"seconds\":%.2f,\"begin\":%.6f,", width, height, seconds, start);
    print_usage(seconds);
    printf(",");
    pthread_join(painter, NULL);
    int last = newest_change();
    if (last < first + (options.content != REST)) fail("too few changes came in that time", "--seconds");
    sleep_for(patience);
    is_measuring = false;
    double equal_last = scene->moves_pointer ? NAN : equal_share_at(options.viewer);
    if (!scene->moves_pointer) check_host("after the last change");
    print_rest();
    print_memory();
    printf(",");
    is_stopping = true;
    pthread_join(watcher, NULL);
    print_seen(first, last);
    if (!scene->moves_pointer) print_number("equal_last", equal_last);
    printf("\"end\":%.6f}\n", start + seconds);
}
