// What is shown: a still desktop, a tall page of text that scrolls, or something like a video.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe.h"

int width, height, picture_count = 1, tall_height;
static uint32_t **pictures;

int scroll_offset(uint32_t number) {
    enum { ROWS_A_FRAME = 4 };
    int span = tall_height - height;
    if (options.content != SCROLL || span <= 0) return 0;
    int place = (int)((int64_t)number * ROWS_A_FRAME % (2 * span));
    return place < span ? place : 2 * span - place;
}

const uint32_t *picture_row(uint32_t number, int y) {
    size_t row = (size_t)(y + scroll_offset(number));
    return pictures[options.content == VIDEO ? number % (uint32_t)picture_count : 0] + row * (size_t)width;
}

static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) fail("out of memory", "pictures");
    return memory;
}

uint32_t *load_ppm(const char *path, int *columns_found, int *rows) {
    FILE *file = fopen(path, "rb");
    if (!file) fail("can't open", path);
    int columns, most;
    if (fscanf(file, "P6 %d %d %d", &columns, rows, &most) != 3 || most != 255) fail("not a P6 picture", path);
    if (columns < 1 || *rows < 1 || columns > 1 << 14 || *rows > 1 << 15) fail("it is of no sensible size", path);
    fgetc(file);
    uint32_t *pixels = allocate((size_t)columns * (size_t)*rows * 4);
    unsigned char *row = allocate((size_t)columns * 3);
    for (int y = 0; y < *rows; y++) {
        if (fread(row, 3, (size_t)columns, file) != (size_t)columns) fail("it is cut off", path);
        for (int x = 0; x < columns; x++) {
            pixels[(size_t)y * (size_t)columns + (size_t)x] =
                (uint32_t)row[3 * x] << 16 | (uint32_t)row[3 * x + 1] << 8 | row[3 * x + 2];
        }
    }
    free(row);
    fclose(file);
    *columns_found = columns;
    return pixels;
}

static uint32_t random_state;

static uint32_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}

static float smooth(float t) { return t * t * (3 - 2 * t); }

/// Smooth noise of six octaves, the coarser the stronger, as natural pictures have it.
static float *make_texture(int columns, int rows) {
    float *texture = allocate((size_t)columns * (size_t)rows * sizeof *texture);
    random_state = 4242;
    for (int octave = 0; octave < 6; octave++) {
        int cell = 256 >> octave;
        float strength = 60.f / (float)(1 << octave);
        int across = columns / cell + 2, down = rows / cell + 2;
        float *grid = allocate((size_t)(across * down) * sizeof *grid);
        for (int i = 0; i < across * down; i++) grid[i] = (float)(random_bits() % 2001) / 1000.f - 1;
        for (int y = 0; y < rows; y++) {
            const float *upper = grid + y / cell * across, *lower = upper + across;
            float fy = smooth((float)(y % cell) / (float)cell);
            for (int x = 0; x < columns; x++) {
                int i = x / cell;
                float fx = smooth((float)(x % cell) / (float)cell);
                float above = upper[i] * (1 - fx) + upper[i + 1] * fx;
                float below = lower[i] * (1 - fx) + lower[i + 1] * fx;
                texture[(size_t)y * (size_t)columns + (size_t)x] += strength * (above * (1 - fy) + below * fy);
            }
        }
        free(grid);
    }
    return texture;
}

static uint32_t pixel(float red, float green, float blue) {
    float values[] = {red, green, blue};
    uint32_t result = 0;
    for (int i = 0; i < 3; i++) {
        float value = values[i] < 0 ? 0 : values[i] > 255 ? 255 : values[i];
        result = result << 8 | (uint32_t)value;
    }
    return result;
}

/// A textured disc, `index` of six, each on a path of its own.
static void draw_disc(uint32_t *picture, const float *texture, int columns, int index, double phase) {
    int radius = 40 + 20 * index;
    int left = (int)(width / 2. + (width / 2. - radius) * sin(phase * (1 + index % 3) + index)) - radius;
    int top = (int)(height / 2. + (height / 2. - radius) * cos(phase * (1 + index % 2) + 2 * index)) - radius;
    for (int y = 0; y < 2 * radius; y++) {
        for (int x = 0; x < 2 * radius; x++) {
            int dx = x - radius, dy = y - radius, px = left + x, py = top + y;
            if (dx * dx + dy * dy >= radius * radius || px < 0 || px >= width || py < 0 || py >= height) continue;
            float value = texture[(size_t)(y + 50 * index) * (size_t)columns + (size_t)(x + 90 * index)];
            picture[(size_t)py * (size_t)width + (size_t)px] =
                pixel(90 + 25 * (float)index + value, 200 - 25 * (float)index + value, 60 + 10 * (float)index + value);
        }
    }
}

/// One second or so, in a loop: a texture that pans, six discs that move over it, and grain.
static void make_video(void) {
    int columns = width + 512, rows = height + 512;
    float *texture = make_texture(columns, rows);
    for (int n = 0; n < picture_count; n++) {
        uint32_t *picture = pictures[n] = allocate((size_t)width * (size_t)height * 4);
        double phase = 2 * M_PI * n / picture_count;
        int left = 256 + (int)(120 * sin(phase)), top = 256 + (int)(60 * cos(phase));
        for (int y = 0; y < height; y++) {
            const float *row = texture + (size_t)(y + top) * (size_t)columns + left;
            float fade = 30.f * (float)y / (float)height;
            for (int x = 0; x < width; x++) {
                uint32_t grain = random_bits();
                picture[(size_t)y * (size_t)width + (size_t)x] =
                    pixel(120 + row[x] + (float)(grain & 3), 110 + row[x] * .8f + (float)(grain >> 2 & 3),
                          100 + row[x] * .6f + fade + (float)(grain >> 4 & 3));
            }
        }
        for (int disc = 0; disc < 6; disc++) draw_disc(picture, texture, columns, disc, phase);
    }
    free(texture);
}

uint32_t *make_texture_picture(void) {
    float *texture = make_texture(width, height);
    uint32_t *picture = allocate((size_t)width * (size_t)height * 4);
    for (size_t i = 0; i < (size_t)width * (size_t)height; i++)
        picture[i] = pixel(120 + texture[i], 110 + texture[i] * .8f, 100 + texture[i] * .6f);
    free(texture);
    return picture;
}

void load_pictures(void) {
    // As many as make a loop of a second, and no more than memory should hold.
    if (options.content == VIDEO) picture_count = options.rate > 45 ? 64 : 32;
    pictures = allocate((size_t)picture_count * sizeof *pictures);
    tall_height = height;
    if (options.content == VIDEO) {
        make_video();
    } else if (options.image) {
        int columns;
        pictures[0] = load_ppm(options.image, &columns, &tall_height);
        if (columns != width || tall_height < height) fail("its size doesn't fit the display", options.image);
    } else {
        fail("--image is missing", "still and scrolling content");
    }
}
