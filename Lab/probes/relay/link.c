// One direction of the link.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "relay.h"

/// On the wire or in the queue; what comes beyond is dropped, so that a mistake can't take the machine's memory.
enum { PACKETS = 1 << 17 };

static uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

/// SplitMix64: evenly in 0 ..< 1.
static double draw(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15u;
    return (double)(mix(*state) >> 11) * 0x1p-53;
}

void link_init(struct link *link, uint64_t seed) {
    *link = (struct link){.settings = clean, .origin = now(), .wire = allocate(PACKETS * sizeof *link->wire)};
    uint64_t *states[] = {&link->loss_random, &link->reorder_random, &link->duplicate_random, &link->jitter_random,
                          &link->jitter_seed};
    for (uint64_t i = 0; i < 5; i++) *states[i] = mix(mix(seed) + i);
}

// --- The wire

static bool is_before(const struct packet *one, const struct packet *other) {
    return one->due < other->due || (one->due == other->due && one->serial < other->serial);
}

static void push(struct link *link, struct packet *packet) {
    size_t place = link->wire_count++;
    for (; place > 0 && is_before(packet, link->wire[(place - 1) / 2]); place = (place - 1) / 2)
        link->wire[place] = link->wire[(place - 1) / 2];
    link->wire[place] = packet;
}

static struct packet *pop(struct link *link) {
    struct packet *first = link->wire[0], *last = link->wire[--link->wire_count];
    size_t place = 0;
    for (size_t child = 1; child < link->wire_count; child = 2 * place + 1) {
        if (child + 1 < link->wire_count && is_before(link->wire[child + 1], link->wire[child])) child++;
        if (is_before(last, link->wire[child])) break;
        link->wire[place] = link->wire[child];
        place = child;
    }
    link->wire[place] = last;
    return first;
}

static bool is_lost(struct link *link) {
    const struct settings *settings = &link->settings;
    double value = draw(&link->loss_random);
    if (settings->burst <= 1) return value < settings->loss;
    // In the bad state `burst` packets on average; as often as gives the wanted mean.
    double leave = 1 / settings->burst, enter = settings->loss * leave / (1 - settings->loss);
    link->is_in_burst = link->is_in_burst ? value >= leave : value < enter;
    return link->is_in_burst;
}

static uint64_t jitter(struct link *link, uint64_t time) {
    const struct settings *settings = &link->settings;
    if (settings->jitter == 0) return 0;
    uint64_t span = link->jitter_seed + (settings->hold ? (time - link->origin) / settings->hold : 0);
    double value = settings->hold ? draw(&span) : draw(&link->jitter_random);
    return (uint64_t)(value * (double)settings->jitter);
}

static struct packet *new_packet(const unsigned char *bytes, size_t size) {
    struct packet *packet = allocate(sizeof *packet + size);
    packet->size = size;
    memcpy(packet->bytes, bytes, size);
    return packet;
}

/// What left the bottleneck at `time`.
static void send(struct link *link, struct packet *packet, uint64_t time) {
    const struct settings *settings = &link->settings;
    bool loses = is_lost(link), reorders = draw(&link->reorder_random) < settings->reorder,
         duplicates = draw(&link->duplicate_random) < settings->duplicate;
    uint64_t due = time + settings->delay + jitter(link, time);
    if (loses || link->wire_count + 2 > PACKETS) {
        ++*(loses ? &link->counters.lost : &link->counters.overflow);
        free(packet);
        return;
    }
    if (reorders) {
        due += settings->by;
        link->counters.reordered++;
    } else {
        if (due < link->last_due) due = link->last_due;
        link->last_due = due;
    }
    packet->due = due;
    packet->serial = link->serial++;
    push(link, packet);
    if (duplicates) {
        struct packet *copy = new_packet(packet->bytes, packet->size);
        copy->due = due;
        copy->serial = link->serial++;
        push(link, copy);
        link->counters.duplicated++;
    }
}

// --- The bottleneck

static struct packet *unqueue(struct link *link) {
    struct packet *packet = link->queue_head;
    link->queue_head = packet->next;
    link->queue_bytes -= packet->size;
    if (packet->next) link->bits_left = (double)packet->next->size * 8;
    return packet;
}

static uint64_t head_leaves(const struct link *link) {
    return link->bottleneck_at + (uint64_t)ceil(link->bits_left / link->settings.rate * SECOND);
}

/// Sends what the bottleneck has let through until `time`.
static void advance(struct link *link, uint64_t time) {
    double rate = link->settings.rate;
    while (link->queue_head) {
        if (rate > 0) {
            uint64_t leaves = head_leaves(link);
            if (leaves > time) {
                link->bits_left -= (double)(time - link->bottleneck_at) * 1e-9 * rate;
                break;
            }
            link->bottleneck_at = leaves;
        }
        struct packet *packet = unqueue(link);
        send(link, packet, rate > 0 ? link->bottleneck_at : time);
    }
    link->bottleneck_at = time;
}

void link_take(struct link *link, const unsigned char *bytes, size_t size, uint64_t time) {
    const struct settings *settings = &link->settings;
    link->counters.packets++;
    link->counters.bytes += size;
    if (settings->is_down) {
        link->counters.down++;
        return;
    }
    if (settings->size && size > settings->size) {
        link->counters.large++;
        return;
    }
    advance(link, time);
    if (settings->rate <= 0) return send(link, new_packet(bytes, size), time);
    uint64_t most = settings->is_queue_time ? (uint64_t)(settings->rate / 8 * (double)settings->queue * 1e-9)
                                            : settings->queue;
    // One that finds nobody waiting isn't refused.
    if (link->queue_head && link->queue_bytes + size > most) {
        link->counters.queue++;
        return;
    }
    struct packet *packet = new_packet(bytes, size);
    if (link->queue_head)
        link->queue_tail->next = packet;
    else
        link->queue_head = packet, link->bits_left = (double)size * 8;
    link->queue_tail = packet;
    link->queue_bytes += size;
    if (link->queue_bytes > link->counters.queue_bytes_most) link->counters.queue_bytes_most = link->queue_bytes;
}

void link_change(struct link *link, const struct settings *settings, uint64_t time) {
    advance(link, time);
    link->settings = *settings;
    // What is on the wire already arrives; what waits for it doesn't.
    while (settings->is_down && link->queue_head) {
        free(unqueue(link));
        link->counters.down++;
    }
    advance(link, time);
}

uint64_t link_next(const struct link *link) {
    uint64_t next = link->wire_count ? link->wire[0]->due : NEVER;
    if (!link->queue_head) return next;
    uint64_t leaves = head_leaves(link);
    return leaves < next ? leaves : next;
}

struct packet *link_deliver(struct link *link, uint64_t time) {
    advance(link, time);
    if (link->wire_count == 0 || link->wire[0]->due > time) return NULL;
    struct packet *packet = pop(link);
    uint64_t late = time - packet->due;
    link->counters.late_sum += late;
    if (late > link->counters.late_most) link->counters.late_most = late;
    return packet;
}
