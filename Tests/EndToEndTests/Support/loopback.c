// Plays a device of v4l2loopback for a program that is started with this library in LD_PRELOAD: /dev/video99 is the file
// LOOPBACK_FILE, to which each written picture is appended. What is agreed upon is appended to LOOPBACK_FILE.format, one
// line for each VIDIOC_S_FMT: layout, width, height, stride.
//
// LOOPBACK_KIND: camera (no output), taken (another program writes), busy (no format can be set), held (a program reads
// 160 × 160 YUYV, and the device keeps that), vanishing (gone after five pictures); else a free device.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int device = -1;
static int written;

static int is(const char *kind) {
    const char *given = getenv("LOOPBACK_KIND");
    return given && strcmp(given, kind) == 0;
}

static int opened(const char *name, const char *path, int flags, mode_t mode) {
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    const char *file = getenv("LOOPBACK_FILE");
    if (strcmp(path, "/dev/video99") != 0 || !file) return next(path, flags, mode);
    return device = next(file, O_RDWR | O_CREAT | O_APPEND | (flags & O_CLOEXEC), 0600);
}

#define OPEN(name)                                  \
    int name(const char *path, int flags, ...) {    \
        mode_t mode = 0;                            \
        if (flags & (O_CREAT | O_TMPFILE)) {        \
            va_list arguments;                      \
            va_start(arguments, flags);             \
            mode = va_arg(arguments, mode_t);       \
            va_end(arguments);                      \
        }                                           \
        return opened(#name, path, flags, mode);    \
    }
OPEN(open)
OPEN(open64)

static int fail(int code) {
    errno = code;
    return -1;
}

static int query(struct v4l2_capability *capability) {
    memset(capability, 0, sizeof *capability);
    strcpy((char *)capability->driver, is("camera") ? "uvcvideo" : "v4l2 loopback");
    capability->device_caps = V4L2_CAP_READWRITE | V4L2_CAP_STREAMING |
                              (is("camera") || is("taken") ? V4L2_CAP_VIDEO_CAPTURE : V4L2_CAP_VIDEO_OUTPUT);
    capability->capabilities = capability->device_caps | V4L2_CAP_DEVICE_CAPS;
    return 0;
}

static int set_format(struct v4l2_format *format) {
    if (format->type != V4L2_BUF_TYPE_VIDEO_OUTPUT) return fail(EINVAL);
    if (is("busy")) return fail(EBUSY);
    struct v4l2_pix_format *pixels = &format->fmt.pix;
    if (is("held")) {
        pixels->width = pixels->height = 160;
        pixels->pixelformat = V4L2_PIX_FMT_YUYV;
        pixels->bytesperline = 320;
        pixels->sizeimage = 320 * 160;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s.format", getenv("LOOPBACK_FILE"));
    FILE *file = fopen(path, "a");
    if (!file) return fail(EIO);
    fprintf(file, "%.4s %u %u %u\n", (const char *)&pixels->pixelformat, pixels->width, pixels->height,
            pixels->bytesperline);
    fclose(file);
    return 0;
}

int ioctl(int descriptor, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (device < 0 || descriptor != device) {
        int (*next)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
        return next(descriptor, request, argument);
    }
    if (request == VIDIOC_QUERYCAP) return query(argument);
    if (request == VIDIOC_S_FMT) return set_format(argument);
    return fail(ENOTTY);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    ssize_t (*next)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (device >= 0 && descriptor == device && is("vanishing") && written++ >= 5) return fail(ENODEV);
    return next(descriptor, bytes, count);
}
