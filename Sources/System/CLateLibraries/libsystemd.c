#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#include "late.h"
#include "late_libraries.h"

// Only functions without variable arguments, which can't be forwarded.
#define LIBSYSTEMD(F) \
    F(int, sd_bus_add_filter, (sd_bus *bus, sd_bus_slot **slot, sd_bus_message_handler_t callback, void *userdata), \
      (bus, slot, callback, userdata)) \
    F(int, sd_bus_call_async, (sd_bus *bus, sd_bus_slot **slot, sd_bus_message *m, sd_bus_message_handler_t \
      callback, void *userdata, uint64_t usec), (bus, slot, m, callback, userdata, usec)) \
    F(sd_bus *, sd_bus_close_unref, (sd_bus *bus), (bus)) \
    F(int, sd_bus_get_events, (sd_bus *bus), (bus)) \
    F(int, sd_bus_get_fd, (sd_bus *bus), (bus)) \
    F(int, sd_bus_get_timeout, (sd_bus *bus, uint64_t *timeout_usec), (bus, timeout_usec)) \
    F(int, sd_bus_get_unique_name, (sd_bus *bus, const char **unique), (bus, unique)) \
    F(int, sd_bus_is_ready, (sd_bus *bus), (bus)) \
    F(int, sd_bus_message_append_array, (sd_bus_message *m, char type, const void *ptr, size_t size), (m, type, ptr, \
      size)) \
    F(int, sd_bus_message_append_basic, (sd_bus_message *m, char type, const void *p), (m, type, p)) \
    F(int, sd_bus_message_close_container, (sd_bus_message *m), (m)) \
    F(int, sd_bus_message_enter_container, (sd_bus_message *m, char type, const char *contents), (m, type, contents)) \
    F(int, sd_bus_message_exit_container, (sd_bus_message *m), (m)) \
    F(int, sd_bus_message_get_cookie, (sd_bus_message *m, uint64_t *cookie), (m, cookie)) \
    F(const sd_bus_error *, sd_bus_message_get_error, (sd_bus_message *m), (m)) \
    F(const char *, sd_bus_message_get_interface, (sd_bus_message *m), (m)) \
    F(const char *, sd_bus_message_get_member, (sd_bus_message *m), (m)) \
    F(const char *, sd_bus_message_get_path, (sd_bus_message *m), (m)) \
    F(int, sd_bus_message_get_reply_cookie, (sd_bus_message *m, uint64_t *cookie), (m, cookie)) \
    F(const char *, sd_bus_message_get_sender, (sd_bus_message *m), (m)) \
    F(int, sd_bus_message_get_type, (sd_bus_message *m, uint8_t *type), (m, type)) \
    F(int, sd_bus_message_new_method_call, (sd_bus *bus, sd_bus_message **m, const char *destination, const char \
      *path, const char *interface, const char *member), (bus, m, destination, path, interface, member)) \
    F(int, sd_bus_message_new_method_errno, (sd_bus_message *call, sd_bus_message **m, int error, const sd_bus_error \
      *e), (call, m, error, e)) \
    F(int, sd_bus_message_new_method_return, (sd_bus_message *call, sd_bus_message **m), (call, m)) \
    F(int, sd_bus_message_open_container, (sd_bus_message *m, char type, const char *contents), (m, type, contents)) \
    F(int, sd_bus_message_peek_type, (sd_bus_message *m, char *type, const char **contents), (m, type, contents)) \
    F(int, sd_bus_message_read_array, (sd_bus_message *m, char type, const void **ptr, size_t *size), (m, type, ptr, \
      size)) \
    F(int, sd_bus_message_read_basic, (sd_bus_message *m, char type, void *p), (m, type, p)) \
    F(int, sd_bus_message_set_auto_start, (sd_bus_message *m, int b), (m, b)) \
    F(sd_bus_message *, sd_bus_message_unref, (sd_bus_message *m), (m)) \
    F(int, sd_bus_new, (sd_bus **ret), (ret)) \
    F(int, sd_bus_process, (sd_bus *bus, sd_bus_message **r), (bus, r)) \
    F(int, sd_bus_send, (sd_bus *bus, sd_bus_message *m, uint64_t *cookie), (bus, m, cookie)) \
    F(int, sd_bus_set_address, (sd_bus *bus, const char *address), (bus, address)) \
    F(int, sd_bus_set_bus_client, (sd_bus *bus, int b), (bus, b)) \
    F(int, sd_bus_start, (sd_bus *bus), (bus)) \
    F(int, sd_notify, (int unset_environment, const char *state), (unset_environment, state)) \
    F(int, sd_watchdog_enabled, (int unset_environment, uint64_t *usec), (unset_environment, usec))

// The headers don't tell the interface's version; it has been 0 since systemd has libsystemd.
LATE_LIBRARY(libsystemd, LIBSYSTEMD, "libsystemd.so.0")
#define DEFINE(...) LATE_FUNCTION(libsystemd, __VA_ARGS__)
LIBSYSTEMD(DEFINE)
#undef DEFINE

const char *beam_load_libsystemd(void) { return late_load(&libsystemd); }
