// Flashes on a display, and beeps at the same moment; or only something that moves there.

#include <X11/Xlib.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "soundprobe.h"

/// A flash lasts this long, in seconds.
static const double FLASH = 0.1;
/// Of the square that flashes, in pixels.
enum { SIDE = 320 };

static Display *display;
static Window window;
static GC context;
static double dark_at;

static void open_window(void) {
    display = XOpenDisplay(options.display);
    if (!display) fail("can't open the display", options.display ? options.display : "--display");
    int screen = DefaultScreen(display);
    XSetWindowAttributes attributes = {.override_redirect = True, .background_pixel = 0};
    window = XCreateWindow(display, RootWindow(display, screen), (DisplayWidth(display, screen) - SIDE) / 2,
                           (DisplayHeight(display, screen) - SIDE) / 2, SIDE, SIDE, 0, DefaultDepth(display, screen),
                           InputOutput, DefaultVisual(display, screen), CWOverrideRedirect | CWBackPixel, &attributes);
    XMapRaised(display, window);
    context = XCreateGC(display, window, 0, NULL);
    XSync(display, False);
}

static void fill(bool is_white) {
    XSetForeground(display, context, is_white ? 0xFFFFFF : 0);
    XFillRectangle(display, window, context, 0, 0, SIDE, SIDE);
    XSync(display, False);
}

static void flash(double written) {
    fill(true);
    double time = now();
    dark_at = time + FLASH;
    printf("beep %.6f\nflash %.6f\n", written, time);
    fflush(stdout);
}

/// What is played: a quiet tone, so that there is no silence which would set clocks right, and the clicks.
static float sample(uint64_t frame, int *click_frame) {
    double quiet = options.amplitude * sin(2 * M_PI * options.frequency * (double)frame / RATE);
    return (float)quiet + (*click_frame < CLICK_FRAMES ? click_sample((*click_frame)++) : 0);
}

/// A sound card's work: as many frames as its clock has counted, each millisecond. What the pipe has no room for is lost, as
/// in a card whose driver doesn't read; nobody does until the server has a listener.
static void feed_pipe(void) {
    int pipe = open(options.pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (pipe < 0) fail(strerror(errno), options.pipe);
    enum { MOST = 4800 };
    static float samples[MOST * CHANNELS];
    uint32_t state = options.seed;
    double start = now(), next = start, next_beep = start + 1, rate = RATE * (1 + options.ppm * 1e-6);
    uint64_t position = 0;
    int click_frame = CLICK_FRAMES;
    bool is_read = false;
    size_t held = 0;
    printf("ready %.6f\n", start);
    fflush(stdout);
    while (!is_over()) {
        next += 0.001;
        sleep_until(next);
        double time = now();
        bool beeps = time >= next_beep;
        if (beeps) {
            click_frame = 0;
            next_beep = time + next_pause(&state, 0.7, 1.3);
        }
        uint64_t counted = (uint64_t)((time - start) * rate);
        size_t count = counted - position < MOST ? (size_t)(counted - position) : MOST;
        for (size_t i = 0; i < count; i++, position++)
            samples[CHANNELS * i] = samples[CHANNELS * i + 1] = sample(position, &click_frame);
        // One that was held up for longer than MOST frames goes on from here.
        position = counted;
        size_t bytes = count * CHANNELS * sizeof(float);
        // Nobody has read yet: what fills the pipe until then would come all at once.
        int waiting = 0;
        is_read = is_read || (ioctl(pipe, FIONREAD, &waiting) == 0 && (size_t)waiting < held);
        if (!is_read && held > 0) continue;
        held = bytes;
        ssize_t written = write(pipe, samples, bytes);
        if (written < 0 && errno != EAGAIN) fail(strerror(errno), options.pipe);
        if (written < (ssize_t)bytes) printf("lost %.6f\n", time);
        if (beeps) flash(time);
        if (dark_at > 0 && time >= dark_at) {
            dark_at = 0;
            fill(false);
        }
    }
    close(pipe);
}

// --- Into a sink

static int sink_click = CLICK_FRAMES;
static double next_beep;
static uint32_t sink_state;

static void write_some(pa_stream *stream, size_t bytes, void *unused) {
    (void)unused;
    static uint64_t position;
    size_t frame = CHANNELS * sizeof(float);
    void *memory = NULL;
    size_t room = bytes;
    if (pa_stream_begin_write(stream, &memory, &room) < 0 || !memory) fail("can't write", "the stream");
    bool beeps = now() >= next_beep;
    if (beeps) {
        sink_click = 0;
        next_beep = now() + next_pause(&sink_state, 0.7, 1.3);
    }
    float *samples = memory;
    room = (room < bytes ? room : bytes) / frame * frame;
    for (size_t i = 0; i < room / frame; i++)
        samples[CHANNELS * i] = samples[CHANNELS * i + 1] = sample(position++, &sink_click);
    double time = now();
    if (pa_stream_write(stream, memory, room, NULL, 0, PA_SEEK_RELATIVE) < 0) fail("can't write", "the stream");
    if (beeps) flash(time);
    if (dark_at > 0 && time >= dark_at) {
        dark_at = 0;
        fill(false);
    }
}

static void feed_sink(void) {
    sink_state = options.seed;
    next_beep = now() + 1;
    struct server server = connect_server();
    run_server(server, open_player(server, write_some));
}

void paint(void) {
    open_window();
    printf("ready %.6f\n", now());
    fflush(stdout);
    uint32_t number = 0;
    for (double next = now(); !is_over(); next += 1 / 30.) {
        sleep_until(next);
        int x = (int)(number++ * 8 % SIDE);
        XSetForeground(display, context, number * 0x050301 & 0xFFFFFF);
        XFillRectangle(display, window, context, x, 0, 8, SIDE);
        XSync(display, False);
    }
    XCloseDisplay(display);
}

void beep(void) {
    open_window();
    if (options.pipe)
        feed_pipe();
    else
        feed_sink();
    XCloseDisplay(display);
}
