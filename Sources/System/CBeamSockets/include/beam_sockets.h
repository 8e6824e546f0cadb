#ifndef BEAM_SOCKETS_H
#define BEAM_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

// Datagrams in bursts, and what the kernel knows of a TCP connection: wraps system calls, structures and macros that
// Swift doesn't import (recvmmsg, sendmmsg, control messages, TCP_INFO).

/// A datagram, or several of equal length from one sender, joined by the kernel (UDP_GRO).
typedef struct {
    uint8_t *_Nonnull bytes;
    size_t length;
    /// The length of each datagram except the last, which may be shorter; 0: there is only one.
    size_t segment_size;
} beam_message;

/// Memory for one call's messages.
typedef struct beam_receiver beam_receiver;

/// The maximum number of messages per call, and the bytes for each: the maximum size of an IP datagram.
enum { beam_receiver_messages = 32, beam_message_capacity = 65536 };

/// NULL if there is no memory.
beam_receiver *_Nullable beam_receiver_create(void);
void beam_receiver_free(beam_receiver *_Nullable receiver);

/// Receives available messages without waiting. Returns their number, 0 if there are none, or a negated errno. They are
/// valid until the next call.
int beam_receive(beam_receiver *_Nonnull receiver, int socket);
beam_message beam_receiver_message(const beam_receiver *_Nonnull receiver, int index);

/// When the kernel received the datagram that was last read from this socket (SIOCGSTAMPNS, socket(7)): nanoseconds of
/// CLOCK_MONOTONIC, or 0 if unknown. The first call enables the timestamps.
int64_t beam_arrival_time(int socket);

/// Sends `length` bytes as datagrams of `segment_size` bytes, the last of which may be shorter, in one call with
/// segmentation by the kernel (UDP_SEGMENT; at most 64 datagrams and 65507 bytes). `to` is a socket address. Returns 0
/// or an errno.
int beam_send_burst(
    int socket, const void *_Nonnull to, uint32_t to_length, const uint8_t *_Nonnull bytes, size_t length,
    size_t segment_size);

/// Sends at most 64 datagrams in one call without kernel segmentation, for systems that lack it. Returns the number of
/// bytes sent, in whole datagrams, or a negated errno if none was sent.
long beam_send_each(
    int socket, const void *_Nonnull to, uint32_t to_length, const uint8_t *_Nonnull bytes, size_t length,
    size_t segment_size);

/// The state of a TCP connection (TCP_INFO, tcp(7)).
typedef struct {
    /// Segments sent and not acknowledged.
    uint32_t unacknowledged;
    /// Bytes received.
    uint64_t received;
    /// 0 if the socket is none of TCP, or is closed.
    int is_known;
} beam_tcp_state;

beam_tcp_state beam_tcp_progress(int socket);

#endif
