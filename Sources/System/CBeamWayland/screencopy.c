#include "screencopy.h"

#include "include/CBeamWayland.h"

// The types of arguments that are objects. libwayland looks at those of new objects only; the others can stay open.
static const struct wl_interface *of_plain[6];
static const struct wl_interface *of_capture[] = {&beam_screencopy_frame, NULL, NULL, NULL, NULL, NULL, NULL};

static const struct wl_message manager_requests[] = {
    {"capture_output", "nio", of_capture},
    {"capture_output_region", "nioiiii", of_capture},
    {"destroy", "", of_plain},
};

static const struct wl_message frame_requests[] = {
    {"copy", "o", of_plain},
    {"destroy", "", of_plain},
    {"copy_with_damage", "2o", of_plain},
};

static const struct wl_message frame_events[] = {
    {"buffer", "uuuu", of_plain},
    {"flags", "u", of_plain},
    {"ready", "uuu", of_plain},
    {"failed", "", of_plain},
    {"damage", "2uuuu", of_plain},
    {"linux_dmabuf", "3uuu", of_plain},
    {"buffer_done", "3", of_plain},
};

const struct wl_interface beam_screencopy_manager = {
    "zwlr_screencopy_manager_v1", BEAM_SCREENCOPY_VERSION, 3, manager_requests, 0, NULL,
};

const struct wl_interface beam_screencopy_frame = {
    "zwlr_screencopy_frame_v1", BEAM_SCREENCOPY_VERSION, 3, frame_requests, 7, frame_events,
};
