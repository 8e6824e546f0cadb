// What the relay's parts share: packets, what a link does to them, and where they come from and go to.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// --- Time: nanoseconds of CLOCK_MONOTONIC

enum { MILLISECOND = 1000000, SECOND = 1000000000 };
#define NEVER UINT64_MAX

uint64_t now(void);
_Noreturn void fail(const char *what, const char *about);
void *allocate(size_t bytes);

// --- What a link does, in one direction

struct settings {
    /// Nanoseconds that each packet takes, and up to so many more: drawn anew, evenly, every `hold` (0: each packet).
    uint64_t delay, jitter, hold;
    /// Shares of packets, 0 to 1. Losses come `burst` packets at a time on average (Gilbert and Elliott's model, whose
    /// bad state loses everything); 1 is random loss.
    double loss, burst, reorder, duplicate;
    /// A reordered packet comes so much later than it would have; others overtake it meanwhile.
    uint64_t by;
    /// Bits of IP packets a second; 0 is without bound.
    double rate;
    /// What waits for the bottleneck, in bytes or in nanoseconds at the rate; what comes when it is full is dropped.
    uint64_t queue;
    bool is_queue_time, is_down;
    /// Larger IP packets are dropped without an ICMP message, as by a tunnel whose errors are filtered; 0: none are.
    uint64_t size;
};

extern const struct settings clean;

/// Reads `delay=1ms,loss=2%,rate=20M` and the like into settings, which keep what isn't named; ends the program with a
/// sentence if it can't.
void read_settings(struct settings *settings, const char *text);
/// A time such as `200ms`, in nanoseconds; `*end` is what follows it, or NULL if it is none.
uint64_t read_time(const char *text, const char **end);

// --- Packets

struct packet {
    struct packet *next;
    uint64_t due, serial;
    size_t size;
    unsigned char bytes[];
};

// --- One direction: a bottleneck with its queue, then a wire that loses, delays, reorders and duplicates

struct counters {
    uint64_t packets, bytes, delivered, delivered_bytes;
    /// Dropped: on the wire, by the full queue, by a link that is down, as too large, for want of the relay's own memory,
    /// or refused by the far end's kernel.
    uint64_t lost, queue, down, large, overflow, refused;
    uint64_t reordered, duplicated, queue_bytes_most;
    /// How much later than due packets were handed on, in nanoseconds.
    uint64_t late_most, late_sum;
};

struct link {
    struct settings settings;
    struct counters counters;

    struct packet *queue_head, *queue_tail;
    uint64_t queue_bytes;
    /// Of the packet that is being sent at `bottleneck_at`.
    double bits_left;
    uint64_t bottleneck_at;

    /// On the wire: a heap, the next due first.
    struct packet **wire;
    size_t wire_count;
    uint64_t serial, last_due;

    /// Each kind of decision has a sequence of its own, so that one doesn't shift another.
    uint64_t loss_random, reorder_random, duplicate_random, jitter_random, jitter_seed;
    /// What the spans that jitter holds for are counted from.
    uint64_t origin;
    bool is_in_burst;
};

void link_init(struct link *link, uint64_t seed);
/// Takes a packet of `size` bytes, or drops it.
void link_take(struct link *link, const unsigned char *bytes, size_t size, uint64_t time);
void link_change(struct link *link, const struct settings *settings, uint64_t time);
/// When there is something to do next.
uint64_t link_next(const struct link *link);
/// A packet that is due, which the caller frees; NULL if none is.
struct packet *link_deliver(struct link *link, uint64_t time);

// --- A network namespace's end of it

/// Opens a TUN device in the namespace (a file such as /proc/1/ns/net) with these addresses, up and with an MTU of
/// 1500; answers with its descriptor, which doesn't block.
int open_tunnel(const char *namespace, const char *name, const char *address, const char *peer);
