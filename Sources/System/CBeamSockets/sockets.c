#define _GNU_SOURCE
#include "beam_sockets.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

struct beam_receiver {
    struct mmsghdr headers[beam_receiver_messages];
    struct iovec vectors[beam_receiver_messages];
    size_t segment_sizes[beam_receiver_messages];
    union {
        struct cmsghdr alignment;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } control[beam_receiver_messages];
    uint8_t bytes[beam_receiver_messages][beam_message_capacity];
};

beam_receiver *beam_receiver_create(void) {
    // A large allocation is mapped directly, so that pages never written take no memory.
    beam_receiver *receiver = calloc(1, sizeof(beam_receiver));
    if (!receiver) return NULL;
    for (int i = 0; i < beam_receiver_messages; i++) {
        receiver->vectors[i].iov_base = receiver->bytes[i];
        receiver->vectors[i].iov_len = beam_message_capacity;
        receiver->headers[i].msg_hdr.msg_iov = &receiver->vectors[i];
        receiver->headers[i].msg_hdr.msg_iovlen = 1;
        receiver->headers[i].msg_hdr.msg_control = &receiver->control[i];
        receiver->headers[i].msg_hdr.msg_controllen = sizeof receiver->control[i];
    }
    return receiver;
}

void beam_receiver_free(beam_receiver *receiver) { free(receiver); }

static size_t segment_size_of(struct msghdr *header) {
    for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control; control = CMSG_NXTHDR(header, control)) {
        if (control->cmsg_level != IPPROTO_UDP || control->cmsg_type != UDP_GRO) continue;
        int size;
        memcpy(&size, CMSG_DATA(control), sizeof size);
        return size > 0 ? (size_t)size : 0;
    }
    return 0;
}

int beam_receive(beam_receiver *receiver, int socket) {
    int count;
    do {
        count = recvmmsg(socket, receiver->headers, beam_receiver_messages, MSG_DONTWAIT, NULL);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        receiver->segment_sizes[i] = segment_size_of(&receiver->headers[i].msg_hdr);
        // The kernel has overwritten the length.
        receiver->headers[i].msg_hdr.msg_controllen = sizeof receiver->control[i];
        receiver->headers[i].msg_hdr.msg_flags = 0;
    }
    return count;
}

beam_message beam_receiver_message(const beam_receiver *receiver, int index) {
    return (beam_message){
        .bytes = (uint8_t *)receiver->bytes[index],
        .length = receiver->headers[index].msg_len,
        .segment_size = receiver->segment_sizes[index],
    };
}

static int64_t in_nanoseconds(struct timespec time) { return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec; }

int64_t beam_arrival_time(int socket) {
    struct timespec arrival, wall, steady;
    if (ioctl(socket, SIOCGSTAMPNS, &arrival) != 0) return 0;
    // The timestamp is in wall-clock time. Its age gives the monotonic time.
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &steady);
    return in_nanoseconds(steady) - (in_nanoseconds(wall) - in_nanoseconds(arrival));
}

int beam_send_burst(
    int socket, const void *to, uint32_t to_length, const uint8_t *bytes, size_t length,
    size_t segment_size) {
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = length};
    union {
        struct cmsghdr header;
        uint8_t bytes[CMSG_SPACE(sizeof(uint16_t))];
    } control = {0};
    struct msghdr message = {
        .msg_name = (void *)to,
        .msg_namelen = to_length,
        .msg_iov = &vector,
        .msg_iovlen = 1,
    };
    if (segment_size < length) {
        uint16_t size = (uint16_t)segment_size;
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.header.cmsg_level = IPPROTO_UDP;
        control.header.cmsg_type = UDP_SEGMENT;
        control.header.cmsg_len = CMSG_LEN(sizeof size);
        memcpy(CMSG_DATA(&control.header), &size, sizeof size);
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

long beam_send_each(
    int socket, const void *to, uint32_t to_length, const uint8_t *bytes, size_t length,
    size_t segment_size) {
    enum { limit = 64 };
    struct mmsghdr messages[limit];
    struct iovec vectors[limit];
    unsigned count = 0;
    for (size_t start = 0; start < length && count < limit; start += segment_size, count++) {
        size_t rest = length - start;
        vectors[count] = (struct iovec){
            .iov_base = (void *)(bytes + start),
            .iov_len = rest < segment_size ? rest : segment_size,
        };
        messages[count] = (struct mmsghdr){
            .msg_hdr = {
                .msg_name = (void *)to,
                .msg_namelen = to_length,
                .msg_iov = &vectors[count],
                .msg_iovlen = 1,
            },
        };
    }
    int sent;
    do {
        sent = sendmmsg(socket, messages, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) return -errno;
    size_t total = (size_t)sent * segment_size;
    return (long)(total < length ? total : length);
}
