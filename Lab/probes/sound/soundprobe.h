// What the parts of soundprobe share: sound played into a server, recorded from it, and flashes beside it.
#pragma once

#include <pulse/pulseaudio.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RATE = 48000, CHANNELS = 2 };

struct options {
    /// Of the server's sink or source; NULL is its default.
    const char *device;
    /// Of the stream, in seconds: of a player what is written ahead, of a recorder the size of a fragment.
    double latency;
    /// A recorder's file, a player's file with samples.
    const char *file;
    /// What is played: clicks, a tone or the file.
    const char *kind;
    /// Of a tone, in Hz, and its amplitude; also of the quiet tone under clicks, which keeps silence away.
    double frequency, amplitude;
    /// Until it ends by itself; 0 is never.
    double seconds;
    uint32_t seed;
    /// The X display for flashes, and the pipe of a sound card whose clock runs too fast by `ppm`.
    const char *display, *pipe;
    double ppm;
};

extern struct options options;

// --- Time and ends

/// Seconds of CLOCK_MONOTONIC.
double now(void);
void sleep_until(double time);
_Noreturn void fail(const char *what, const char *about);
/// Whether a signal or `options.seconds` has ended the program.
bool is_over(void);

// --- A server

struct server {
    pa_mainloop *loop;
    pa_context *context;
};

/// Connects to PULSE_SERVER, or fails.
struct server connect_server(void);
/// Waits until the stream is ready, and says so on standard output.
void wait_for_stream(struct server server, pa_stream *stream);
/// A stream into `options.device`, with `options.latency` written ahead.
pa_stream *open_player(struct server server, pa_stream_request_cb_t write_some);
/// Lets the callbacks work until `is_over`; fails when the server goes.
void run_server(struct server server, pa_stream *stream);

// --- What is heard: a click is a burst of 4 ms with a sharp onset, which Opus keeps

enum { CLICK_FRAMES = 192 };

/// The click's sample `frame` (0 ..< CLICK_FRAMES); the click begins at its loudest.
float click_sample(int frame);
/// A pause between two clicks, in seconds: evenly from `least` to `most`.
double next_pause(uint32_t *state, double least, double most);

// --- Commands

void play(void);
void record(void);
void beep(void);
void paint(void);
void watch_flashes(void);
