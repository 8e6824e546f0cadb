// What the probe's parts share: known content painted on one display, of X or Wayland, and looked for on another one,
// of X.
#pragma once

#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XShm.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// --- The strip with the codes: a marker of 8 bits and a frame number of 16, white and black cells in Gray code, so
// that from one number to the next exactly one cell changes. In front of each, a white and a black cell say that it can
// be read.

enum {
    STRIP_X = 64,
    STRIP_Y = 64,
    STRIP_HEIGHT = 160,
    CELL = 32,
    MARKER_BITS = 8,
    NUMBER_BITS = 16,
    NUMBER_X = STRIP_X + (2 + MARKER_BITS + 2) * CELL,
    STRIP_WIDTH = (2 + MARKER_BITS + 2 + 2 + NUMBER_BITS) * CELL,
};

static inline uint32_t to_gray(uint32_t value) { return value ^ (value >> 1); }

static inline bool in_strip(int x, int y) {
    return y >= STRIP_Y && y < STRIP_Y + STRIP_HEIGHT && x >= STRIP_X && x < STRIP_X + STRIP_WIDTH;
}

// --- Options

/// From TYPING on every change is looked for pixel by pixel (exact.h).
enum content { STILL, SCROLL, VIDEO, TYPING, LINES, DRAG, POINTER, REST };

/// Of a display, in pixels.
struct part {
    int x, y, width, height;
};

struct options {
    const char *host, *viewer;
    /// The socket of the Wayland desktop that is painted on instead of `host`; NULL is none.
    const char *wayland;
    enum content content;
    const char *image;
    /// A page of text that is typed, scrolled or dragged.
    const char *page;
    /// Paint rate of moving content. Not a round number, so that its phase drifts against a capture clock's.
    double rate;
    /// In seconds: measured, before that, and after the rest that quality is measured in.
    double duration, warm_up, rest;
    /// The viewer is started by the probe, and timed.
    const char *spawn;
    /// The picture is right from here on, in dB.
    double right_db;
    /// Everything that was seen and when, for a closer look than the figures that are printed.
    const char *trace;
    /// A process that is told with SIGUSR1 when measuring begins; 0 is none.
    int signalled;
    /// Only changes of this part of the viewer's display are watched; without a width, everything is measured.
    struct part changes;
    /// Changes of the Wayland desktop's size are watched; everything else isn't measured.
    bool resizes;
    /// The host's display is copied to the viewer's, and nothing is measured.
    bool mirrors;
};

extern struct options options;

// --- Time and ends

double now(void);
void sleep_until(double time);
void sleep_for(double seconds);
_Noreturn void fail(const char *what, const char *about);

// --- Figures, as JSON members

/// For qsort, of values in ascending order.
int by_value(const void *a, const void *b);
/// The value below which `part` of the sorted values lie.
double percentile(const double *values, int count, double part);
void print_number(const char *name, double value);
/// From painted to seen, for the numbers `first` to `last`.
void print_latency(const char *name, const double *painted, const double *seen, int size, int first, int last);

// --- The host's pictures: what is painted, and what is compared with

extern int width, height;

void load_pictures(void);
uint32_t *load_ppm(const char *path, int *columns, int *rows);
/// Something like a photograph, of the display's size.
uint32_t *make_texture_picture(void);
/// Row `y` of frame `number`, 4 bytes a pixel.
const uint32_t *picture_row(uint32_t number, int y);
/// Frames that differ; scrolling content is one tall picture instead (of `tall_height` rows, seen from `scroll_offset`
/// on).
extern int picture_count, tall_height;
int scroll_offset(uint32_t number);

// --- An X display's pixels in shared memory

struct shared_image {
    Display *display;
    XImage *image;
    XShmSegmentInfo segment;
};

struct shared_image *make_image(Display *display, int width, int height);
void free_image(struct shared_image *image);
void grab(struct shared_image *image, int x, int y);
/// The server's own copy of pixels, so that painting them is one request.
Pixmap upload(Display *display, Window window, GC context, const uint32_t *pixels, int columns, int rows);

static inline uint32_t *image_row(struct shared_image *image, int y) {
    return (uint32_t *)(image->image->data + (size_t)y * (size_t)image->image->bytes_per_line);
}

/// Stands for the infinite PSNR of equal pictures.
enum { SAME_DB = 99 };

/// RGB or luma PSNR in dB between a grabbed screen and frame `number`, without the strip; looks at each `step`th row.
/// `worst` is that of the worst 64th of the picture, if it isn't NULL.
double psnr_rgb(struct shared_image *screen, uint32_t number, int step);
double psnr_luma(struct shared_image *screen, uint32_t number, int step, double *worst);

// --- Where the host's pictures are painted

/// What changes at once: the frame that is shown, and the marker, become the next.
struct turn {
    uint32_t frame, marker;
    bool advances, flips;
};

struct canvas {
    /// Shows frame 0 and marker 0.
    void (*open)(void);
    /// Answers when it was painted: on X when the server has drawn it, on Wayland when it is handed to the compositor.
    double (*step)(struct turn turn);
    /// Sleeps, and hears what the display's server says.
    void (*sleep_until)(double time);
    void (*close)(void);
};

extern const struct canvas x_canvas, wayland_canvas;

/// Which of a code's cells differs from the number `from` to the next, counted without the first two; -1 if the number
/// begins anew.
int changed_cell(int bits, uint32_t from);

// --- What was painted and seen, each with its time. Written by the painter and the watcher, read when both have ended.

enum { MARKERS = 1 << 16, FRAMES = 1 << 20 };

struct record {
    double marker_painted[MARKERS], marker_seen[MARKERS];
    /// When a Wayland compositor had drawn it.
    double marker_drawn[MARKERS];
    double frame_painted[FRAMES], frame_seen[FRAMES];
    /// The newest that is painted: published after its time is written.
    _Atomic int marker, frame;
    /// How often a Wayland compositor has drawn what was committed.
    _Atomic int refreshes;
    /// The watcher's own, valid while `is_measuring`.
    uint64_t distinct, looks, unreadable;
    double last_new, longest_gap, frozen;
    int last_frame_seen, last_marker_seen;
};

extern struct record record;
extern _Atomic bool is_stopping, is_frozen, is_measuring;

void *paint(void *unused);
void *watch(void *unused);

/// Reads a code out of two rows of pixels that begin at column `left`; -1 if it can't be read.
int64_t read_code(const uint32_t *first, const uint32_t *second, int left, int x, int bits);
/// The frame that a number code read at this moment stands for.
uint32_t frame_of_code(int64_t code);

// --- Samples of the picture's quality while it moves

enum { SAMPLES = 10000 };
extern double samples[SAMPLES];
extern int sample_count;
void *sample_quality(void *unused);

// --- A trace of everything

/// Looks at every picture, as far as it can keep up, from when the painter begins until `is_stopping`.
void *trace_quality(void *unused);
/// Writes what was painted and seen to `options.trace`, when the threads have ended; what is measured lay between
/// `begin` and `end`.
void write_trace(double begin, double end);

// --- Changes of any kind

/// Prints a line for each change of `options.changes`, the first picture included: the time in seconds of
/// CLOCK_MONOTONIC, and a checksum of the pixels. Looks two thousand times a second, until standard input ends.
void print_changes(void);

/// Paints blocks of colours that fill the Wayland desktop, others after each change of its size, and prints a line when
/// the viewer's display shows them in the right place: width, height, and the times in seconds of CLOCK_MONOTONIC when
/// they were committed and seen. Until standard input ends.
void print_resizes(void);

/// Standard input has ended.
bool is_input_ended(void);

/// Paints a scene whose changes are looked for pixel by pixel, and prints what `options.content` is measured for.
void measure_changes(void);

/// Copies what is drawn on the host's display to the viewer's, until it is ended.
_Noreturn void mirror(void);

// --- What processes and the network use

struct group {
    const char *name;
    int pid;
    /// Processor time when counting began, in seconds.
    double time;
};

enum { GROUPS = 8 };
extern struct group groups[GROUPS];
extern int group_count;

/// Begins to count.
void begin_usage(void);
/// Prints what was used since, as JSON members: processor time by group in % of a core, datagrams and bytes on the
/// loopback.
void print_usage(double seconds);
/// If `options.rest` isn't 0: waits for so many seconds, and prints what was used meanwhile, as a member `rest` and a
/// comma.
void print_rest(void);
/// Prints each group's peak memory, in MiB.
void print_memory(void);
