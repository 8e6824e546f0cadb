// glassprobe: how long it takes from a change on one display until it is seen on another, whatever brings it there.
//
// Both are displays of this machine, so that both ends share one clock.

#include "probe.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct options options = {.rate = 60.1, .duration = 8, .warm_up = 2, .right_db = 28};
_Atomic bool is_stopping, is_frozen, is_measuring;

double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void sleep_until(double time) {
    struct timespec end = {(time_t)time, (long)((time - floor(time)) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) continue;
}

void sleep_for(double seconds) { sleep_until(now() + seconds); }

void fail(const char *what, const char *about) {
    fprintf(stderr, "glassprobe: %s: %s\n", about, what);
    exit(2);
}

int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double percentile(const double *values, int count, double part) {
    if (count == 0) return NAN;
    int index = (int)ceil(part * count) - 1;
    return values[index < 0 ? 0 : index];
}

void print_number(const char *name, double value) {
    if (isnan(value))
        printf("\"%s\":null,", name);
    else
        printf("\"%s\":%.2f,", name, value);
}

void print_latency(const char *name, const double *painted, const double *seen, int size, int first, int last) {
    double *values = calloc((size_t)(last >= first ? last - first + 1 : 1), sizeof *values);
    if (!values) fail("out of memory", name);
    int count = 0, missed = 0;
    for (int number = first; number <= last; number++) {
        double latency = seen[number % size] - painted[number % size];
        if (seen[number % size] > 0 && latency > -0.001)
            values[count++] = latency * 1e3;
        else
            missed++;
    }
    qsort(values, (size_t)count, sizeof *values, by_value);
    printf("\"%s\":{\"count\":%d,\"missed\":%d,", name, count, missed);
    print_number("min", count ? values[0] : NAN);
    print_number("median", percentile(values, count, 0.5));
    print_number("p95", percentile(values, count, 0.95));
    printf("\"max\":%.2f},", count ? values[count - 1] : 0);
    free(values);
}

static const char usage[] =
    "usage: glassprobe --host DISPLAY --viewer DISPLAY\n"
    "                  --content still|scroll|video|typing|lines|drag|pointer|rest [--image FILE.ppm]\n"
    "                  [--page FILE.ppm]\n"
    "                  [--rate 60.1] [--seconds 8] [--warm-up 2] [--rest SECONDS] [--process NAME:PID]…\n"
    "                  [--trace FILE] [--signal PID]\n"
    "                  [--spawn COMMAND [--right 28]]\n"
    "       glassprobe --wayland SOCKET … instead of --host: paints on a Wayland desktop of the viewer's size\n"
    "       glassprobe --host DISPLAY --viewer DISPLAY --mirror\n"
    "       glassprobe --viewer DISPLAY --changes X,Y,WIDTHxHEIGHT\n"
    "       glassprobe --wayland SOCKET --viewer DISPLAY --resizes\n\n"
    "Paints on the host's display, watches the viewer's, and prints one JSON object: latencies in ms, quality in\n"
    "dB, processor time in % of a core. --rest also measures what is used when nothing changes, after the end.\n"
    "From typing on, each change is looked for in every pixel: \"exact\" is until all are equal, \"seen\"\n"
    "until they are far nearer to the new than to the old. --mirror copies one display to the other, as the floor of\n"
    "what can be measured.\n"
    "--spawn starts the viewer and times it until its picture is right. --changes only prints when that part of the\n"
    "viewer's display changes, until standard input ends; --resizes when it is right after a change of the desktop's\n"
    "size.\n";

static void add_group(char *argument) {
    char *colon = strchr(argument, ':');
    if (!colon || group_count == GROUPS) fail("NAME:PID is wanted", argument);
    *colon = 0;
    groups[group_count++] = (struct group){.name = argument, .pid = atoi(colon + 1)};
}

static void read_part(const char *argument) {
    struct part *part = &options.changes;
    if (sscanf(argument, "%d,%d,%dx%d", &part->x, &part->y, &part->width, &part->height) != 4 || part->width < 1)
        fail("X,Y,WIDTHxHEIGHT is wanted", argument);
}

static enum content content_named(const char *name) {
    static const char *const names[] = {"still", "scroll", "video", "typing", "lines", "drag", "pointer", "rest"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(name, names[i])) return (enum content)i;
    }
    fail("there is no such content", name);
}

static void read_options(int count, char **arguments) {
    static const struct option known[] = {{"host", 1, 0, 'h'},
                                          {"viewer", 1, 0, 'v'},
                                          {"content", 1, 0, 'c'},
                                          {"image", 1, 0, 'i'},
                                          {"page", 1, 0, 'P'},
                                          {"rate", 1, 0, 'r'},
                                          {"seconds", 1, 0, 's'},
                                          {"warm-up", 1, 0, 'w'},
                                          {"rest", 1, 0, 'e'},
                                          {"process", 1, 0, 'p'},
                                          {"spawn", 1, 0, 'S'},
                                          {"right", 1, 0, 'R'},
                                          {"trace", 1, 0, 'T'},
                                          {"signal", 1, 0, 'G'},
                                          {"changes", 1, 0, 'C'},
                                          {"wayland", 1, 0, 'W'},
                                          {"resizes", 0, 0, 'Z'},
                                          {"mirror", 0, 0, 'M'},
                                          {"help", 0, 0, '?'},
                                          {0}};
    int option;
    while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) switch (option) {
            case 'h': options.host = optarg; break;
            case 'v': options.viewer = optarg; break;
            case 'c': options.content = content_named(optarg); break;
            case 'i': options.image = optarg; break;
            case 'P': options.page = optarg; break;
            case 'r': options.rate = atof(optarg); break;
            case 's': options.duration = atof(optarg); break;
            case 'w': options.warm_up = atof(optarg); break;
            case 'e': options.rest = atof(optarg); break;
            case 'p': add_group(optarg); break;
            case 'S': options.spawn = optarg; break;
            case 'R': options.right_db = atof(optarg); break;
            case 'T': options.trace = optarg; break;
            case 'G': options.signalled = atoi(optarg); break;
            case 'C': read_part(optarg); break;
            case 'W': options.wayland = optarg; break;
            case 'Z': options.resizes = true; break;
            case 'M': options.mirrors = true; break;
            default: fputs(usage, stderr); exit(64);
        }
    bool paints = options.host || options.wayland;
    if ((!paints && !options.changes.width) || (options.resizes && !options.wayland) || !options.viewer ||
        options.rate <= 0 || (!options.host && (options.mirrors || options.content >= TYPING))) {
        fputs(usage, stderr);
        exit(64);
    }
}

/// Starts the viewer, and says when its picture was right.
static void time_start(struct shared_image *screen) {
    sleep_for(0.7);
    fflush(stdout);
    double start = now();
    pid_t child = fork();
    if (child == 0) {
        // The probe's own priority isn't the viewer's.
        setpriority(PRIO_PROCESS, 0, 0);
        setsid();
        execl("/bin/sh", "sh", "-c", options.spawn, (char *)NULL);
        _exit(127);
    }
    double right = NAN, db = 0;
    struct shared_image *strip = make_image(screen->display, STRIP_WIDTH, 2);
    while (now() < start + options.duration && isnan(right)) {
        sleep_for(0.001);
        // The whole picture is dear to look at: not before there can be one, for the viewer needs the processor.
        grab(strip, STRIP_X, STRIP_Y + STRIP_HEIGHT / 2);
        if (read_code(image_row(strip, 0), image_row(strip, 1), STRIP_X, STRIP_X, MARKER_BITS) < 0) continue;
        grab(screen, 0, 0);
        double time = now();
        db = psnr_rgb(screen, 0, 4);
        if (db >= options.right_db) right = (time - start) * 1e3;
    }
    free_image(strip);
    kill(-child, SIGTERM);
    sleep_for(0.5);
    kill(-child, SIGKILL);
    waitpid(child, NULL, 0);
    printf("{");
    print_number("start", right);
    printf("\"psnr\":%.1f}\n", db);
}

/// Measures a viewer that runs already, first in motion, then at rest.
static void measure(struct shared_image *screen) {
    pthread_t watcher, sampler, tracer;
    record.last_new = now();
    pthread_create(&watcher, NULL, watch, NULL);
    pthread_create(&sampler, NULL, sample_quality, NULL);
    if (options.trace) pthread_create(&tracer, NULL, trace_quality, NULL);
    sleep_for(options.warm_up);
    begin_usage();
    int first_marker = record.marker + 1, first_frame = record.frame + 1, first_refresh = record.refreshes;
    double start = record.last_new = now();
    if (options.signalled > 0 && kill(options.signalled, SIGUSR1) != 0) fail("can't tell the process", "--signal");
    is_measuring = true;
    sleep_for(options.duration);
    is_measuring = false;
    double end = now(), seconds = end - start;
    int last_marker = record.marker, last_frame = record.frame, last_refresh = record.refreshes;
    printf("{\"width\":%d,\"height\":%d,\"seconds\":%.2f,", width, height, seconds);
    print_usage(seconds);
    printf(",");
    // A picture that no longer comes is a gap, too.
    bool moves = options.content != STILL;
    double open_gap = end - record.last_new;
    if (moves && open_gap > record.longest_gap) record.longest_gap = open_gap;
    if (moves && open_gap > 0.1) record.frozen += open_gap;

    is_frozen = true;
    pthread_join(sampler, NULL);
    double limit = now() + 1;
    while (moves && record.last_frame_seen < record.frame && now() < limit) sleep_for(0.0005);
    if (!moves) sleep_for(0.1);
    uint32_t last = (uint32_t)record.frame;
    grab(screen, 0, 0);
    double at_once = psnr_rgb(screen, last, 1);
    sleep_for(2);
    grab(screen, 0, 0);
    double rested = psnr_rgb(screen, last, 1), rested_luma = psnr_luma(screen, last, 1, NULL);
    print_rest();
    print_memory();
    printf(",");
    is_stopping = true;
    pthread_join(watcher, NULL);
    if (options.trace) {
        pthread_join(tracer, NULL);
        write_trace(start, end);
    }
    print_latency("change", record.marker_painted, record.marker_seen, MARKERS, first_marker, last_marker);
    if (options.wayland)
        print_latency("drawn", record.marker_painted, record.marker_drawn, MARKERS, first_marker, last_marker);
    if (moves) {
        print_latency("frame", record.frame_painted, record.frame_seen, FRAMES, first_frame, last_frame);
        print_number("painted_fps", (last_frame - first_frame + 1) / seconds);
        print_number("fps", (double)record.distinct / seconds);
        if (options.wayland) print_number("compositor_fps", (last_refresh - first_refresh) / seconds);
        print_number("longest_gap", record.longest_gap * 1e3);
        print_number("frozen", 100 * record.frozen / seconds);
    }
    qsort(samples, (size_t)sample_count, sizeof *samples, by_value);
    // Those without any difference, in the rows that are looked at.
    int equal = 0;
    while (equal < sample_count && samples[sample_count - 1 - equal] >= SAME_DB) equal++;
    print_number("equal_samples", sample_count ? 100. * equal / sample_count : NAN);
    print_number("psnr", percentile(samples, sample_count, 0.5));
    print_number("psnr_p5", percentile(samples, sample_count, 0.05));
    print_number("psnr_at_once", at_once);
    print_number("psnr_rested", rested);
    print_number("luma_rested", rested_luma);
    printf("\"unreadable\":%.2f}\n", 100. * (double)record.unreadable / (double)(record.looks ? record.looks : 1));
}

static void check_host(void) {
    Display *host = XOpenDisplay(options.host);
    if (!host) fail("can't open the display", options.host);
    if (width != DisplayWidth(host, 0) || height != DisplayHeight(host, 0))
        fail("its size isn't the viewer's", options.host);
    XCloseDisplay(host);
}

int main(int count, char **arguments) {
    read_options(count, arguments);
    XInitThreads();
    // Only root may; otherwise at the usual priority.
    (void)!setpriority(PRIO_PROCESS, 0, -10);
    if (options.changes.width) {
        print_changes();
        return 0;
    }
    if (options.resizes) {
        print_resizes();
        return 0;
    }
    if (options.mirrors) mirror();
    Display *viewer = XOpenDisplay(options.viewer);
    if (!viewer) fail("can't open the display", options.viewer);
    width = DisplayWidth(viewer, 0);
    height = DisplayHeight(viewer, 0);
    if (!options.wayland) check_host();
    if (options.content >= TYPING) {
        measure_changes();
        return 0;
    }
    if (width < STRIP_X + STRIP_WIDTH + 16 || height < STRIP_Y + STRIP_HEIGHT + 16)
        fail("it is too small", options.viewer);
    load_pictures();
    struct shared_image *screen = make_image(viewer, width, height);
    pthread_t painter;
    pthread_create(&painter, NULL, paint, NULL);
    // Until it has painted its first picture.
    while (record.frame_painted[0] == 0) sleep_for(0.01);

    if (options.spawn)
        time_start(screen);
    else
        measure(screen);
    is_stopping = true;
    pthread_join(painter, NULL);
    free_image(screen);
    XCloseDisplay(viewer);
    return 0;
}
