// Records a source: its samples, and when each fragment of them came.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soundprobe.h"

static FILE *samples, *fragments;
static double flushed;

/// The left channel: servers mix two to one with different levels. Without `data`, silence.
static void write_left(const float *data, size_t frames) {
    for (size_t i = 0; i < frames; i++) {
        float sample = data ? data[CHANNELS * i] : 0;
        fwrite(&sample, sizeof sample, 1, samples);
    }
}

static void read_some(pa_stream *stream, size_t unused_size, void *unused) {
    (void)unused_size;
    (void)unused;
    double time = now();
    const void *data;
    size_t bytes;
    while (pa_stream_readable_size(stream) > 0) {
        if (pa_stream_peek(stream, &data, &bytes) < 0) fail("can't read", "the stream");
        if (bytes == 0) break;
        // A hole in the server's buffer has a length and no data.
        size_t frames = bytes / (CHANNELS * sizeof(float));
        write_left(data, frames);
        pa_stream_drop(stream);
        pa_usec_t latency = 0;
        int is_negative = 0;
        // It isn't known yet in the beginning.
        if (pa_stream_get_latency(stream, &latency, &is_negative) < 0) latency = 0;
        fprintf(fragments, "%.6f %zu %.6f\n", time, frames,
                (is_negative ? -1e-6 : 1e-6) * (double)latency);
    }
    // So that what is measured can be looked at while it goes on.
    if (time > flushed + 0.05) {
        fflush(samples);
        fflush(fragments);
        flushed = time;
    }
}

static FILE *create(const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file) fail("can't write it", path);
    return file;
}

void record(void) {
    if (!options.file) fail("a file is needed", "--file");
    char log[4096];
    if (snprintf(log, sizeof log, "%s.log", options.file) >= (int)sizeof log) fail("its name is too long", options.file);
    samples = create(options.file);
    fragments = create(log);
    struct server server = connect_server();
    const pa_sample_spec format = {PA_SAMPLE_FLOAT32LE, RATE, CHANNELS};
    pa_stream *stream = pa_stream_new(server.context, "record", &format, NULL);
    if (!stream) fail("no stream", "the sound server");
    const pa_buffer_attr attributes = {
        .maxlength = UINT32_MAX, .tlength = UINT32_MAX, .prebuf = UINT32_MAX, .minreq = UINT32_MAX,
        .fragsize = (uint32_t)lround(options.latency * RATE) * CHANNELS * sizeof(float)};
    pa_stream_set_read_callback(stream, read_some, NULL);
    // Without ADJUST_LATENCY a monitor gives bursts of 2 s.
    pa_stream_flags_t flags = PA_STREAM_ADJUST_LATENCY | PA_STREAM_DONT_MOVE | PA_STREAM_AUTO_TIMING_UPDATE |
                              PA_STREAM_INTERPOLATE_TIMING;
    if (pa_stream_connect_record(stream, options.device, &attributes, flags) < 0)
        fail("can't record", options.device ? options.device : "the default source");
    wait_for_stream(server, stream);
    run_server(server, stream);
    if (fclose(samples) != 0 || fclose(fragments) != 0) fail("can't write it", options.file);
}
