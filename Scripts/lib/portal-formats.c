// For LD_PRELOAD in xdg-desktop-portal-wlr 0.7 on a sway without a GPU: that portal begins nothing before the compositor
// offers graphics memory (linux_dmabuf), which the renderer in software doesn't. This offers it, as the format of the
// memory that is offered; shared memory is what is agreed upon all the same.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <wayland-client-core.h>

typedef void (*handler)(void);
// Of zwlr_screencopy_frame_v1: buffer is event 0, linux_dmabuf event 5 of 7.
static handler *original;
static handler replaced[7];

static uint32_t drm_format(uint32_t shm) { return shm == 0 ? 0x34325241 : shm == 1 ? 0x34325258 : shm; }

static void on_buffer(void *data, void *frame, uint32_t format, uint32_t width, uint32_t height, uint32_t stride) {
    typedef void (*dmabuf)(void *, void *, uint32_t, uint32_t, uint32_t);
    typedef void (*buffer)(void *, void *, uint32_t, uint32_t, uint32_t, uint32_t);
    ((dmabuf)original[5])(data, frame, drm_format(format), width, height);
    ((buffer)original[0])(data, frame, format, width, height, stride);
}

int wl_proxy_add_listener(struct wl_proxy *proxy, handler *implementation, void *data) {
    static int (*real)(struct wl_proxy *, handler *, void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "wl_proxy_add_listener");
    if (!strcmp(wl_proxy_get_class(proxy), "zwlr_screencopy_frame_v1") && wl_proxy_get_version(proxy) >= 3) {
        original = implementation;
        memcpy(replaced, implementation, sizeof replaced);
        replaced[0] = (handler)on_buffer;
        implementation = replaced;
    }
    return real(proxy, implementation, data);
}
