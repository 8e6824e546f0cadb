#include "heap.h"

#include <limits.h>
#include <malloc.h>

int beam_map_blocks_from(size_t bytes) {
    return bytes <= INT_MAX ? mallopt(M_MMAP_THRESHOLD, (int)bytes) : 0;
}
