#include <wayland-client-core.h>

#include "late.h"
#include "late_libraries.h"

// Only functions without variable arguments, which can't be forwarded.
#define LIBWAYLAND(F) \
    F(void, wl_display_cancel_read, (struct wl_display *display), (display)) \
    F(struct wl_display *, wl_display_connect, (const char *name), (name)) \
    F(struct wl_event_queue *, wl_display_create_queue, (struct wl_display *display), (display)) \
    F(void, wl_display_disconnect, (struct wl_display *display), (display)) \
    F(int, wl_display_dispatch_pending, (struct wl_display *display), (display)) \
    F(int, wl_display_dispatch_queue, (struct wl_display *display, struct wl_event_queue *queue), (display, queue)) \
    F(int, wl_display_dispatch_queue_pending, (struct wl_display *display, struct wl_event_queue *queue), (display, queue)) \
    F(int, wl_display_flush, (struct wl_display *display), (display)) \
    F(int, wl_display_get_error, (struct wl_display *display), (display)) \
    F(int, wl_display_get_fd, (struct wl_display *display), (display)) \
    F(int, wl_display_prepare_read, (struct wl_display *display), (display)) \
    F(int, wl_display_prepare_read_queue, (struct wl_display *display, struct wl_event_queue *queue), (display, queue)) \
    F(int, wl_display_read_events, (struct wl_display *display), (display)) \
    F(int, wl_display_roundtrip_queue, (struct wl_display *display, struct wl_event_queue *queue), (display, queue)) \
    F(void, wl_event_queue_destroy, (struct wl_event_queue *queue), (queue)) \
    F(int, wl_proxy_add_listener, (struct wl_proxy *proxy, void (**implementation)(void), void *data), \
      (proxy, implementation, data)) \
    F(void *, wl_proxy_create_wrapper, (void *proxy), (proxy)) \
    F(void, wl_proxy_destroy, (struct wl_proxy *proxy), (proxy)) \
    F(uint32_t, wl_proxy_get_version, (struct wl_proxy *proxy), (proxy)) \
    F(struct wl_proxy *, wl_proxy_marshal_array_flags, (struct wl_proxy *proxy, uint32_t opcode, const struct \
      wl_interface *interface, uint32_t version, uint32_t flags, union wl_argument *args), (proxy, opcode, interface, \
      version, flags, args)) \
    F(void, wl_proxy_set_queue, (struct wl_proxy *proxy, struct wl_event_queue *queue), (proxy, queue)) \
    F(void, wl_proxy_wrapper_destroy, (void *proxy_wrapper), (proxy_wrapper))
// Not functions: the library's descriptions of Wayland's own interfaces.
#define INTERFACES(F) \
    F(const struct wl_interface, wl_buffer_interface, , ) \
    F(const struct wl_interface, wl_callback_interface, , ) \
    F(const struct wl_interface, wl_output_interface, , ) \
    F(const struct wl_interface, wl_registry_interface, , ) \
    F(const struct wl_interface, wl_shm_interface, , ) \
    F(const struct wl_interface, wl_shm_pool_interface, , )
#define ALL(F) LIBWAYLAND(F) INTERFACES(F)

// The headers don't tell the interface's version; it has been 0 since there is the library.
LATE_LIBRARY(libwayland, ALL, "libwayland-client.so.0")
#define DEFINE(...) LATE_FUNCTION(libwayland, __VA_ARGS__)
LIBWAYLAND(DEFINE)
#undef DEFINE

#define DEFINE(type, name, ...) \
    type *beam_##name(void) { return late_target(&libwayland, index_##name); }
INTERFACES(DEFINE)
#undef DEFINE

const char *beam_load_libwayland(void) { return late_load(&libwayland); }
