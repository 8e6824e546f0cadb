// The scenes: letters that are typed, lines that scroll, a window that is dragged, a pointer that moves, and a screen
// that rests after large changes.

#include <math.h>
#include <stdlib.h>

#include "exact.h"

enum {
    LETTER_WIDTH = 9,
    LETTER_HEIGHT = 17,
    /// The text area: not on the raster of 16 pixels that encoders and patches have.
    TEXT_X = 211,
    TEXT_Y = 107,
    TEXT_WIDTH = 800,
    TEXT_HEIGHT = 600,
    COLUMNS = TEXT_WIDTH / LETTER_WIDTH,
    LINES_SHOWN = TEXT_HEIGHT / LETTER_HEIGHT,
    WINDOW_WIDTH = 400,
    WINDOW_HEIGHT = 300,
    POINTER_HEIGHT = 24,
    POINTER_WIDTH = 16,
};

static Display *display;
static Window window;
static GC context;
/// The picture behind everything, and the page of text, with its width and height; each also on the server.
static uint32_t *backdrop, *page;
static int page_width, page_height;
static Pixmap backdrop_pixmap, page_pixmap;

/// A window that covers the screen and shows the backdrop.
static void open_window(uint32_t *model) {
    display = XOpenDisplay(options.host);
    if (!display) fail("can't open the display", options.host);
    int screen = DefaultScreen(display);
    XSetWindowAttributes attributes = {.override_redirect = True};
    window = XCreateWindow(display, RootWindow(display, screen), 0, 0, (unsigned)width, (unsigned)height, 0,
                           DefaultDepth(display, screen), InputOutput, DefaultVisual(display, screen),
                           CWOverrideRedirect, &attributes);
    context = XCreateGC(display, window, 0, NULL);
    XSetGraphicsExposures(display, context, False);
    backdrop_pixmap = upload(display, window, context, backdrop, width, height);
    // The server paints it itself where something that was over it moves away.
    XSetWindowBackgroundPixmap(display, window, backdrop_pixmap);
    XMapRaised(display, window);
    XSync(display, False);
    copy_pixels(model, width, backdrop, width, width, height);
}

static void load_backdrop(void) {
    int columns, rows;
    if (!options.image) fail("--image is missing", "this content");
    backdrop = load_ppm(options.image, &columns, &rows);
    if (columns != width || rows < height) fail("its size doesn't fit the display", options.image);
}

static void load_page(int least_width, int least_height) {
    if (!options.page) fail("--page is missing", "this content");
    page = load_ppm(options.page, &page_width, &page_height);
    if (page_width < least_width || page_height < least_height) fail("it is too small", options.page);
}

static void open_page(uint32_t *model) {
    open_window(model);
    page_pixmap = upload(display, window, context, page, page_width, page_height);
}

static const uint32_t *page_at(int x, int y) { return page + (size_t)y * (size_t)page_width + (size_t)x; }

/// Shows the page's top in the text area.
static void show_page(uint32_t *model) {
    XCopyArea(display, page_pixmap, window, context, 0, 0, TEXT_WIDTH, TEXT_HEIGHT, TEXT_X, TEXT_Y);
    XSync(display, False);
    copy_pixels(pixel_at(model, TEXT_X, TEXT_Y), width, page, page_width, TEXT_WIDTH, TEXT_HEIGHT);
}

// --- Typing: a letter at a time into an empty text area

static struct {
    /// The letter that is next, counted in the page, and where it is put.
    int source, x, y;
} typed;

static void open_typing(uint32_t *model) {
    open_page(model);
    uint32_t paper = *page;
    XSetForeground(display, context, paper);
    XFillRectangle(display, window, context, TEXT_X, TEXT_Y, TEXT_WIDTH, TEXT_HEIGHT);
    XSync(display, False);
    for (int y = 0; y < TEXT_HEIGHT; y++) {
        for (int x = 0; x < TEXT_WIDTH; x++) *pixel_at(model, TEXT_X + x, TEXT_Y + y) = paper;
    }
}

static const uint32_t *letter(int source) {
    int count = COLUMNS * (page_height / LETTER_HEIGHT);
    source %= count;
    return page_at(source % COLUMNS * LETTER_WIDTH, source / COLUMNS * LETTER_HEIGHT);
}

/// Whether a letter has enough ink that differs from what is at its place: no space, and not just a dot.
static bool shows(const uint32_t *letter, const uint32_t *place) {
    int differing = 0;
    for (int y = 0; y < LETTER_HEIGHT; y++) {
        const uint32_t *ink = letter + (size_t)y * (size_t)page_width, *under = place + (size_t)y * (size_t)width;
        for (int x = 0; x < LETTER_WIDTH; x++) differing += ink[x] != under[x];
    }
    return differing >= 20;
}

static int plan_typing(int number, struct part *places, const uint32_t *model) {
    typed.x = TEXT_X + 4 + number % (COLUMNS - 1) * LETTER_WIDTH;
    typed.y = TEXT_Y + 3 + number / (COLUMNS - 1) % LINES_SHOWN * LETTER_HEIGHT;
    const uint32_t *place = model + (size_t)typed.y * (size_t)width + (size_t)typed.x;
    do typed.source++;
    while (!shows(letter(typed.source), place));
    places[0] = (struct part){typed.x, typed.y, LETTER_WIDTH, LETTER_HEIGHT};
    return 1;
}

static void draw_typing(uint32_t *model) {
    copy_pixels(pixel_at(model, typed.x, typed.y), width, letter(typed.source), page_width, LETTER_WIDTH,
                LETTER_HEIGHT);
}

static void paint_typing(void) {
    ptrdiff_t at = letter(typed.source) - page;
    XCopyArea(display, page_pixmap, window, context, (int)(at % page_width), (int)(at / page_width), LETTER_WIDTH,
              LETTER_HEIGHT, typed.x, typed.y);
    XSync(display, False);
}

// --- Lines: a terminal's text moves up by one line, and another one comes below

static int top_row;

static void open_lines(uint32_t *model) {
    open_page(model);
    top_row = 0;
    show_page(model);
}

static int plan_lines(int number, struct part *places, const uint32_t *model) {
    (void)model;
    top_row = (number + 1) * LETTER_HEIGHT % page_height;
    places[0] = (struct part){TEXT_X, TEXT_Y, TEXT_WIDTH, TEXT_HEIGHT};
    return 1;
}

static void draw_lines(uint32_t *model) {
    for (int y = 0; y < TEXT_HEIGHT; y++)
        copy_pixels(pixel_at(model, TEXT_X, TEXT_Y + y), width, page_at(0, (top_row + y) % page_height), page_width,
                    TEXT_WIDTH, 1);
}

static void paint_lines(void) {
    const int stays = TEXT_HEIGHT - LETTER_HEIGHT;
    XGrabServer(display);
    XCopyArea(display, window, window, context, TEXT_X, TEXT_Y + LETTER_HEIGHT, TEXT_WIDTH, (unsigned)stays, TEXT_X,
              TEXT_Y);
    // The page goes on at its top.
    int row = (top_row + stays) % page_height, left = page_height - row;
    int first = left < LETTER_HEIGHT ? left : LETTER_HEIGHT;
    XCopyArea(display, page_pixmap, window, context, 0, row, TEXT_WIDTH, (unsigned)first, TEXT_X, TEXT_Y + stays);
    if (first < LETTER_HEIGHT)
        XCopyArea(display, page_pixmap, window, context, 0, 0, TEXT_WIDTH, (unsigned)(LETTER_HEIGHT - first), TEXT_X,
                  TEXT_Y + stays + first);
    XUngrabServer(display);
    XSync(display, False);
}

// --- Drag: a window with text moves over a texture

static Window dragged;
static int dragged_x, dragged_y;
enum { DRAG_X = 151, DRAG_Y = 93, DRAG_ACROSS = 600, DRAG_DOWN = 300 };

static void open_drag(uint32_t *model) {
    open_page(model);
    dragged_x = DRAG_X;
    dragged_y = DRAG_Y;
    XSetWindowAttributes attributes = {.background_pixmap = page_pixmap};
    dragged = XCreateWindow(display, window, dragged_x, dragged_y, WINDOW_WIDTH, WINDOW_HEIGHT, 0, CopyFromParent,
                            InputOutput, CopyFromParent, CWBackPixmap, &attributes);
    XMapRaised(display, dragged);
    XSync(display, False);
    copy_pixels(pixel_at(model, dragged_x, dragged_y), width, page, page_width, WINDOW_WIDTH, WINDOW_HEIGHT);
}

static int plan_drag(int number, struct part *places, const uint32_t *model) {
    (void)model;
    places[0] = (struct part){dragged_x, dragged_y, WINDOW_WIDTH, WINDOW_HEIGHT};
    // To and fro, in steps of up to 28 pixels across and 23 down.
    int x = DRAG_X + (int)(DRAG_ACROSS / 2. * (1 - cos(2 * M_PI * (number + 1) / 67)));
    int y = DRAG_Y + (int)(DRAG_DOWN / 2. * (1 - cos(2 * M_PI * (number + 1) / 41)));
    if (x == dragged_x && y == dragged_y) x++;
    dragged_x = x;
    dragged_y = y;
    places[1] = (struct part){x, y, WINDOW_WIDTH, WINDOW_HEIGHT};
    return 2;
}

static void draw_drag(uint32_t *model) {
    // Wherever it was before.
    for (int y = DRAG_Y; y < DRAG_Y + DRAG_DOWN + WINDOW_HEIGHT; y++)
        copy_pixels(pixel_at(model, DRAG_X, y), width, pixel_at(backdrop, DRAG_X, y), width,
                    DRAG_ACROSS + 1 + WINDOW_WIDTH, 1);
    copy_pixels(pixel_at(model, dragged_x, dragged_y), width, page, page_width, WINDOW_WIDTH, WINDOW_HEIGHT);
}

static void paint_drag(void) {
    XMoveWindow(display, dragged, dragged_x, dragged_y);
    XSync(display, False);
}

// --- Pointer: it moves over a desktop at rest

static int pointer_x, pointer_y;
enum { MOVES_X = 120, MOVES_Y = 96, MOVES_ACROSS = 700, MOVES_DOWN = 200 };

/// The pointer's look: an arrow, white with a black border. 0 beside it.
static uint32_t pointer_pixel(int x, int y) {
    int right = y < 16 ? y : 22 - y;
    if (x > right || x < 0 || y >= 22) return 0;
    return x == 0 || x >= right - 1 || (y >= 16 && x >= right - 2) ? 0xff000000 : 0xffffffff;
}

static Cursor make_pointer(void) {
    char look[POINTER_WIDTH * POINTER_HEIGHT / 8] = {0}, mask[sizeof look] = {0};
    for (int y = 0; y < POINTER_HEIGHT; y++) {
        for (int x = 0; x < POINTER_WIDTH; x++) {
            uint32_t pixel = pointer_pixel(x, y);
            if (pixel) mask[(y * POINTER_WIDTH + x) / 8] |= (char)(1 << x % 8);
            if (pixel == 0xffffffff) look[(y * POINTER_WIDTH + x) / 8] |= (char)(1 << x % 8);
        }
    }
    XColor white = {.red = 0xffff, .green = 0xffff, .blue = 0xffff}, black = {0};
    return XCreatePixmapCursor(display, XCreateBitmapFromData(display, window, look, POINTER_WIDTH, POINTER_HEIGHT),
                               XCreateBitmapFromData(display, window, mask, POINTER_WIDTH, POINTER_HEIGHT), &white,
                               &black, 0, 0);
}

static void draw_pointer(uint32_t *model) {
    // Wherever it was before.
    for (int y = MOVES_Y; y < MOVES_Y + MOVES_DOWN + POINTER_HEIGHT; y++)
        copy_pixels(pixel_at(model, MOVES_X, y), width, pixel_at(backdrop, MOVES_X, y), width,
                    MOVES_ACROSS + 1 + POINTER_WIDTH, 1);
    for (int y = 0; y < POINTER_HEIGHT; y++) {
        for (int x = 0; x < POINTER_WIDTH; x++) {
            uint32_t pixel = pointer_pixel(x, y);
            if (pixel) *pixel_at(model, pointer_x + x, pointer_y + y) = pixel;
        }
    }
}

static void paint_pointer(void) {
    XWarpPointer(display, None, window, 0, 0, 0, 0, pointer_x, pointer_y);
    XSync(display, False);
}

static void open_pointer(uint32_t *model) {
    open_window(model);
    pointer_x = MOVES_X;
    pointer_y = MOVES_Y;
    XDefineCursor(display, window, make_pointer());
    paint_pointer();
    // A grabbed screen doesn't have it: it is in the model from the first move on.
}

static int plan_pointer(int number, struct part *places, const uint32_t *model) {
    (void)model;
    places[0] = (struct part){pointer_x, pointer_y, POINTER_WIDTH, POINTER_HEIGHT};
    int x = MOVES_X + (int)(MOVES_ACROSS / 2. * (1 - cos(2 * M_PI * (number + 1) / 131)));
    int y = MOVES_Y + (int)(MOVES_DOWN / 2. * (1 - cos(2 * M_PI * (number + 1) / 83)));
    if (x == pointer_x && y == pointer_y) x++;
    pointer_x = x;
    pointer_y = y;
    places[1] = (struct part){x, y, POINTER_WIDTH, POINTER_HEIGHT};
    return 2;
}

// --- Rest: a large part of the screen becomes another picture, and then nothing changes

static struct part rested;
/// Where in the page the shown part begins; -1: the backdrop is shown.
static int rested_row;

static int plan_rest(int number, struct part *places, const uint32_t *model) {
    (void)model;
    // Text, and in turns with it a desktop of text and colours.
    rested_row = number % 2 ? -1 : number * 271 % (page_height - rested.height);
    places[0] = rested;
    return 1;
}

static void draw_rest(uint32_t *model) {
    const uint32_t *from = rested_row < 0 ? pixel_at(backdrop, rested.x, rested.y) : page_at(rested.x, rested_row);
    copy_pixels(pixel_at(model, rested.x, rested.y), width, from, rested_row < 0 ? width : page_width, rested.width,
                rested.height);
}

static void paint_rest(void) {
    bool is_desktop = rested_row < 0;
    XCopyArea(display, is_desktop ? backdrop_pixmap : page_pixmap, window, context, rested.x,
              is_desktop ? rested.y : rested_row, (unsigned)rested.width, (unsigned)rested.height, rested.x, rested.y);
    XSync(display, False);
}

// --- All of them

// A letter is looked for during three seconds, and a picture that the next ones cover during half a second.
static struct scene scenes[] = {
    {
        .rate = 20,
        .unevenness = 0.3,
        .kept = 64,
        .area = {TEXT_X, TEXT_Y, TEXT_WIDTH, TEXT_HEIGHT},
        .open = open_typing,
        .plan = plan_typing,
        .draw = draw_typing,
        .paint = paint_typing,
    },
    {
        .rate = 30.05,
        .replaces = true,
        .kept = 16,
        .area = {TEXT_X, TEXT_Y, TEXT_WIDTH, TEXT_HEIGHT},
        .open = open_lines,
        .plan = plan_lines,
        .draw = draw_lines,
        .paint = paint_lines,
    },
    {
        .rate = 30.05,
        .replaces = true,
        .kept = 16,
        .area = {DRAG_X, DRAG_Y, DRAG_ACROSS + 1 + WINDOW_WIDTH, DRAG_DOWN + WINDOW_HEIGHT},
        .open = open_drag,
        .plan = plan_drag,
        .draw = draw_drag,
        .paint = paint_drag,
    },
    {
        .rate = 60.1,
        .replaces = true,
        .kept = 32,
        .moves_pointer = true,
        .area = {MOVES_X, MOVES_Y, MOVES_ACROSS + 1 + POINTER_WIDTH, MOVES_DOWN + POINTER_HEIGHT},
        .open = open_pointer,
        .plan = plan_pointer,
        .draw = draw_pointer,
        .paint = paint_pointer,
    },
    {
        .rate = 0.5,
        .replaces = true,
        .kept = 2,
        .open = open_page,
        .plan = plan_rest,
        .draw = draw_rest,
        .paint = paint_rest,
    },
};

const struct scene *choose_scene(void) {
    struct scene *scene = &scenes[options.content - TYPING];
    if (options.content == REST) {
        rested = (struct part){101, 67, width * 3 / 4, height * 3 / 4};
        scene->area = (struct part){0, 0, width, height};
    }
    if (scene->area.x + scene->area.width > width || scene->area.y + scene->area.height > height)
        fail("it is too small", options.viewer);
    if (options.content == DRAG)
        backdrop = make_texture_picture();
    else
        load_backdrop();
    if (options.content == REST)
        load_page(width, height + 1);
    else if (options.content != POINTER)
        load_page(TEXT_WIDTH, TEXT_HEIGHT + LETTER_HEIGHT);
    return scene;
}
