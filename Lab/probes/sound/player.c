// Plays clicks, a tone or a file into a sink.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soundprobe.h"

static FILE *file;
static uint64_t position;
/// Of the click that is being played; none if it is CLICK_FRAMES.
static int click_frame = CLICK_FRAMES;
static double next_click;
static uint32_t state;

static float tone_sample(uint64_t frame) {
    return (float)(options.amplitude * sin(2 * M_PI * options.frequency * (double)frame / RATE));
}

/// Fills frames of what is played; false at the file's end.
static bool fill(float *samples, size_t count) {
    if (file) {
        size_t found = fread(samples, sizeof *samples * CHANNELS, count, file);
        memset(samples + found * CHANNELS, 0, (count - found) * CHANNELS * sizeof *samples);
        return found > 0;
    }
    for (size_t i = 0; i < count; i++, position++) {
        float sample = options.amplitude > 0 ? tone_sample(position) : 0;
        if (click_frame < CLICK_FRAMES) sample += click_sample(click_frame++);
        samples[CHANNELS * i] = samples[CHANNELS * i + 1] = sample;
    }
    return true;
}

static void write_some(pa_stream *stream, size_t bytes, void *unused) {
    (void)unused;
    static bool is_ended;
    size_t frame = CHANNELS * sizeof(float);
    while (bytes >= frame) {
        void *memory = NULL;
        size_t room = bytes;
        if (pa_stream_begin_write(stream, &memory, &room) < 0 || !memory) fail("can't write", "the stream");
        // A click is the first that is written once its time has come, as by a program that plays one now.
        bool clicks = !strcmp(options.kind, "clicks") && now() >= next_click;
        if (clicks) {
            click_frame = 0;
            next_click = now() + next_pause(&state, 0.3, 0.7);
        }
        room = (room < bytes ? room : bytes) / frame * frame;
        bool goes_on = fill(memory, room / frame);
        double time = now();
        if (pa_stream_write(stream, memory, room, NULL, 0, PA_SEEK_RELATIVE) < 0) fail("can't write", "the stream");
        if (clicks) {
            printf("click %.6f\n", time);
            fflush(stdout);
        }
        // Silence follows a file, until the player is ended: what is under way is played to its end.
        if (!goes_on && !is_ended) {
            is_ended = true;
            printf("end %.6f\n", time);
            fflush(stdout);
        }
        bytes -= room;
    }
}

static void note_underflow(pa_stream *stream, void *unused) {
    (void)stream;
    (void)unused;
    printf("underflow %.6f\n", now());
}

pa_stream *open_player(struct server server, pa_stream_request_cb_t write_some) {
    const pa_sample_spec format = {PA_SAMPLE_FLOAT32LE, RATE, CHANNELS};
    pa_stream *stream = pa_stream_new(server.context, options.kind, &format, NULL);
    if (!stream) fail("no stream", "the sound server");
    uint32_t ahead = (uint32_t)(options.latency * RATE) * CHANNELS * sizeof(float);
    const pa_buffer_attr attributes = {
        .maxlength = UINT32_MAX, .tlength = ahead, .prebuf = 0, .minreq = ahead / 4, .fragsize = UINT32_MAX};
    pa_stream_set_write_callback(stream, write_some, NULL);
    pa_stream_set_underflow_callback(stream, note_underflow, NULL);
    pa_stream_flags_t flags = PA_STREAM_ADJUST_LATENCY;
    // Otherwise it would follow when another sink becomes the default one.
    if (options.device) flags |= PA_STREAM_DONT_MOVE;
    if (pa_stream_connect_playback(stream, options.device, &attributes, flags, NULL, NULL) < 0)
        fail("can't play", options.device ? options.device : "the default sink");
    wait_for_stream(server, stream);
    return stream;
}

void play(void) {
    if (!strcmp(options.kind, "file")) {
        file = options.file ? fopen(options.file, "rb") : NULL;
        if (!file) fail("can't read it", options.file ? options.file : "--file");
    }
    state = options.seed;
    next_click = now() + 1;
    struct server server = connect_server();
    run_server(server, open_player(server, write_some));
}
