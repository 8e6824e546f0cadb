// Written by hand, so that building the probe needs neither wayland-protocols nor wayland-scanner.

#include "xdgshell.h"

#include <stddef.h>

// Opcodes, by their order in the protocol.
enum {
    SHELL_GET_SURFACE = 2,
    SHELL_PONG,
    SURFACE_GET_TOPLEVEL = 1,
    SURFACE_ACKNOWLEDGE = 4,
    TOPLEVEL_SET_FULLSCREEN = 11,
    REGISTRY_BIND = 0,
};

// The types of arguments that are objects: libwayland looks at those of new objects only.
static const struct wl_interface *plain[4];
static const struct wl_interface *new_surface[] = {&shell_surface_interface, NULL};
static const struct wl_interface *new_toplevel[] = {&toplevel_interface};

// What isn't used stands there only for its number, without arguments.
static const struct wl_message shell_requests[] = {
    {"destroy", "", plain},
    {"create_positioner", "", plain},
    {"get_xdg_surface", "no", new_surface},
    {"pong", "u", plain},
};
static const struct wl_message shell_events[] = {{"ping", "u", plain}};

static const struct wl_message surface_requests[] = {
    {"destroy", "", plain},
    {"get_toplevel", "n", new_toplevel},
    {"get_popup", "", plain},
    {"set_window_geometry", "", plain},
    {"ack_configure", "u", plain},
};
static const struct wl_message surface_events[] = {{"configure", "u", plain}};

static const struct wl_message toplevel_requests[] = {
    {"destroy", "", plain},          {"set_parent", "", plain},     {"set_title", "", plain},
    {"set_app_id", "", plain},       {"show_window_menu", "", plain}, {"move", "", plain},
    {"resize", "", plain},           {"set_max_size", "", plain},   {"set_min_size", "", plain},
    {"set_maximized", "", plain},    {"unset_maximized", "", plain}, {"set_fullscreen", "?o", plain},
};
static const struct wl_message toplevel_events[] = {{"configure", "iia", plain}, {"close", "", plain}};

const struct wl_interface shell_interface = {"xdg_wm_base", 1, 4, shell_requests, 1, shell_events};
const struct wl_interface shell_surface_interface = {"xdg_surface", 1, 5, surface_requests, 1, surface_events};
const struct wl_interface toplevel_interface = {"xdg_toplevel", 1, 12, toplevel_requests, 2, toplevel_events};

static struct wl_proxy *request(
    struct wl_proxy *proxy, uint32_t opcode, const struct wl_interface *made, union wl_argument *arguments) {
    return wl_proxy_marshal_array_flags(proxy, opcode, made, wl_proxy_get_version(proxy), 0, arguments);
}

struct wl_proxy *shell_bind(struct wl_registry *registry, uint32_t name) {
    union wl_argument arguments[] = {{.u = name}, {.s = shell_interface.name}, {.u = 1}, {.o = NULL}};
    return wl_proxy_marshal_array_flags((struct wl_proxy *)registry, REGISTRY_BIND, &shell_interface, 1, 0, arguments);
}

struct wl_proxy *shell_surface(struct wl_proxy *shell, struct wl_surface *surface) {
    union wl_argument arguments[] = {{.o = NULL}, {.o = (struct wl_object *)surface}};
    return request(shell, SHELL_GET_SURFACE, &shell_surface_interface, arguments);
}

struct wl_proxy *shell_toplevel(struct wl_proxy *surface) {
    union wl_argument arguments[] = {{.o = NULL}};
    return request(surface, SURFACE_GET_TOPLEVEL, &toplevel_interface, arguments);
}

void shell_pong(struct wl_proxy *shell, uint32_t serial) {
    union wl_argument arguments[] = {{.u = serial}};
    request(shell, SHELL_PONG, NULL, arguments);
}

void shell_acknowledge(struct wl_proxy *surface, uint32_t serial) {
    union wl_argument arguments[] = {{.u = serial}};
    request(surface, SURFACE_ACKNOWLEDGE, NULL, arguments);
}

void shell_fill_monitor(struct wl_proxy *toplevel) {
    union wl_argument arguments[] = {{.o = NULL}};
    request(toplevel, TOPLEVEL_SET_FULLSCREEN, NULL, arguments);
}
