#include "copycapture.h"

// As in screencopy.c: the types of arguments matter for new objects only.
static const struct wl_interface *of_plain[4];
static const struct wl_interface *of_session[] = {&beam_copy_capture_session, NULL, NULL};
static const struct wl_interface *of_frame[] = {&beam_copy_capture_frame};
static const struct wl_interface *of_source[] = {&beam_capture_source, NULL};

static const struct wl_message manager_requests[] = {
    {"create_session", "nou", of_session},
    // Isn't used: its object has no interface here.
    {"create_pointer_cursor_session", "noo", of_plain},
    {"destroy", "", of_plain},
};

static const struct wl_message session_requests[] = {
    {"create_frame", "n", of_frame},
    {"destroy", "", of_plain},
};

static const struct wl_message session_events[] = {
    {"buffer_size", "uu", of_plain},
    {"shm_format", "u", of_plain},
    {"dmabuf_device", "a", of_plain},
    {"dmabuf_format", "ua", of_plain},
    {"done", "", of_plain},
    {"stopped", "", of_plain},
};

static const struct wl_message frame_requests[] = {
    {"destroy", "", of_plain},
    {"attach_buffer", "o", of_plain},
    {"damage_buffer", "iiii", of_plain},
    {"capture", "", of_plain},
};

static const struct wl_message frame_events[] = {
    {"transform", "u", of_plain},
    {"damage", "iiii", of_plain},
    {"presentation_time", "uuu", of_plain},
    {"ready", "", of_plain},
    {"failed", "u", of_plain},
};

static const struct wl_message source_manager_requests[] = {
    {"create_source", "no", of_source},
    {"destroy", "", of_plain},
};

static const struct wl_message source_requests[] = {
    {"destroy", "", of_plain},
};

const struct wl_interface beam_copy_capture_manager = {
    "ext_image_copy_capture_manager_v1", 1, 3, manager_requests, 0, NULL,
};

const struct wl_interface beam_copy_capture_session = {
    "ext_image_copy_capture_session_v1", 1, 2, session_requests, 6, session_events,
};

const struct wl_interface beam_copy_capture_frame = {
    "ext_image_copy_capture_frame_v1", 1, 4, frame_requests, 5, frame_events,
};

const struct wl_interface beam_output_source_manager = {
    "ext_output_image_capture_source_manager_v1", 1, 2, source_manager_requests, 0, NULL,
};

const struct wl_interface beam_capture_source = {
    "ext_image_capture_source_v1", 1, 1, source_requests, 0, NULL,
};
