#ifndef BEAM_PORTAL_H
#define BEAM_PORTAL_H

#include <stddef.h>
#include <stdint.h>

// Streams of pictures from PipeWire. Their parameters are built and read, and objects' methods called, by inline functions
// and macros that Swift doesn't import.
//
// libpipewire must have been loaded (beam_load_libpipewire). Everything of one connection is used by one thread at a time.

/// A connection to PipeWire, by the descriptor that the portal hands out.
typedef struct beam_pipewire beam_pipewire;

/// Takes over `descriptor`. NULL if there is no memory, or PipeWire doesn't work; `*error` is a negated errno then.
beam_pipewire *_Nullable beam_pipewire_open(int descriptor, int *_Nonnull error);
/// Its streams must have been closed.
void beam_pipewire_close(beam_pipewire *_Nonnull connection);

/// From now on this thread waits for the connection, until `beam_pipewire_leave`.
void beam_pipewire_enter(beam_pipewire *_Nonnull connection);
void beam_pipewire_leave(beam_pipewire *_Nonnull connection);
/// Readable (POLLIN) when there is something to handle.
int beam_pipewire_descriptor(beam_pipewire *_Nonnull connection);
/// Handles what has come, without waiting. The thread must have entered. False (0) once the connection is lost.
int beam_pipewire_turn(beam_pipewire *_Nonnull connection);

/// A stream of pictures.
typedef struct beam_stream beam_stream;

typedef enum {
    /// Negotiates, or waits for the source.
    beam_stream_connecting,
    /// Negotiated, but the source sends nothing.
    beam_stream_paused,
    beam_stream_streaming,
    /// Ended: the source is gone, or the negotiation failed.
    beam_stream_failed,
} beam_stream_phase;

/// The layouts of pixels that are asked for: four bytes each, named from the lowest address up.
typedef enum { beam_pixels_none, beam_pixels_bgrx, beam_pixels_rgbx } beam_pixel_order;

typedef struct {
    beam_stream_phase phase;
    /// `beam_pixels_none` until the format is negotiated.
    beam_pixel_order order;
    uint32_t width, height;
    /// The source's node was removed from PipeWire.
    int is_node_gone;
    /// Of a failure; empty: unknown.
    char reason[160];
} beam_stream_state;

typedef struct {
    int32_t x, y;
    uint32_t width, height;
} beam_portal_rect;

/// A buffer of the source with its metadata. Valid until it is given back.
///
/// What the source says of damage isn't read: wlroots' portal leaves some of it out before version 0.8.2, and a change that
/// was missed would stay on the screen for good. Whoever takes the pictures compares them.
typedef struct {
    void *_Nullable handle;
    /// Rows of pixels, `stride` bytes apart; NULL: no picture. `length` bytes may be read.
    const uint8_t *_Nullable pixels;
    size_t length;
    int32_t stride;
    /// The bytes that the source says it has written. 0: only the cursor has changed.
    uint32_t chunk_size;
    /// The chunk's or the header's flag says that the content is unusable.
    int is_corrupted;
    /// The part of the picture that counts, if `has_crop`.
    int has_crop;
    beam_portal_rect crop;
    /// How the picture was turned, of enum spa_meta_videotransform_value: wlroots' portal hands out a turned monitor's pixels
    /// as they are scanned out. 0: not at all.
    uint32_t transform;
    /// Whether there is metadata about the cursor. 0: nothing is known of it.
    int has_cursor;
    /// 0: the cursor isn't on this picture.
    uint32_t cursor_id;
    int32_t cursor_x, cursor_y, hotspot_x, hotspot_y;
    /// A new image of the cursor is in `cursor_pixels`, rows `cursor_stride` bytes apart, colours multiplied by alpha; with
    /// a NULL there, it is invisible.
    int has_cursor_image;
    beam_pixel_order cursor_order;
    uint32_t cursor_width, cursor_height;
    int32_t cursor_stride;
    const uint8_t *_Nullable cursor_pixels;
    /// When the picture was drawn, in nanoseconds of the source's clock; 0 or less: not said.
    int64_t drawn_at;
    /// The pixels are in the graphics device's memory: its descriptor; otherwise -1.
    int graphics_memory;
} beam_buffer;

/// Asks for the pictures of a node, at most `rate` / 1000 a second: in memory of the processor, or if the source has none, in
/// that of the graphics device, row by row (DMA-BUF with the linear modifier). `serial`, if it isn't NULL, identifies the node better
/// than its ID, which is used again for others. NULL if there is no memory, or PipeWire refuses; `*error` is a negated errno
/// then.
beam_stream *_Nullable beam_stream_open(
    beam_pipewire *_Nonnull connection, uint32_t node, const char *_Nullable serial, uint32_t rate,
    int *_Nonnull error);
void beam_stream_close(beam_stream *_Nonnull stream);
beam_stream_state beam_stream_get_state(beam_stream *_Nonnull stream);

/// Takes the oldest buffer that has come. 0 if there is none.
int beam_stream_take(beam_stream *_Nonnull stream, beam_buffer *_Nonnull buffer);
/// Around reading `pixels`: waits until the graphics device has drawn them, and makes what it wrote visible. Nothing needs to
/// be done, and nothing is, for memory of the processor.
void beam_buffer_begin_reading(const beam_buffer *_Nonnull buffer);
void beam_buffer_end_reading(const beam_buffer *_Nonnull buffer);
/// Gives a buffer back to the source. Must happen before the connection's next turn.
void beam_stream_give_back(beam_stream *_Nonnull stream, void *_Nonnull handle);

#endif
