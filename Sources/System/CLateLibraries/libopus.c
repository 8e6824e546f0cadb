#include <opus/opus.h>

#include "late.h"
#include "late_libraries.h"

#define WITHOUT_VARIABLE_ARGUMENTS(F) \
    F(int, opus_decode_float, (OpusDecoder *st, const unsigned char *data, opus_int32 len, float *pcm, int \
      frame_size, int decode_fec), (st, data, len, pcm, frame_size, decode_fec)) \
    F(OpusDecoder *, opus_decoder_create, (opus_int32 Fs, int channels, int *error), (Fs, channels, error)) \
    F(void, opus_decoder_destroy, (OpusDecoder *st), (st)) \
    F(opus_int32, opus_encode_float, (OpusEncoder *st, const float *pcm, int frame_size, unsigned char *data, \
      opus_int32 max_data_bytes), (st, pcm, frame_size, data, max_data_bytes)) \
    F(OpusEncoder *, opus_encoder_create, (opus_int32 Fs, int channels, int application, int *error), (Fs, channels, \
      application, error)) \
    F(void, opus_encoder_destroy, (OpusEncoder *st), (st)) \
    F(int, opus_packet_get_nb_samples, (const unsigned char packet[], opus_int32 len, opus_int32 Fs), (packet, len, \
      Fs)) \
    F(const char *, opus_strerror, (int error), (error))
#define LIBOPUS(F) \
    WITHOUT_VARIABLE_ARGUMENTS(F) \
    F(int, opus_decoder_ctl, (OpusDecoder *st, int request, ...), ) \
    F(int, opus_encoder_ctl, (OpusEncoder *st, int request, ...), )

LATE_LIBRARY(libopus, LIBOPUS, "libopus.so.0")
#define DEFINE(...) LATE_FUNCTION(libopus, __VA_ARGS__)
WITHOUT_VARIABLE_ARGUMENTS(DEFINE)
#undef DEFINE

static int encoder_request(OpusEncoder *encoder, int request, void *value, int number) {
    __typeof__(&opus_encoder_ctl) call = late_target(&libopus, index_opus_encoder_ctl);
    return value ? call(encoder, request, value) : call(encoder, request, number);
}

int beam_opus_encoder_set(OpusEncoder *encoder, int request, int value) {
    return encoder_request(encoder, request, NULL, value);
}

int beam_opus_encoder_get(OpusEncoder *encoder, int request, int *value) {
    return encoder_request(encoder, request, value, 0);
}

int beam_opus_encoder_reset(OpusEncoder *encoder) { return encoder_request(encoder, OPUS_RESET_STATE, NULL, 0); }

int beam_opus_decoder_reset(OpusDecoder *decoder) {
    __typeof__(&opus_decoder_ctl) call = late_target(&libopus, index_opus_decoder_ctl);
    return call(decoder, OPUS_RESET_STATE);
}

const char *beam_load_libopus(void) { return late_load(&libopus); }
