#define _GNU_SOURCE
#include "wayland.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xdgshell.h"

static struct wl_display *display;
static struct wl_compositor *compositor;
static struct wl_shm *memory;
static struct wl_surface *surface;
static struct wl_proxy *shell, *shell_window, *toplevel;
static struct told told;
static bool is_configured;
/// The time in ms that the compositor gave with the last frame of its own.
static uint32_t last_refresh;

static void *checked(void *made, const char *what) {
    if (!made) fail("the Wayland desktop doesn't make it", what);
    return made;
}

static void ping(void *data, struct wl_proxy *proxy, uint32_t serial) {
    (void)data;
    shell_pong(proxy, serial);
}

static void window_configured(void *data, struct wl_proxy *proxy, uint32_t serial) {
    (void)data;
    shell_acknowledge(proxy, serial);
    is_configured = true;
}

static void toplevel_configured(
    void *data, struct wl_proxy *proxy, int32_t columns, int32_t rows, struct wl_array *states) {
    (void)data, (void)proxy, (void)states;
    if (columns > 0 && rows > 0) told.width = columns, told.height = rows;
}

static void closed(void *data, struct wl_proxy *proxy) {
    (void)data, (void)proxy;
    fail("the desktop has closed it", "the window");
}

static void global(void *data, struct wl_registry *registry, uint32_t name, const char *interface, uint32_t version) {
    (void)data;
    if (strcmp(interface, "wl_compositor") == 0 && version >= 4)
        compositor = wl_registry_bind(registry, name, &wl_compositor_interface, 4);
    else if (strcmp(interface, "wl_shm") == 0)
        memory = wl_registry_bind(registry, name, &wl_shm_interface, 1);
    else if (strcmp(interface, shell_interface.name) == 0)
        shell = shell_bind(registry, name);
}

static void global_gone(void *data, struct wl_registry *registry, uint32_t name) {
    (void)data, (void)registry, (void)name;
}

static const struct shell_listener shell_listener = {ping};
static const struct shell_surface_listener window_listener = {window_configured};
static const struct toplevel_listener toplevel_listener = {toplevel_configured, closed};
static const struct wl_registry_listener registry_listener = {global, global_gone};

/// Not const in libwayland, which doesn't change it.
static void listen(struct wl_proxy *proxy, const void *listener) {
    wl_proxy_add_listener(proxy, (void (**)(void))(uintptr_t)listener, NULL);
}

void open_wayland(const char *socket) {
    display = wl_display_connect(socket);
    if (!display) fail("can't open the Wayland desktop", socket);
    wl_registry_add_listener(wl_display_get_registry(display), &registry_listener, NULL);
    wl_display_roundtrip(display);
    if (!compositor || !memory || !shell) fail("it lacks wl_compositor 4, wl_shm or xdg_wm_base", socket);
    listen(shell, &shell_listener);
    surface = checked(wl_compositor_create_surface(compositor), "a surface");
    shell_window = checked(shell_surface(shell, surface), "a window");
    listen(shell_window, &window_listener);
    toplevel = checked(shell_toplevel(shell_window), "a window");
    listen(toplevel, &toplevel_listener);
    shell_fill_monitor(toplevel);
    wl_surface_commit(surface);
    while (!is_configured) attend_wayland(INFINITY);
    if (told.width > 0) return;
    // sway says how large it is when there is something to show.
    struct sheet *first = make_sheet(64, 64);
    show_sheet(first, (struct part){0, 0, 64, 64}, NULL);
    while (told.width == 0) attend_wayland(INFINITY);
    // Its memory isn't missed.
}

void close_wayland(void) { wl_display_disconnect(display); }

struct told told_by_wayland(void) { return told; }

void attend_wayland(double until) {
    wl_display_flush(display);
    while (wl_display_prepare_read(display) != 0) wl_display_dispatch_pending(display);
    struct pollfd poll_entry = {wl_display_get_fd(display), POLLIN, 0};
    // An hour is for ever.
    double left = fmin(fmax(until - now(), 0), 3600);
    struct timespec limit = {(time_t)left, (long)((left - floor(left)) * 1e9)};
    if (ppoll(&poll_entry, 1, &limit, NULL) > 0)
        wl_display_read_events(display);
    else
        wl_display_cancel_read(display);
    if (wl_display_dispatch_pending(display) < 0) fail("it has gone", "the Wayland desktop");
    wl_display_flush(display);
}

// --- Sheets

static void released(void *data, struct wl_buffer *buffer) {
    (void)buffer;
    ((struct sheet *)data)->is_lent = false;
}

static const struct wl_buffer_listener buffer_listener = {released};

struct sheet *make_sheet(int columns, int rows) {
    struct sheet *sheet = calloc(1, sizeof *sheet);
    int file = memfd_create("sheet", MFD_CLOEXEC);
    if (!sheet || file < 0) fail("out of memory", "a sheet");
    sheet->width = columns;
    sheet->height = rows;
    sheet->bytes = (size_t)columns * (size_t)rows * 4;
    if (ftruncate(file, (off_t)sheet->bytes) != 0) fail("out of memory", "a sheet");
    sheet->pixels = mmap(NULL, sheet->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (sheet->pixels == MAP_FAILED) fail("out of memory", "a sheet");
    struct wl_shm_pool *pool = checked(wl_shm_create_pool(memory, file, (int32_t)sheet->bytes), "shared memory");
    sheet->buffer = checked(
        wl_shm_pool_create_buffer(pool, 0, columns, rows, columns * 4, WL_SHM_FORMAT_XRGB8888), "a buffer");
    wl_shm_pool_destroy(pool);
    close(file);
    wl_buffer_add_listener(sheet->buffer, &buffer_listener, sheet);
    return sheet;
}

void free_sheet(struct sheet *sheet) {
    wl_buffer_destroy(sheet->buffer);
    munmap(sheet->pixels, sheet->bytes);
    free(sheet);
}

static void refreshed(void *data, struct wl_callback *callback, uint32_t time) {
    if (data) *(double *)data = now();
    wl_callback_destroy(callback);
    // Two commits before one refresh get the same time.
    if (told.refreshes == 0 || time != last_refresh) told.refreshes++;
    last_refresh = time;
}

static const struct wl_callback_listener refresh_listener = {refreshed};

double show_sheet(struct sheet *sheet, struct part part, double *drawn) {
    sheet->is_lent = true;
    wl_surface_attach(surface, sheet->buffer, 0, 0);
    wl_surface_damage_buffer(surface, part.x, part.y, part.width, part.height);
    wl_callback_add_listener(wl_surface_frame(surface), &refresh_listener, drawn);
    // Before it is sent: the compositor may be at work before this thread runs again.
    double time = now();
    wl_surface_commit(surface);
    wl_display_flush(display);
    return time;
}
