#ifndef BEAM_ERROR_STREAM_H
#define BEAM_ERROR_STREAM_H

// Libraries (graphics drivers, D-Bus, Avahi, Xlib) write their own lines to standard error, for programmers. The
// program tells people what they need to know in its own words, which it writes to the descriptor.

/// From now on, what is written to the C library's `stderr` is dropped. Descriptor 2 stays as it is, for the messages of
/// the C library and of Swift before a crash. Does nothing if BEAMROOM_LIBRARY_MESSAGES is set. Must be called before
/// other threads exist.
void beam_error_stream_silence_libraries(void);

/// A descriptor of the program's own for standard error, which a pause leaves alone; 2 if the system has no more
/// descriptors. Children don't inherit it. The same one whenever it is called; it is never closed.
int beam_error_stream_messages(void);

/// Sends what is written to descriptor 2 nowhere, for libraries that don't use `stderr`, until as many calls of
/// `beam_error_stream_resume` as of this function. May be called on any thread, also while another one has paused it. What
/// is written to `beam_error_stream_messages` isn't lost.
void beam_error_stream_pause(void);
void beam_error_stream_resume(void);

#endif
