#ifndef BEAM_SOCKETS_H
#define BEAM_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

// Datagrams in bursts: system calls, structures and macros that Swift can't see (recvmmsg, sendmmsg, control messages).

/// What one receiving call brought from one sender: a datagram, or several of equal length that the system has put
/// together (UDP_GRO).
typedef struct {
    uint8_t *_Nonnull bytes;
    size_t length;
    /// Each datagram's length but the last one's, which may be shorter; 0: it is one datagram.
    size_t segment_size;
} beam_message;

/// Memory for the messages of one receiving call.
typedef struct beam_receiver beam_receiver;

/// How many messages one call receives at most, and the room for each in bytes: what an IP datagram can hold.
enum { beam_receiver_messages = 32, beam_message_capacity = 65536 };

/// NULL if there is no memory.
beam_receiver *_Nullable beam_receiver_create(void);
void beam_receiver_free(beam_receiver *_Nullable receiver);

/// Receives what there is, without waiting: the number of messages, 0 when there is none, or a negated errno.
/// They are good until the next call.
int beam_receive(beam_receiver *_Nonnull receiver, int socket);
beam_message beam_receiver_message(const beam_receiver *_Nonnull receiver, int index);

/// When the system received the datagram that was read last from this socket (SIOCGSTAMPNS, see socket(7)): nanoseconds of
/// CLOCK_MONOTONIC, or 0 if that isn't known. The first call makes the system note it from then on.
int64_t beam_arrival_time(int socket);

/// Sends `length` bytes as datagrams of `segment_size` bytes each, the last of which may be shorter, in one call that
/// leaves the cutting to the system (UDP_SEGMENT; at most 64 datagrams and 65507 bytes). `to` is a socket address.
/// 0, or an errno.
int beam_send_burst(
    int socket, const void *_Nonnull to, uint32_t to_length, const uint8_t *_Nonnull bytes, size_t length,
    size_t segment_size);

/// The same in one call for up to 64 datagrams that are cut here, for systems and network cards that can't: how many
/// bytes were sent, all of whole datagrams, or a negated errno if not even one was.
long beam_send_each(
    int socket, const void *_Nonnull to, uint32_t to_length, const uint8_t *_Nonnull bytes, size_t length,
    size_t segment_size);

#endif
