// soundprobe: plays sounds into a PulseAudio server, records what one plays, and paints and sees flashes, each with its time.
//
// All ends of a measurement are on this machine, so that they share one clock.

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "soundprobe.h"

struct options options = {.latency = 0.01, .kind = "clicks", .frequency = 440, .seed = 1};

static volatile sig_atomic_t is_asked_to_end;
static double began;

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void sleep_until(double time) {
    struct timespec end = {(time_t)time, (long)((time - floor(time)) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR && !is_asked_to_end) continue;
}

void fail(const char *what, const char *about) {
    fflush(stdout);
    fprintf(stderr, "soundprobe: %s: %s\n", about, what);
    exit(2);
}

static void ask_to_end(int number) {
    (void)number;
    is_asked_to_end = 1;
}

bool is_over(void) { return is_asked_to_end || (options.seconds > 0 && now() >= began + options.seconds); }

double next_pause(uint32_t *state, double least, double most) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return least + (most - least) * (double)*state / UINT32_MAX;
}

float click_sample(int frame) {
    // 3 kHz from its crest on, under a window that falls to nothing, so that only its beginning is sharp.
    double angle = 2 * M_PI * 3000 * frame / RATE, fall = 1 - (double)frame / CLICK_FRAMES;
    return (float)(0.8 * fall * cos(angle));
}

// --- A server

static void wait_while(struct server server, const pa_stream *stream, const char *what) {
    double limit = now() + 10;
    while (stream ? pa_stream_get_state(stream) == PA_STREAM_CREATING
                  : pa_context_get_state(server.context) < PA_CONTEXT_READY) {
        if (pa_mainloop_prepare(server.loop, 10000) < 0 || pa_mainloop_poll(server.loop) < 0 ||
            pa_mainloop_dispatch(server.loop) < 0 || is_over() || now() > limit)
            fail("no answer", what);
    }
}

struct server connect_server(void) {
    struct server server = {.loop = pa_mainloop_new()};
    server.context = server.loop ? pa_context_new(pa_mainloop_get_api(server.loop), "soundprobe") : NULL;
    if (!server.context || pa_context_connect(server.context, NULL, PA_CONTEXT_NOAUTOSPAWN, NULL) < 0)
        fail("can't connect to the sound server", "PULSE_SERVER");
    wait_while(server, NULL, "the sound server");
    if (pa_context_get_state(server.context) != PA_CONTEXT_READY)
        fail(pa_strerror(pa_context_errno(server.context)), "the sound server");
    return server;
}

void wait_for_stream(struct server server, pa_stream *stream) {
    wait_while(server, stream, "the stream");
    if (pa_stream_get_state(stream) != PA_STREAM_READY)
        fail(pa_strerror(pa_context_errno(server.context)), options.device ? options.device : "the default device");
    printf("ready %.6f\n", now());
    fflush(stdout);
}

void run_server(struct server server, pa_stream *stream) {
    // The callbacks come often enough for `is_over` to be noticed; a silent server must not keep it from that.
    while (!is_over()) {
        if (pa_mainloop_prepare(server.loop, 20000) < 0 || pa_mainloop_poll(server.loop) < 0 ||
            pa_mainloop_dispatch(server.loop) < 0)
            break;
        if (pa_stream_get_state(stream) != PA_STREAM_READY) fail("the sound server has gone", "the stream");
    }
}

// --- Options

static const char usage[] =
    "usage: soundprobe play --kind clicks|tone|file [--device SINK] [--latency 0.01] [--frequency HZ] [--amplitude A]\n"
    "                  [--file FILE] [--seed N] [--seconds S]\n"
    "       soundprobe record --file FILE [--device SOURCE] [--latency 0.0027] [--seconds S]\n"
    "       soundprobe beep --display DISPLAY [--pipe FILE --ppm 200] [--device SINK] [--seed N] [--seconds S]\n"
    "       soundprobe paint --display DISPLAY [--seconds S]\n"
    "       soundprobe flashes --display DISPLAY [--seconds S]\n\n"
    "play     plays clicks at irregular times over a quiet tone (of --amplitude, 0: silence), a steady tone, or a file of\n"
    "         32-bit floats, 48 kHz stereo. Prints when each click was written.\n"
    "record   writes the left channel of a source (a sink's monitor) into FILE as 32-bit floats, 48 kHz, and into FILE.log\n"
    "         when each fragment came, how many samples it had, and the server's idea of their latency.\n"
    "beep     flashes on the display and beeps at the same time, into a sink, or into a pipe as a sound card would whose\n"
    "         clock runs too fast by --ppm. Prints when.\n"
    "paint    paints something that moves 30 times a second.\n"
    "flashes  prints when flashes are seen in the middle of the display.\n"
    "Times are in seconds of CLOCK_MONOTONIC. Each ends with --seconds or SIGTERM.\n";

static const struct option known[] = {{"device", 1, 0, 'd'},    {"latency", 1, 0, 'l'}, {"file", 1, 0, 'f'},
                                      {"kind", 1, 0, 'k'},      {"seconds", 1, 0, 's'}, {"seed", 1, 0, 'r'},
                                      {"frequency", 1, 0, 'q'}, {"amplitude", 1, 0, 'a'}, {"display", 1, 0, 'D'},
                                      {"pipe", 1, 0, 'p'},      {"ppm", 1, 0, 'm'},     {0}};

static void read_options(int count, char **arguments) {
    int option;
    while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) switch (option) {
            case 'd': options.device = optarg; break;
            case 'l': options.latency = atof(optarg); break;
            case 'f': options.file = optarg; break;
            case 'k': options.kind = optarg; break;
            case 's': options.seconds = atof(optarg); break;
            // The generator needs a state that isn't 0.
            case 'r': options.seed = (uint32_t)atoi(optarg) * 2654435761u | 1; break;
            case 'q': options.frequency = atof(optarg); break;
            case 'a': options.amplitude = atof(optarg); break;
            case 'D': options.display = optarg; break;
            case 'p': options.pipe = optarg; break;
            case 'm': options.ppm = atof(optarg); break;
            default: fputs(usage, stderr); exit(64);
        }
    if (optind != count - 1 || options.latency <= 0) {
        fputs(usage, stderr);
        exit(64);
    }
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } commands[] = {{"play", play}, {"record", record}, {"beep", beep}, {"paint", paint}, {"flashes", watch_flashes}};
    read_options(count, arguments);
    for (int number = SIGINT; number <= SIGTERM; number += SIGTERM - SIGINT) signal(number, ask_to_end);
    // Whoever has started it may be killed.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_TIMERSLACK, 1);
    // Only root may; otherwise at the usual priority.
    (void)!setpriority(PRIO_PROCESS, 0, -10);
    began = now();
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, arguments[optind])) continue;
        commands[i].run();
        return 0;
    }
    fputs(usage, stderr);
    return 64;
}
