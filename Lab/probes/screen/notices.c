// Notices of an X server, by XDamage and XFixes.

// For ppoll.
#define _GNU_SOURCE

#include "notices.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <xcb/damage.h>
#include <xcb/xfixes.h>

void open_notices(struct notices *notices, const char *display, bool moves) {
    *notices = (struct notices){.connection = xcb_connect(display, NULL)};
    xcb_connection_t *connection = notices->connection;
    if (xcb_connection_has_error(connection)) fail("can't open the display", display);
    notices->root = xcb_setup_roots_iterator(xcb_get_setup(connection)).data->root;
    const xcb_query_extension_reply_t *damage = xcb_get_extension_data(connection, &xcb_damage_id);
    if (!damage || !damage->present) fail("it has no XDamage", display);
    notices->damage_event = damage->first_event + XCB_DAMAGE_NOTIFY;
    free(xcb_damage_query_version_reply(connection, xcb_damage_query_version(connection, 1, 1), NULL));
    free(xcb_xfixes_query_version_reply(connection, xcb_xfixes_query_version(connection, 4, 0), NULL));
    // Raw rectangles need no request for each: nothing that is drawn between two requests is missed.
    xcb_damage_create(connection, xcb_generate_id(connection), notices->root, XCB_DAMAGE_REPORT_LEVEL_RAW_RECTANGLES);
    uint32_t mask = XCB_EVENT_MASK_POINTER_MOTION;
    if (moves) xcb_change_window_attributes(connection, notices->root, XCB_CW_EVENT_MASK, &mask);
    xcb_flush(connection);
}

void close_notices(struct notices *notices) { xcb_disconnect(notices->connection); }

static struct part joined(struct part a, struct part b) {
    int x = a.x < b.x ? a.x : b.x, y = a.y < b.y ? a.y : b.y;
    int right = a.x + a.width > b.x + b.width ? a.x + a.width : b.x + b.width;
    int bottom = a.y + a.height > b.y + b.height ? a.y + a.height : b.y + b.height;
    return (struct part){x, y, right - x, bottom - y};
}

static void note(struct notices *notices, const xcb_generic_event_t *event) {
    uint8_t kind = event->response_type & 0x7f;
    if (kind == XCB_MOTION_NOTIFY) notices->has_moved = true;
    if (kind != notices->damage_event) return;
    const xcb_rectangle_t *area = &((const xcb_damage_notify_event_t *)event)->area;
    struct part part = {area->x, area->y, area->width, area->height};
    struct part *last = &notices->drawn[MOST_DRAWN - 1];
    if (notices->drawn_count < MOST_DRAWN)
        notices->drawn[notices->drawn_count++] = part;
    else
        *last = joined(*last, part);
}

bool await_notice(struct notices *notices, double limit) {
    notices->drawn_count = 0;
    notices->has_moved = false;
    while (true) {
        xcb_generic_event_t *event;
        while ((event = xcb_poll_for_event(notices->connection))) {
            note(notices, event);
            free(event);
        }
        if (notices->drawn_count > 0 || notices->has_moved) return true;
        if (xcb_connection_has_error(notices->connection)) fail("it has closed the connection", "a display");
        double left = limit - now();
        if (left <= 0) return false;
        struct timespec time = {(time_t)left, (long)((left - floor(left)) * 1e9)};
        struct pollfd input = {xcb_get_file_descriptor(notices->connection), POLLIN, 0};
        ppoll(&input, 1, &time, NULL);
    }
}

bool read_sprite(struct notices *notices, struct sprite *sprite) {
    xcb_xfixes_get_cursor_image_reply_t *reply = xcb_xfixes_get_cursor_image_reply(
        notices->connection, xcb_xfixes_get_cursor_image(notices->connection), NULL);
    if (!reply) return false;
    struct sprite found = {reply->x - reply->xhot, reply->y - reply->yhot, reply->width, reply->height, {0}};
    const uint32_t *pixels = xcb_xfixes_get_cursor_image_cursor_image(reply);
    if (found.width > SPRITE || found.height > SPRITE)
        found.width = found.height = 0;
    else
        memcpy(found.pixels, pixels, (size_t)found.width * (size_t)found.height * 4);
    free(reply);
    bool is_other = memcmp(&found, sprite, sizeof found) != 0;
    if (is_other) *sprite = found;
    return is_other;
}
