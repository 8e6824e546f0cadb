#ifndef BEAM_ERROR_STREAM_H
#define BEAM_ERROR_STREAM_H

// Libraries (graphics drivers, D-Bus, Avahi, Xlib) write their own lines to standard error, for programmers. The
// program tells people what they need to know in its own words, which it writes to the descriptor.

/// From now on, what is written to the C library's `stderr` is dropped. Descriptor 2 stays as it is, for the program's
/// messages, and for those of the C library and of Swift before a crash. Does nothing if BEAMROOM_LIBRARY_MESSAGES is
/// set. Must be called before other threads exist.
void beam_error_stream_silence_libraries(void);

/// Sends what is written to descriptor 2 nowhere, for libraries that don't use `stderr`, until
/// `beam_error_stream_resume`. Nothing else may be writing messages meanwhile. Returns the value for that call.
int beam_error_stream_pause(void);
void beam_error_stream_resume(int saved);

#endif
