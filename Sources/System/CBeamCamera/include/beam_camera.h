#ifndef BEAM_CAMERA_H
#define BEAM_CAMERA_H

#include <stddef.h>
#include <stdint.h>
// Swift's module of the C library lacks it.
#include <sys/eventfd.h>

// Cameras that this machine has of pictures: a video device that takes them (v4l2loopback), and a source in PipeWire. Both
// have macros and inline functions that Swift doesn't import.

/// How the samples of a picture lie in memory. Chroma of an odd column or row is that of one more.
typedef enum {
    beam_layout_none,
    /// Y, then Cb, then Cr: 4:2:0 in three planes.
    beam_layout_i420,
    /// Y, then pairs of Cb and Cr: 4:2:0 in two planes.
    beam_layout_nv12,
    /// Y, Cb, Y, Cr: 4:2:2, four bytes for two pixels.
    beam_layout_yuyv,
    /// Blue, green, red, unused: four bytes a pixel.
    beam_layout_bgrx,
} beam_layout;

// --- A video device ---------------------------------------------------------------------------------------------------

typedef enum {
    /// Pictures can be written into it.
    beam_v4l2_output,
    /// A loopback device into which another program writes, so that it is only a camera now.
    beam_v4l2_taken,
    /// A camera, or another video device that takes no pictures.
    beam_v4l2_no_output,
    /// No video device at all.
    beam_v4l2_no_video,
} beam_v4l2_kind;

/// Opens it without waiting. A negated errno if that isn't possible.
int beam_v4l2_open(const char *_Nonnull path);
beam_v4l2_kind beam_v4l2_kind_of(int descriptor);

typedef struct {
    beam_layout layout;
    uint32_t width, height;
    /// Bytes from one row of the first plane to the next. 0: the device doesn't say.
    uint32_t stride;
    /// The bytes of a picture that the device has room for. 0: it doesn't say.
    uint32_t size;
} beam_v4l2_format;

/// Asks for `format`, whose `stride` and `size` aren't read, and stores what the device takes instead: BT.709 in limited
/// range. `beam_layout_none`: a layout that isn't one of ours. 0, or a negated errno.
int beam_v4l2_set_format(int descriptor, beam_v4l2_format *_Nonnull format);

// --- A source in PipeWire ---------------------------------------------------------------------------------------------

// libpipewire must have been loaded (beam_load_libpipewire). All of one source is used by one thread at a time.

/// A camera among the sources of PipeWire.
typedef struct beam_source beam_source;

/// Connects to the PipeWire whose socket is `remote`; NULL: this user's. `name` is what programs call the camera. NULL if
/// there is no memory, or no PipeWire; `*error` is a negated errno then.
beam_source *_Nullable beam_source_open(
    const char *_Nonnull name, const char *_Nullable remote, int *_Nonnull error);
void beam_source_close(beam_source *_Nonnull source);

/// From now on this thread waits for the source, until `beam_source_leave`.
void beam_source_enter(beam_source *_Nonnull source);
void beam_source_leave(beam_source *_Nonnull source);
/// Readable (POLLIN) when there is something to handle.
int beam_source_descriptor(beam_source *_Nonnull source);
/// Handles what has come, without waiting. The thread must have entered. False (0) once the connection is lost, or the
/// source has failed.
int beam_source_turn(beam_source *_Nonnull source);

/// Offers pictures of this size: the first time the camera appears, later the programs that can take another size get
/// this one. The others keep theirs. 0, or a negated errno.
int beam_source_offer(beam_source *_Nonnull source, uint32_t width, uint32_t height);

typedef struct {
    /// A program takes pictures now.
    int is_streaming;
    /// What was agreed upon; `beam_layout_none`: nothing yet. YUYV is BT.709 in limited range.
    beam_layout layout;
    uint32_t width, height;
    /// Changes with each agreement.
    uint32_t agreement;
} beam_source_state;

beam_source_state beam_source_get_state(beam_source *_Nonnull source);

/// Sends this picture: rows without padding, in the layout and size that were agreed upon, all `length` bytes of it. They
/// are read until the next call, the next agreement or `beam_source_close`, because a program may ask again. False (0): the
/// length doesn't fit what was agreed upon.
int beam_source_show(beam_source *_Nonnull source, const uint8_t *_Nonnull bytes, size_t length);

#endif
