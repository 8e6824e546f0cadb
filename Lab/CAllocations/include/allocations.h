#pragma once

#include <stdint.h>

/// Calls of malloc, calloc, realloc and their kin in this process since it started, by all threads.
uint64_t beam_allocations(void);
