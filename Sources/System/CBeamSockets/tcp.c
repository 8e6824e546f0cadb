// Separate from sockets.c: the C library's <netinet/tcp.h> has a shorter tcp_info, and the two headers clash.
#include "beam_sockets.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

beam_tcp_state beam_tcp_progress(int socket) {
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    beam_tcp_state state = {0};
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return state;
    // Linux has counted bytes since 4.1.
    if (length < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) return state;
    state.unacknowledged = info.tcpi_unacked;
    state.received = info.tcpi_bytes_received;
    state.is_known = 1;
    return state;
}
