// Conversion from 4:2:0 to BGRX with luma-guided chroma interpolation.
//
// Interpolation alone leaves chroma with a quarter of luma's samples, so that coloured text has fringes. But where a
// picture consists of two colours, chroma is a linear function of luma. A least-squares fit (the guided filter: He, Sun
// and Tang, "Guided Image Filtering", ECCV 2010) over 3 × 3 chroma samples and the mean luma of each gives the slope,
// and
//
//     chroma of a pixel = interpolated chroma + slope × (its luma - interpolated mean luma)
//
// which is exact where the relation is linear, and plain interpolation where the slope is 0.
//
// Other content violates the assumption: a film was 4:2:0 before, so that its chroma is soft where its luma is sharp.
// Shading also makes luma and chroma vary together at large scale without telling anything about detail. So the fit
// uses the residual after removing the plane (a gradient in any direction) from the 3 × 3 samples. Six sums remain of
// the nine samples, each a product of (1 1 1), (-1 0 1) or (1 -2 1) along the axes. With variances a (luma) and b (both
// chroma) and covariances p and q:
//
//     slopes = (p, q) / (a + 10) × (1 + 3/4 - (3/4 b + 2) a / (p^2 + q^2)), factor at least 0, slopes within ±2
//
// The second factor is 1 where luma explains all of the chroma, and 0 where it explains three sevenths or less, or
// where there is almost no chroma variance.
#include "bands.h"
#include "variants.h"

#include <string.h>

static inline int least(int a, int b) { return a < b ? a : b; }

typedef struct picture {
    beam_const_plane y, u, v;
    beam_size size, chroma;
} picture;

static int16_t luma_sum(const picture *from, int row, int column) {
    const uint8_t *upper = from->y.base + 2 * row * from->y.stride;
    const uint8_t *lower = 2 * row + 1 < from->size.height ? upper + from->y.stride : upper;
    const int left = 2 * column, right = least(left + 1, from->size.width - 1);
    return (int16_t)(upper[left] + upper[right] + lower[left] + lower[right]);
}

// `count` chroma samples of a row from `first` on, with a neighbour on each side. Outermost samples are repeated beyond
// the picture's edges.
typedef struct row_part {
    beam_chroma_row row;
    int has_luma;
} row_part;

static void load_chroma(row_part *to, const picture *from, int row, int first, int count) {
    const uint8_t *u = from->u.base + row * from->u.stride, *v = from->v.base + row * from->v.stride;
    const int left = first > 0 ? first - 1 : 0, right = least(first + count, from->chroma.width - 1);
    beam_chroma_row *out = &to->row;
    memcpy(out->u + BEAM_BEFORE, u + first, (size_t)count);
    memcpy(out->v + BEAM_BEFORE, v + first, (size_t)count);
    out->u[BEAM_BEFORE - 1] = u[left];
    out->v[BEAM_BEFORE - 1] = v[left];
    out->u[BEAM_BEFORE + count] = u[right];
    out->v[BEAM_BEFORE + count] = v[right];
    to->has_luma = 0;
}

// Luma is loaded only if chroma isn't flat.
static void load_luma(row_part *to, const picture *from, int row, int first, int count, const beam_variant *run) {
    if (to->has_luma) return;
    const int left = first > 0 ? first - 1 : 0, right = least(first + count, from->chroma.width - 1);
    const uint8_t *upper = from->y.base + 2 * row * from->y.stride;
    const uint8_t *lower = 2 * row + 1 < from->size.height ? upper + from->y.stride : upper;
    const int pairs = least(count, from->size.width / 2 - first);
    int16_t *luma = to->row.luma;
    run->sum_2x2(upper + 2 * first, lower + 2 * first, luma + BEAM_BEFORE, pairs);
    if (pairs < count) luma[BEAM_BEFORE + pairs] = luma_sum(from, row, first + pairs);
    luma[BEAM_BEFORE - 1] = luma_sum(from, row, left);
    luma[BEAM_BEFORE + count] = luma_sum(from, row, right);
    to->has_luma = 1;
}

// Chroma and luma interpolated between two rows of samples, with a neighbour on each side.
typedef struct mixed_row {
    int16_t u[BEAM_PART_LENGTH], v[BEAM_PART_LENGTH], luma[BEAM_PART_LENGTH];
} mixed_row;

static void convert(const uint8_t *y, const mixed_row *mixed, const beam_slopes *slopes, int first, int is_steep,
                    uint8_t *output, int pixels, const beam_to_rgb *k, const beam_variant *run) {
    const int16_t *u = mixed->u + BEAM_BEFORE + first, *v = mixed->v + BEAM_BEFORE + first;
    if (is_steep) {
        const int16_t *luma = mixed->luma + BEAM_BEFORE + first;
        run->guided_to_bgrx(y, u, v, luma, slopes->u + first, slopes->v + first, output, pixels, k);
    } else {
        run->mixed_to_bgrx(y, u, v, output, pixels, k);
    }
}

// Converts `pixels` of a row, but doesn't write the first `skip` (0 or 1).
static void convert_row(const uint8_t *y, const mixed_row *mixed, const beam_slopes *slopes, uint8_t *output, int pixels,
                        int skip, const beam_to_rgb *k, const beam_variant *run) {
    const int whole = skip ? 0 : pixels / BEAM_BLOCK, rest = pixels - whole * BEAM_BLOCK;
    for (int block = 0; block < whole;) {
        const int is_steep = slopes->is_steep[block];
        int end = block + 1;
        while (end < whole && slopes->is_steep[end] == is_steep) end++;
        const int x = block * BEAM_BLOCK;
        convert(y + x, mixed, slopes, x / 2, is_steep, output + 4 * x, (end - block) * BEAM_BLOCK, k, run);
        block = end;
    }
    if (rest > 0) {
        const int x = whole * BEAM_BLOCK;
        uint8_t in[BEAM_BLOCK] = {0}, out[4 * BEAM_BLOCK];
        memcpy(in, y + x, (size_t)rest);
        convert(in, mixed, slopes, x / 2, slopes->is_steep[whole], out, BEAM_BLOCK, k, run);
        memcpy(output + 4 * x, out + 4 * skip, 4 * (size_t)(rest - skip));
    }
}

// Converts the columns of `rect`: at most BEAM_PART * 2, starting at an even one; the first `skip` pixels aren't
// written.
static void convert_part(const picture *from, beam_rect rect, int skip, uint8_t *output, ptrdiff_t stride,
                         const beam_to_rgb *k, const beam_variant *run) {
    const int first = rect.x0 / 2, pixels = rect.x1 - rect.x0, count = (pixels + 1) / 2;
    const int blocks = (count + BEAM_BLOCK / 2 - 1) / (BEAM_BLOCK / 2), last = from->chroma.height - 1;
    row_part kept[3] = {0};
    beam_slopes slopes;
    mixed_row mixed = {0};
    const int top = rect.y0 / 2;
    load_chroma(&kept[top % 3], from, top, first, count);
    if (top > 0) load_chroma(&kept[(top - 1) % 3], from, top - 1, first, count);
    for (int row = top; row <= (rect.y1 - 1) / 2; row++) {
        if (row < last) load_chroma(&kept[(row + 1) % 3], from, row + 1, first, count);
        const int before = row > 0 ? row - 1 : row, after = row < last ? row + 1 : row;
        const beam_chroma_row *above = &kept[before % 3].row, *here = &kept[row % 3].row, *below = &kept[after % 3].row;
        int is_steep = run->find_uneven(above, here, below, blocks, &slopes);
        if (is_steep) {
            for (int i = before; i <= after; i++) load_luma(&kept[i % 3], from, i, first, count, run);
            run->fit_slopes(above, here, below, blocks, &slopes);
            is_steep = memchr(slopes.is_steep, 1, (size_t)blocks) != NULL;
        }
        for (int line = 2 * row; line < 2 * row + 2; line++) {
            if (line < rect.y0 || line >= rect.y1) continue;
            const beam_chroma_row *far_row = line % 2 == 0 ? above : below;
            const int from_sample = BEAM_BEFORE - 1;
            run->mix_rows(here->u + from_sample, far_row->u + from_sample, mixed.u + from_sample, count + 2);
            run->mix_rows(here->v + from_sample, far_row->v + from_sample, mixed.v + from_sample, count + 2);
            if (is_steep) {
                run->mix_sums(here->luma + from_sample, far_row->luma + from_sample, mixed.luma + from_sample, count + 2);
            }
            convert_row(from->y.base + line * from->y.stride + rect.x0, &mixed, &slopes, output + (line - rect.y0) * stride,
                        pixels, skip, k, run);
        }
    }
}

typedef struct from_i420 {
    picture from;
    beam_plane output;
    beam_rect rect;
    const beam_to_rgb *coefficients;
    const beam_variant *run;
} from_i420;

static void convert_band(const void *arguments, int y0, int y1) {
    const from_i420 *job = arguments;
    uint8_t *output = job->output.base + (y0 - job->rect.y0) * job->output.stride;
    for (int x = job->rect.x0; x < job->rect.x1;) {
        // Parts start at an even pixel. If the rectangle doesn't, its first pixel is a part of its own.
        const int skip = x & 1, end = skip ? x + 1 : least(job->rect.x1, x + 2 * BEAM_PART);
        const beam_rect part = {x - skip, y0, end, y1};
        convert_part(&job->from, part, skip, output + 4 * (x - job->rect.x0), job->output.stride, job->coefficients, job->run);
        x = end;
    }
}

void beam_i420_to_bgrx(beam_const_plane y, beam_const_plane u, beam_const_plane v, beam_size size, beam_plane output,
                       beam_rect rect, const beam_to_rgb *coefficients, beam_kernel kernel) {
    const picture from = {y, u, v, size, {(size.width + 1) / 2, (size.height + 1) / 2}};
    const from_i420 job = {from, output, rect, coefficients, beam_find_variant(kernel)};
    beam_in_bands(rect, convert_band, &job);
}
