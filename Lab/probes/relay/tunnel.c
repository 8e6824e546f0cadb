// A TUN device in a network namespace: what its kernel routes there is read from a descriptor, one IP packet at a time.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay.h"

static struct ifreq request(const char *name) {
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    return request;
}

static void set_address(int socket, unsigned long what, const char *name, const char *text) {
    struct ifreq change = request(name);
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, text, &address.sin_addr) != 1) fail("that isn't an IPv4 address", text);
    memcpy(&change.ifr_addr, &address, sizeof address);
    if (ioctl(socket, what, &change) != 0) fail("can't set the device's address", text);
}

/// The kernel's own words to neighbours would take decisions that are meant for others' packets.
static void leave_out_ipv6(const char *name) {
    char path[96];
    snprintf(path, sizeof path, "/proc/sys/net/ipv6/conf/%s/disable_ipv6", name);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    // There is no such file where there is no IPv6.
    if (file < 0) return;
    if (write(file, "1", 1) != 1) perror(path);
    close(file);
}

int open_tunnel(const char *namespace, const char *name, const char *address, const char *peer) {
    int space = open(namespace, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) fail("can't enter that network namespace", namespace);
    close(space);
    int tunnel = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (tunnel < 0) fail("can't open it; the relay needs TUN devices", "/dev/net/tun");
    // No header in front of packets means no offloads: each packet is as large as the link allows, not larger.
    struct ifreq made = request(name);
    made.ifr_flags = IFF_TUN | IFF_NO_PI;
    if (ioctl(tunnel, TUNSETIFF, &made) != 0) fail("can't make the TUN device", name);

    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) fail("no socket", name);
    set_address(control, SIOCSIFADDR, name, address);
    set_address(control, SIOCSIFDSTADDR, name, peer);
    set_address(control, SIOCSIFNETMASK, name, "255.255.255.255");
    struct ifreq change = request(name);
    change.ifr_mtu = 1500;
    if (ioctl(control, SIOCSIFMTU, &change) != 0) fail("can't set the device's packet size", name);
    // The only queue is to be the relay's own.
    change = request(name);
    change.ifr_qlen = 10000;
    if (ioctl(control, SIOCSIFTXQLEN, &change) != 0) fail("can't set the device's queue", name);
    leave_out_ipv6(name);
    change = request(name);
    if (ioctl(control, SIOCGIFFLAGS, &change) != 0) fail("can't read the device's state", name);
    change.ifr_flags |= IFF_UP | IFF_RUNNING;
    if (ioctl(control, SIOCSIFFLAGS, &change) != 0) fail("can't start the device", name);
    close(control);
    return tunnel;
}
