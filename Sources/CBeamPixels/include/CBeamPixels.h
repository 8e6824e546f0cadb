// Pixel kernels: colour conversion and picture comparison, 8 bits per sample.
//
// Planes are rows of bytes, `stride` bytes apart. Kernels read only within the picture's rows and write only within the
// given rectangle. BEAM_KERNEL_BEST selects the fastest variant for this processor at run time; all variants give
// identical results.
#ifndef C_BEAM_PIXELS_H
#define C_BEAM_PIXELS_H

#include <stddef.h>
#include <stdint.h>

typedef enum beam_kernel { BEAM_KERNEL_BEST, BEAM_KERNEL_PORTABLE } beam_kernel;

typedef struct beam_plane {
    uint8_t *base;
    ptrdiff_t stride;
} beam_plane;

typedef struct beam_const_plane {
    const uint8_t *base;
    ptrdiff_t stride;
} beam_const_plane;

typedef struct beam_size {
    int width, height;
} beam_size;

// Pixels x0 ≤ x < x1, y0 ≤ y < y1. Never empty.
typedef struct beam_rect {
    int x0, y0, x1, y1;
} beam_rect;

// RGB to YCbCr: factors × 32768. `y_offset` is black's code value plus 1/2 for rounding, × 32768.
typedef struct beam_to_yuv {
    int16_t y_b, y_g, y_r;
    int16_t u_b, u_g, u_r;
    int16_t v_b, v_g, v_r;
    int32_t y_offset;
} beam_to_yuv;

// YCbCr to RGB: factors × 8192. `offset` is −`luma` × black's code value plus 1/2 for rounding, × 32.
typedef struct beam_to_rgb {
    int16_t luma, red_v, green_u, green_v, blue_u;
    int16_t offset;
} beam_to_rgb;

// Converts `rect` of a BGRX picture to 4:2:0 at the same position. x0 and y0 must be even; x1 and y1 even or the
// picture's edge. Chroma is the mean of 2 × 2 pixels; at an odd edge, pixels replace their missing neighbours.
void beam_bgrx_to_i420(beam_const_plane source, beam_plane y, beam_plane u, beam_plane v, beam_rect rect,
                       const beam_to_yuv *coefficients, beam_kernel kernel);

// Converts `rect` of a BGRX picture to 4:4:4 at the same position.
void beam_bgrx_to_i444(beam_const_plane source, beam_plane y, beam_plane u, beam_plane v, beam_rect rect,
                       const beam_to_yuv *coefficients, beam_kernel kernel);

// Converts `rect` of a 4:2:0 picture of `size` to BGRX (X is 255). `output` starts at the rectangle's top left pixel.
// Chroma is sited in the centre of 2 × 2 pixels, and interpolated bilinearly with luma guidance (see chroma.c).
void beam_i420_to_bgrx(beam_const_plane y, beam_const_plane u, beam_const_plane v, beam_size size, beam_plane output,
                       beam_rect rect, const beam_to_rgb *coefficients, beam_kernel kernel);

// The same for a 4:4:4 picture.
void beam_i444_to_bgrx(beam_const_plane y, beam_const_plane u, beam_const_plane v, beam_plane output, beam_rect rect,
                       const beam_to_rgb *coefficients, beam_kernel kernel);

enum {
    // A tile's sides in luma samples.
    BEAM_TILE_WIDTH = 64,
    BEAM_TILE_HEIGHT = 16,
};

// Compares two pictures of `size` with three planes each; the chroma planes have ⌈width/2⌉ × ⌈height/2⌉ samples if
// `is_halved`, otherwise `size`. `tiles` has a byte for each of ⌈width/64⌉ × ⌈height/16⌉ tiles, row by row: 1 if any
// sample differs, else 0. Returns the number of differing tiles. Reading a tile stops after its first difference.
int beam_changed_tiles(const beam_const_plane a[3], const beam_const_plane b[3], beam_size size, int is_halved, uint8_t *tiles,
                       beam_kernel kernel);

enum {
    // A fingerprint has this many sums.
    BEAM_SUMS = 4,
    // A key for each pixel of a tile.
    BEAM_KEYS = BEAM_TILE_WIDTH * BEAM_TILE_HEIGHT,
};

// Finds the tiles of a BGRX picture of `size` that have changed since their fingerprints were taken, and takes new ones;
// X bytes are ignored. See pixels.c for what fingerprints are. `area`: the tiles to look at, x0 ≤ x < x1 and y0 ≤ y < y1.
// `keys`: random values in 0x01000000…0xfeffffff, the same for all calls. `fingerprints` and `tiles` have BEAM_SUMS values
// and a byte for each of the picture's tiles, row by row. A changed tile's byte becomes 1, the others stay. If `copy` isn't
// NULL, the area's tiles whose byte is 1 are copied to the same place there. Returns how many bytes have become 1.
int beam_changed_pixels(beam_const_plane picture, beam_size size, beam_rect area, const uint32_t *keys, uint64_t *fingerprints,
                        const beam_plane *copy, uint8_t *tiles, beam_kernel kernel);

// Copies `rect` of a BGRX picture whose first pixel is `source` to the same place of `output`, where the next pixel to the
// right is `right` bytes further in `source` and the next one below `down` bytes, so that a picture can be turned. With
// `swaps`, the first and the third byte of each pixel exchange their places.
void beam_copy_pixels(const uint8_t *source, ptrdiff_t right, ptrdiff_t down, beam_plane output, beam_rect rect, int swaps);

// Writes the pixels of `rect` of a BGRX picture, row by row, in 3 bytes each.
void beam_pack_pixels(beam_const_plane picture, beam_rect rect, uint8_t *packed, beam_kernel kernel);

// Writes pixels of 3 bytes each, whose rows are `stride` bytes apart, to `rect` of a BGRX picture (X is 255).
void beam_unpack_pixels(const uint8_t *packed, ptrdiff_t stride, beam_plane picture, beam_rect rect, beam_kernel kernel);

// By how much pixels have moved: the pixel at (x, y) was at (x + dx, y + dy) before.
typedef struct beam_motion {
    int dx, dy;
} beam_motion;

// Compares `area` of a BGRX picture with the same area, moved by `motion`, of an earlier one; both lie inside of their
// pictures. The area is looked at in cells: rows of 16 pixels whose first column is a multiple of 16, as far as they are in
// the area. `cells` has `words` words for each row of the area, with a bit for each cell from column 16 × `left` on, the
// lowest first; the bit of a cell that differs becomes 1, the others stay. Returns how many bits have become 1. X bytes are
// ignored.
int beam_changed_cells(beam_const_plane picture, beam_const_plane before, beam_rect area, beam_motion motion, uint64_t *cells,
                       int words, int left, beam_kernel kernel);

// Finds by how much a good part (30 %) of what has changed in `area` has moved since an earlier picture of the same size: not by 0, at
// most by `reach` in each direction, or by `last`, which is tried first. It judges by samples: nothing is sure before
// beam_changed_cells was asked. Returns 0 if there is no such motion.
int beam_find_motion(beam_const_plane picture, beam_const_plane before, beam_size size, beam_rect area, beam_size reach,
                     beam_motion last, beam_motion *motion, beam_kernel kernel);

// Copies to `target` the pixels that lie as far from it as `motion` says; both lie in the picture and may overlap.
void beam_move_pixels(beam_plane picture, beam_rect target, beam_motion motion);

// A hash of the pixels of `rect` of a BGRX picture, X bytes ignored. The page “Version 2 on the wire” defines it.
uint32_t beam_hash_pixels(beam_const_plane picture, beam_rect rect, beam_kernel kernel);

// The sum of absolute differences of two planes of `size` for each block of 16 × 16 samples, row by row. Blocks at the
// right and bottom edges may be smaller.
void beam_block_differences(beam_const_plane a, beam_const_plane b, beam_size size, uint32_t *sums);

// The mean structural similarity (Wang et al. 2004, uniform 8 × 8 windows, 4 samples apart) of two planes of `size`. A
// side below 8 reduces the window.
double beam_structural_similarity(beam_const_plane a, beam_const_plane b, beam_size size);

#endif
