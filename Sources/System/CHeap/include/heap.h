// Settings of the C library's heap, whose header Swift's module of that library leaves out.
#pragma once

#include <stddef.h>

/// Blocks of this many bytes or more get a mapping of their own, which ends with them (M_MMAP_THRESHOLD of mallopt(3)).
/// 0 if the library refuses.
int beam_map_blocks_from(size_t bytes);
