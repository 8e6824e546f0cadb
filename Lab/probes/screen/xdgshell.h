// The part of the Wayland protocol xdg-shell, version 1, that a window without decorations needs.
#pragma once

#include <wayland-client.h>

extern const struct wl_interface shell_interface, shell_surface_interface, toplevel_interface;

struct shell_listener {
    void (*ping)(void *data, struct wl_proxy *shell, uint32_t serial);
};

struct shell_surface_listener {
    void (*configure)(void *data, struct wl_proxy *surface, uint32_t serial);
};

struct toplevel_listener {
    /// In pixels of the desktop.
    void (*configure)(void *data, struct wl_proxy *toplevel, int32_t width, int32_t height, struct wl_array *states);
    void (*close)(void *data, struct wl_proxy *toplevel);
};

/// Each answers NULL without memory.
struct wl_proxy *shell_bind(struct wl_registry *registry, uint32_t name);
struct wl_proxy *shell_surface(struct wl_proxy *shell, struct wl_surface *surface);
struct wl_proxy *shell_toplevel(struct wl_proxy *surface);

void shell_pong(struct wl_proxy *shell, uint32_t serial);
void shell_acknowledge(struct wl_proxy *surface, uint32_t serial);
/// On the monitor that the compositor chooses.
void shell_fill_monitor(struct wl_proxy *toplevel);
