#pragma once
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <time.h>
#include <xcb/composite.h>
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>
#include <xcb/xfixes.h>
#include <xcb/xinput.h>

// The extensions' records are global variables, which Swift can't prove safe to share; libxcb only ever reads them.
static inline xcb_extension_t *beam_xcb_shm(void) { return &xcb_shm_id; }
static inline xcb_extension_t *beam_xcb_damage(void) { return &xcb_damage_id; }
static inline xcb_extension_t *beam_xcb_xfixes(void) { return &xcb_xfixes_id; }
static inline xcb_extension_t *beam_xcb_randr(void) { return &xcb_randr_id; }
static inline xcb_extension_t *beam_xcb_composite(void) { return &xcb_composite_id; }
static inline xcb_extension_t *beam_xcb_input(void) { return &xcb_input_id; }

// A GNU addition, which the headers hide from Swift's importer.
int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

// Variadic: how late the kernel may wake the calling thread from a timed wait, in nanoseconds.
static inline int beam_set_timer_slack(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds, 0UL, 0UL, 0UL);
}

// The process that listens at the other end of a Unix domain socket; 0 if it isn't known. The headers hide `struct ucred`
// from Swift's importer.
static inline int beam_peer_process(int descriptor) {
    struct { int process; unsigned user, group; } credentials = {0, 0, 0};
    socklen_t length = sizeof credentials;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.process : 0;
}
