#pragma once

// Large system libraries that are loaded when first needed instead of at program start: libavcodec and libavformat
// alone pull in about a hundred other libraries, which take longer to load than a viewer takes to connect.
//
// Their functions keep their names: this target defines forwarding functions. The libraries' own headers declare them,
// so that a wrong signature is a compile error.

/// Loads the library once for all threads. Calling one of its functions loads it, too.
///
/// Returns NULL, or why the library can't be used, as the end of a sentence that is valid while the process lives.
/// Calling a function of an unusable library prints that to standard error and ends the process, as a missing library
/// at start-up does. To handle the error, call this first.
const char *beam_load_libavutil(void);
const char *beam_load_libavcodec(void);
const char *beam_load_libavformat(void);
const char *beam_load_libswresample(void);
const char *beam_load_libswscale(void);
const char *beam_load_libx264(void);
const char *beam_load_libsystemd(void);
const char *beam_load_libpulse(void);
const char *beam_load_libqrencode(void);
const char *beam_load_libopus(void);
const char *beam_load_libpipewire(void);
const char *beam_load_libwayland(void);
const char *beam_load_libssl(void);
const char *beam_load_libsrtp(void);

// Opus's requests have variable arguments, which Swift can't pass. They return OPUS_OK or an error code.
struct OpusEncoder;
struct OpusDecoder;
int beam_opus_encoder_set(struct OpusEncoder *encoder, int request, int value);
int beam_opus_encoder_get(struct OpusEncoder *encoder, int request, int *value);
/// Forgets what was encoded before; settings stay.
int beam_opus_encoder_reset(struct OpusEncoder *encoder);
int beam_opus_decoder_reset(struct OpusDecoder *decoder);

// Wayland's descriptions of its own interfaces, which are data of the library.
struct wl_interface;
const struct wl_interface *beam_wl_buffer_interface(void);
const struct wl_interface *beam_wl_callback_interface(void);
const struct wl_interface *beam_wl_output_interface(void);
const struct wl_interface *beam_wl_registry_interface(void);
const struct wl_interface *beam_wl_shm_interface(void);
const struct wl_interface *beam_wl_shm_pool_interface(void);
