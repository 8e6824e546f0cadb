// netlab-relay: a bottleneck between two network namespaces, with a TUN device in each. What one namespace's kernel
// sends there comes out in the other, later, less or not at all, as a seed decides.

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "relay.h"

static const char usage[] =
    "usage: netlab-relay NAMESPACE NAMESPACE [--both SETTINGS] [--forward SETTINGS] [--back SETTINGS]\n"
    "                    [--at SECONDS:[forward:|back:]SETTINGS]… [--seed 1] [--time-limit SECONDS]\n"
    "                    [--number 0] [--lines]\n"
    "\n"
    "Joins two network namespaces (files such as /proc/1/ns/net) with a TUN device “netlab” in each, 10.77.0.1 in\n"
    "the first and 10.77.0.2 in the second. --number N makes them “netlabN”, 10.77.N.1 and 10.77.N.2, so that several relays\n"
    "can lead to one namespace. SETTINGS are separated by commas:\n"
    "  delay=5ms       from one end to the other      loss=5%                 of packets\n"
    "  jitter=30ms     0 to so much more, drawn anew  burst=8                 packets lost at a time, on average\n"
    "  hold=10ms       every so long (0: each packet) duplicate=1%            of packets come twice\n"
    "  rate=20M        bits a second (0: no bound)    reorder=2%,by=5ms       of packets come so much later\n"
    "  queue=200ms     or 64k: what waits for the bottleneck; more is dropped\n"
    "  down, up        nothing passes; all does again\n"
    "  size=1260       larger IP packets are dropped, without an ICMP message (0: none are)\n"
    "--forward is from the first to the second. --at changes settings so long after SIGUSR1, which also begins the\n"
    "counting; --lines reads changes from standard input, one [forward:|back:]SETTINGS a line. Events and, at SIGTERM\n"
    "or SIGINT, counters go to standard output as JSON. It ends with its parent.\n";

struct change {
    uint64_t after;
    int first, last;
    const char *text;
    bool is_done;
};

enum { CHANGES = 64 };

static struct link links[2];
static int tunnels[2];
static struct change changes[CHANGES];
static int change_count;
/// Whether changes are read from standard input.
static bool takes_lines;
/// When SIGUSR1 came.
static uint64_t start = NEVER;

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

void fail(const char *what, const char *about) {
    fprintf(stderr, "netlab-relay: %s: %s", about, what);
    fprintf(stderr, errno ? " (%s)\n" : "\n", strerror(errno));
    exit(1);
}

void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) fail("out of memory", "packets");
    return memory;
}

// --- Options

static struct change read_change(const char *text) {
    struct change change = {.first = 0, .last = 1, .text = text};
    if (!strncmp(text, "forward:", 8)) change.last = 0, change.text += 8;
    if (!strncmp(text, "back:", 5)) change.first = 1, change.text += 5;
    // What can't be read is to be known now, not when its time comes.
    struct settings ignored = clean;
    read_settings(&ignored, change.text);
    return change;
}

static void add_change(const char *text) {
    char *end;
    double seconds = strtod(text, &end);
    errno = 0;
    if (end == text || *end != ':' || seconds < 0 || seconds > 1e6) fail("it should be SECONDS:SETTINGS", text);
    if (change_count == CHANGES) fail("too many changes", text);
    changes[change_count] = read_change(end + 1);
    changes[change_count++].after = (uint64_t)(seconds * SECOND);
}

static void read_options(int count, char **arguments, struct settings *settings, uint64_t *limit, int *number) {
    static const struct option known[] = {{"both", 1, 0, 'o'}, {"forward", 1, 0, 'f'},    {"back", 1, 0, 'b'},
                                          {"at", 1, 0, 'a'},   {"seed", 1, 0, 's'},       {"time-limit", 1, 0, 't'},
                                          {"number", 1, 0, 'n'}, {"lines", 0, 0, 'l'},
                                          {"help", 0, 0, 'h'}, {0}};
    uint64_t seed = 1;
    int option;
    while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) switch (option) {
            case 'o': read_settings(&settings[0], optarg), read_settings(&settings[1], optarg); break;
            case 'f': read_settings(&settings[0], optarg); break;
            case 'b': read_settings(&settings[1], optarg); break;
            case 'a': add_change(optarg); break;
            case 's': seed = strtoull(optarg, NULL, 10); break;
            case 't': *limit = now() + (uint64_t)(atof(optarg) * SECOND); break;
            case 'n':
                *number = atoi(optarg);
                if (*number < 0 || *number > 255) fail("it should be 0 to 255", optarg);
                break;
            case 'l': takes_lines = true; break;
            case 'h': fputs(usage, stdout); exit(0);
            default: fputs(usage, stderr); exit(64);
        }
    if (count - optind != 2) {
        fputs(usage, stderr);
        exit(64);
    }
    link_init(&links[0], 2 * seed);
    link_init(&links[1], 2 * seed + 1);
}

// --- What is told

static void print_counters(const char *name, const struct counters *counters) {
    printf(",\"%s\":{\"packets\":%lu,\"bytes\":%lu,\"delivered\":%lu,\"delivered_bytes\":%lu,", name, counters->packets,
           counters->bytes, counters->delivered, counters->delivered_bytes);
    printf("\"lost\":%lu,\"queue\":%lu,\"down\":%lu,\"large\":%lu,\"overflow\":%lu,\"refused\":%lu,", counters->lost,
           counters->queue, counters->down, counters->large, counters->overflow, counters->refused);
    printf("\"reordered\":%lu,\"duplicated\":%lu,\"queue_bytes_most\":%lu,", counters->reordered, counters->duplicated,
           counters->queue_bytes_most);
    double handed_on = counters->delivered ? (double)counters->delivered : 1;
    printf("\"late_ms_mean\":%.4f,\"late_ms_most\":%.4f}", (double)counters->late_sum / handed_on / MILLISECOND,
           (double)counters->late_most / MILLISECOND);
}

static void print_summary(uint64_t begin) {
    uint64_t end = now();
    printf("{\"event\":\"summary\",\"seconds\":%.3f", (double)(end - (start == NEVER ? begin : start)) / SECOND);
    print_counters("forward", &links[0].counters);
    print_counters("back", &links[1].counters);
    printf("}\n");
}

// --- Running

static void begin_schedule(uint64_t time) {
    if (start != NEVER) return;
    start = time;
    for (int i = 0; i < 2; i++) {
        links[i].counters = (struct counters){.queue_bytes_most = links[i].queue_bytes};
        links[i].origin = time;
    }
    printf("{\"event\":\"start\",\"time\":%.6f}\n", (double)time / SECOND);
}

static void make(const struct change *change, uint64_t time) {
    for (int way = change->first; way <= change->last; way++) {
        struct settings settings = links[way].settings;
        read_settings(&settings, change->text);
        link_change(&links[way], &settings, time);
    }
    printf("{\"event\":\"changed\",\"time\":%.6f,\"settings\":\"%s\"}\n", (double)time / SECOND, change->text);
}

/// Makes the changes whose time has come; answers with the time of the next.
static uint64_t follow_schedule(uint64_t time) {
    uint64_t next = NEVER;
    for (int i = 0; start != NEVER && i < change_count; i++) {
        struct change *change = &changes[i];
        if (change->is_done) continue;
        if (start + change->after > time) {
            if (start + change->after < next) next = start + change->after;
            continue;
        }
        make(change, time);
        change->is_done = true;
    }
    return next;
}

/// Makes the changes in the lines of standard input; false at its end.
static bool take_lines(void) {
    static char text[1024];
    static size_t held;
    ssize_t size = read(STDIN_FILENO, text + held, sizeof text - 1 - held);
    if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
    held += (size_t)size;
    text[held] = 0;
    char *line = text, *end;
    for (; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        struct change change = read_change(line);
        make(&change, now());
    }
    held = strlen(line);
    if (held == sizeof text - 1) fail("such a line is too long", "standard input");
    memmove(text, line, held + 1);
    return true;
}

static void take_packets(int way) {
    // A bound, so that one direction doesn't keep the other waiting.
    for (int i = 0; i < 64; i++) {
        unsigned char bytes[2048];
        ssize_t size = read(tunnels[way], bytes, sizeof bytes);
        if (size <= 0) return;
        link_take(&links[way], bytes, (size_t)size, now());
    }
}

static void deliver_packets(int way) {
    struct link *link = &links[way];
    struct packet *packet;
    while ((packet = link_deliver(link, now()))) {
        if (write(tunnels[!way], packet->bytes, packet->size) == (ssize_t)packet->size) {
            link->counters.delivered++;
            link->counters.delivered_bytes += packet->size;
        } else {
            link->counters.refused++;
        }
        free(packet);
    }
}

static uint64_t earlier(uint64_t one, uint64_t other) { return one < other ? one : other; }

/// Whether it should end.
static bool take_signal(int signals) {
    struct signalfd_siginfo signal;
    if (read(signals, &signal, sizeof signal) != sizeof signal) return false;
    if (signal.ssi_signo != SIGUSR1) return true;
    begin_schedule(now());
    return false;
}

static void run(int signals, int parent, uint64_t limit) {
    struct pollfd sources[] = {{tunnels[0], POLLIN, 0},
                               {tunnels[1], POLLIN, 0},
                               {signals, POLLIN, 0},
                               {parent, POLLIN, 0},
                               {takes_lines ? STDIN_FILENO : -1, POLLIN, 0}};
    while (now() < limit) {
        uint64_t next = earlier(limit, follow_schedule(now()));
        for (int way = 0; way < 2; way++) {
            deliver_packets(way);
            next = earlier(next, link_next(&links[way]));
        }
        uint64_t time = now(), wait = next > time ? next - time : 0;
        struct timespec pause = {(time_t)(wait / SECOND), (long)(wait % SECOND)};
        if (ppoll(sources, 5, next == NEVER ? NULL : &pause, NULL) < 0 && errno != EINTR) fail("can't wait", "packets");
        for (int way = 0; way < 2; way++)
            if (sources[way].revents) take_packets(way);
        if (sources[2].revents && take_signal(signals)) return;
        if (sources[3].revents) return;
        if (sources[4].revents && !take_lines()) sources[4].fd = -1;
    }
}

/// Before others: a relay that waits for the processor would be a delay that nobody asked for.
static void hurry(void) {
    prctl(PR_SET_TIMERSLACK, 1);
    struct sched_param priority = {.sched_priority = 1};
    // Only root may.
    if (sched_setscheduler(0, SCHED_RR, &priority) != 0) (void)!setpriority(PRIO_PROCESS, 0, -20);
}

int main(int count, char **arguments) {
    // Told when the process ends; a signal at the parent's death would come when a mere thread of it does.
    pid_t parent_number = getppid();
    int parent = pidfd_open(parent_number, 0);
    if (parent < 0) fail("can't be watched", "the parent");
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigset_t ends;
    sigemptyset(&ends);
    for (int i = 0; i < 3; i++) sigaddset(&ends, (int[]){SIGTERM, SIGINT, SIGUSR1}[i]);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    int signals = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals < 0) fail("can't be had", "signals");

    struct settings settings[2] = {clean, clean};
    uint64_t begin = now(), limit = NEVER;
    int number = 0;
    read_options(count, arguments, settings, &limit, &number);
    char name[16] = "netlab", first[16], second[16];
    if (number) snprintf(name, sizeof name, "netlab%d", number);
    snprintf(first, sizeof first, "10.77.%d.1", number);
    snprintf(second, sizeof second, "10.77.%d.2", number);
    tunnels[0] = open_tunnel(arguments[optind], name, first, second);
    tunnels[1] = open_tunnel(arguments[optind + 1], name, second, first);
    for (int way = 0; way < 2; way++) link_change(&links[way], &settings[way], begin);
    hurry();
    // It may have gone before the kernel was asked to tell.
    if (getppid() != parent_number) return 0;
    printf("{\"event\":\"ready\"}\n");
    run(signals, parent, limit);
    print_summary(begin);
    return 0;
}
