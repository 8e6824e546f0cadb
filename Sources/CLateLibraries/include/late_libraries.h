#pragma once

// Large system libraries that a program loads when it first needs them, not when it starts: libavcodec and libavformat
// alone bring a hundred others along, which take longer to load than a viewer takes to connect.
//
// Their functions are called by their own names: this target defines them, each hands on to the library's. The libraries'
// own headers declare them, so that a definition that doesn't agree is an error of the compiler.

/// Loads the library, once for all threads; the first call of one of its functions does so too.
///
/// Each returns NULL, or why the library can't be used, as a sentence goes on: for as long as the process lives. A call of
/// a function of such a library writes that to standard error and ends the process, as a library that is missing at the
/// start does: whoever can say more asks here first.
const char *beam_load_libavutil(void);
const char *beam_load_libavcodec(void);
const char *beam_load_libavformat(void);
const char *beam_load_libswscale(void);
const char *beam_load_libx264(void);
const char *beam_load_libyuv(void);
