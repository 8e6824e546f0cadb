// What processes and the network use, by the kernel's own counters.

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

struct group groups[GROUPS];
int group_count;

struct process {
    int pid, parent;
    uint64_t ticks;
};

static struct process processes[8192];
static int process_count;

static void read_processes(void) {
    process_count = 0;
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
        unsigned long user, system;
        long child_user, child_system;
        if (rest && sscanf(rest + 2, "%*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &parent, &user,
                           &system, &child_user, &child_system) == 5) {
            uint64_t ticks = user + system + (uint64_t)child_user + (uint64_t)child_system;
            processes[process_count++] = (struct process){pid, parent, ticks};
        }
    }
    closedir(directory);
}

/// A process and all that it started.
static uint64_t tree_ticks(int pid) {
    uint64_t sum = 0;
    for (int i = 0; i < process_count; i++) {
        if (processes[i].pid == pid) sum += processes[i].ticks;
        if (processes[i].parent == pid) sum += tree_ticks(processes[i].pid);
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
    for (int i = 0; i < group_count; i++) groups[i].ticks = tree_ticks(groups[i].pid);
    bytes_before = loopback_bytes();
    datagrams_before = received_datagrams();
}

void print_usage(double seconds) {
    double ticks_a_second = (double)sysconf(_SC_CLK_TCK);
    uint64_t bytes = loopback_bytes() - bytes_before, datagrams = received_datagrams() - datagrams_before;
    read_processes();
    printf("\"cpu\":{");
    for (int i = 0; i < group_count; i++) {
        double spent = (double)(tree_ticks(groups[i].pid) - groups[i].ticks) / ticks_a_second;
        printf("%s\"%s\":%.2f", i ? "," : "", groups[i].name, 100 * spent / seconds);
    }
    printf("},\"datagrams\":%.2f,\"mbit\":%.3f", (double)datagrams / seconds, (double)bytes * 8e-6 / seconds);
}

void print_memory(void) {
    read_processes();
    printf("\"memory\":{");
    for (int i = 0; i < group_count; i++)
        printf("%s\"%s\":%.1f", i ? "," : "", groups[i].name, (double)tree_memory(groups[i].pid) / 1024);
    printf("}");
}
