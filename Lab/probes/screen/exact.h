// Contents whose changes are looked for pixel by pixel: what each changes, and what its place must look like then.
#pragma once

#include "probe.h"

enum { MOST_PLACES = 2 };

/// What is painted. Its functions are called by one thread.
struct scene {
    /// Changes a second. Not a round number, so that their phase drifts against a capture clock's.
    double rate;
    /// The time from one change to the next is this share shorter or longer, at random.
    double unevenness;
    /// The next change covers the one before, so that only the newest can be seen.
    bool replaces;
    /// How many changes are looked for at a time.
    int kept;
    /// The changes are of the pointer, which a grabbed screen doesn't have.
    bool moves_pointer;
    /// Where all changes are.
    struct part area;
    /// Shows the screen before the first change, and writes its pixels to `model`, which has the display's size.
    void (*open)(uint32_t *model);
    /// Decides on change `number`: which parts of the area it changes.
    int (*plan)(int number, struct part places[MOST_PLACES], const uint32_t *model);
    /// Makes the change that was planned last in the model, and on the display, which has drawn it when this returns.
    void (*draw)(uint32_t *model);
    void (*paint)(void);
};

/// The scene of `options.content`, which is TYPING or comes after it.
const struct scene *choose_scene(void);

/// Copies a part of one picture to another place; strides in pixels.
void copy_pixels(uint32_t *to, int to_stride, const uint32_t *from, int from_stride, int columns, int rows);

static inline uint32_t *pixel_at(uint32_t *picture, int x, int y) {
    return picture + (size_t)y * (size_t)width + (size_t)x;
}
