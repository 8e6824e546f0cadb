// What processes and the network use, by the kernel's own counters.

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

struct group groups[GROUPS];
int group_count;

struct process {
    int pid, parent;
    /// Processor time of children that have ended, in seconds.
    double of_children;
};

static struct process processes[8192];
static int process_count;

static void read_processes(void) {
    process_count = 0;
    double ticks_a_second = (double)sysconf(_SC_CLK_TCK);
    DIR *directory = opendir("/proc");
    if (!directory) fail("can't read", "/proc");
    struct dirent *entry;
    while ((entry = readdir(directory)) && process_count < (int)(sizeof processes / sizeof *processes)) {
        char path[64], line[1024];
        int pid = atoi(entry->d_name);
        if (pid <= 0) continue;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        size_t count = fread(line, 1, sizeof line - 1, file);
        fclose(file);
        line[count] = 0;
        // The name in parentheses may hold anything.
        char *rest = strrchr(line, ')');
        int parent;
        long user, system;
        if (rest && sscanf(rest + 2, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %ld %ld", &parent, &user,
                           &system) == 3)
            processes[process_count++] = (struct process){pid, parent, (double)(user + system) / ticks_a_second};
    }
    closedir(directory);
}

/// By the kernel's own clock for it: what it counts in ticks leaves out a process that runs for less, and rarely.
static double processor_time(int pid) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/// Of a process and all that it started.
static double tree_time(int pid) {
    double sum = 0;
    for (int i = 0; i < process_count; i++) {
        if (processes[i].pid == pid) sum += processor_time(pid) + processes[i].of_children;
        if (processes[i].parent == pid) sum += tree_time(processes[i].pid);
    }
    return sum;
}

/// Peak resident memory of a process and all that it started, in KiB.
static uint64_t tree_memory(int pid) {
    uint64_t sum = 0;
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        unsigned long kibibytes;
        if (sscanf(line, "VmHWM: %lu", &kibibytes) == 1) sum += kibibytes;
    }
    if (file) fclose(file);
    for (int i = 0; i < process_count; i++) {
        if (processes[i].parent == pid) sum += tree_memory(processes[i].pid);
    }
    return sum;
}

static uint64_t loopback_bytes(void) {
    FILE *file = fopen("/proc/net/dev", "r");
    char line[512];
    uint64_t bytes = 0;
    while (file && fgets(line, sizeof line, file)) {
        unsigned long value;
        if (sscanf(line, " lo: %lu", &value) == 1) bytes = value;
    }
    if (file) fclose(file);
    return bytes;
}

/// UDP datagrams that arrived anywhere in this network namespace.
static uint64_t received_datagrams(void) {
    FILE *file = fopen("/proc/net/snmp", "r");
    char line[512];
    uint64_t count = 0;
    while (file && fgets(line, sizeof line, file)) {
        unsigned long value;
        if (sscanf(line, "Udp: %lu", &value) == 1) count = value;
    }
    if (file) fclose(file);
    return count;
}

static uint64_t bytes_before, datagrams_before;

void begin_usage(void) {
    read_processes();
    for (int i = 0; i < group_count; i++) groups[i].time = tree_time(groups[i].pid);
    bytes_before = loopback_bytes();
    datagrams_before = received_datagrams();
}

void print_usage(double seconds) {
    uint64_t bytes = loopback_bytes() - bytes_before, datagrams = received_datagrams() - datagrams_before;
    read_processes();
    printf("\"cpu\":{");
    for (int i = 0; i < group_count; i++) {
        double spent = tree_time(groups[i].pid) - groups[i].time;
        printf("%s\"%s\":%.2f", i ? "," : "", groups[i].name, 100 * spent / seconds);
    }
    printf("},\"datagrams\":%.2f,\"mbit\":%.6f", (double)datagrams / seconds, (double)bytes * 8e-6 / seconds);
}

void print_rest(void) {
    if (options.rest <= 0) return;
    begin_usage();
    sleep_for(options.rest);
    printf("\"rest\":{");
    print_usage(options.rest);
    printf("},");
}

void print_memory(void) {
    read_processes();
    printf("\"memory\":{");
    for (int i = 0; i < group_count; i++)
        printf("%s\"%s\":%.1f", i ? "," : "", groups[i].name, (double)tree_memory(groups[i].pid) / 1024);
    printf("}");
}
