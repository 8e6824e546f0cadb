// Reads what a link is to do.

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "relay.h"

const struct settings clean = {
    .hold = 10 * MILLISECOND,
    .burst = 1,
    .by = 5 * MILLISECOND,
    .queue = 200 * MILLISECOND,
    .is_queue_time = true,
};

/// A number that isn't negative; `*end` is NULL if it is none.
static double read_number(const char *text, const char **end) {
    char *rest;
    errno = 0;
    double number = strtod(text, &rest);
    *end = rest == text || errno || !isfinite(number) || number < 0 ? NULL : rest;
    return number;
}

uint64_t read_time(const char *text, const char **end) {
    static const struct {
        const char *name;
        double nanoseconds;
    } units[] = {{"ms", MILLISECOND}, {"us", 1e3}, {"s", SECOND}};
    double number = read_number(text, end);
    if (!*end || number > 1e6) return *end = NULL, 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t length = strlen(units[i].name);
        if (strncmp(*end, units[i].name, length)) continue;
        *end += length;
        return (uint64_t)llround(number * units[i].nanoseconds);
    }
    if (number > 0) *end = NULL;
    return 0;
}

/// With k and M for thousands and millions.
static double read_amount(const char *text, const char **end) {
    double number = read_number(text, end);
    if (!*end) return 0;
    double factor = **end == 'k' ? 1e3 : **end == 'M' ? 1e6 : **end == 'G' ? 1e9 : 1;
    if (factor > 1) ++*end;
    return number * factor;
}

static double read_share(const char *text, const char **end) {
    double number = read_number(text, end);
    if (!*end || **end != '%' || number > 100) return *end = NULL, 0;
    ++*end;
    return number / 100;
}

static void read_queue(struct settings *settings, const char *text, const char **end) {
    settings->queue = read_time(text, end);
    settings->is_queue_time = *end != NULL;
    if (!*end) settings->queue = (uint64_t)read_amount(text, end);
}

static void read_one(struct settings *settings, const char *word) {
    if (!strcmp(word, "down") || !strcmp(word, "up")) {
        settings->is_down = *word == 'd';
        return;
    }
    const char *value = strchr(word, '='), *end = NULL;
    if (!value) fail("such a setting is unknown", word);
    size_t length = (size_t)(value++ - word);
    static const char *const names[] = {"delay", "jitter", "hold", "by", "loss", "reorder", "duplicate", "burst",
                                        "rate", "queue", "size"};
    size_t name = 0;
    while (name < 11 && (strlen(names[name]) != length || strncmp(names[name], word, length))) name++;
    switch (name) {
        case 0: settings->delay = read_time(value, &end); break;
        case 1: settings->jitter = read_time(value, &end); break;
        case 2: settings->hold = read_time(value, &end); break;
        case 3: settings->by = read_time(value, &end); break;
        case 4: settings->loss = read_share(value, &end); break;
        case 5: settings->reorder = read_share(value, &end); break;
        case 6: settings->duplicate = read_share(value, &end); break;
        case 7:
            settings->burst = read_number(value, &end);
            if (end && settings->burst < 1) end = NULL;
            break;
        case 8: settings->rate = read_amount(value, &end); break;
        case 9: read_queue(settings, value, &end); break;
        case 10: settings->size = (uint64_t)read_amount(value, &end); break;
        default: fail("such a setting is unknown", word);
    }
    if (!end || *end)
        fail("that isn't a value for it (times are 5ms, shares 2%, rates 20M, queues 200ms or 64k)", word);
}

void read_settings(struct settings *settings, const char *text) {
    char *copy = strdup(text), *rest = NULL;
    if (!copy) fail("out of memory", text);
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) read_one(settings, word);
    free(copy);
    // A burst that would have to fill more than all of the time between bursts.
    if (settings->burst > 1 && settings->loss > 0 && settings->loss >= settings->burst / (settings->burst + 1))
        fail("so much loss can't come in bursts so short", text);
}
