#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "beam_camera.h"

static int call(int descriptor, unsigned long request, void *argument) {
    int result;
    do result = ioctl(descriptor, request, argument);
    while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : 0;
}

int beam_v4l2_open(const char *path) {
    const int descriptor = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

beam_v4l2_kind beam_v4l2_kind_of(int descriptor) {
    struct v4l2_capability capability = {0};
    if (call(descriptor, VIDIOC_QUERYCAP, &capability) < 0) return beam_v4l2_no_video;
    const uint32_t abilities = capability.capabilities & V4L2_CAP_DEVICE_CAPS ? capability.device_caps
                                                                              : capability.capabilities;
    if (abilities & V4L2_CAP_VIDEO_OUTPUT && abilities & V4L2_CAP_READWRITE) return beam_v4l2_output;
    // With exclusive_caps it says that it is a camera, and nothing else, while a program writes.
    return strcmp((const char *)capability.driver, "v4l2 loopback") == 0 ? beam_v4l2_taken : beam_v4l2_no_output;
}

static uint32_t code_of(beam_layout layout) {
    switch (layout) {
    case beam_layout_nv12: return V4L2_PIX_FMT_NV12;
    case beam_layout_yuyv: return V4L2_PIX_FMT_YUYV;
    default: return V4L2_PIX_FMT_YUV420;
    }
}

static beam_layout layout_of(uint32_t code) {
    switch (code) {
    case V4L2_PIX_FMT_YUV420: return beam_layout_i420;
    case V4L2_PIX_FMT_NV12: return beam_layout_nv12;
    case V4L2_PIX_FMT_YUYV: return beam_layout_yuyv;
    default: return beam_layout_none;
    }
}

int beam_v4l2_set_format(int descriptor, beam_v4l2_format *format) {
    const uint32_t width = format->width, height = format->height;
    const int is_packed = format->layout == beam_layout_yuyv;
    struct v4l2_format request = {.type = V4L2_BUF_TYPE_VIDEO_OUTPUT};
    request.fmt.pix = (struct v4l2_pix_format){
        .width = width,
        .height = height,
        .pixelformat = code_of(format->layout),
        .field = V4L2_FIELD_NONE,
        .bytesperline = is_packed ? width * 2 : width,
        .sizeimage = is_packed ? width * height * 2 : width * height * 3 / 2,
        .colorspace = V4L2_COLORSPACE_REC709,
        .ycbcr_enc = V4L2_YCBCR_ENC_709,
        .quantization = V4L2_QUANTIZATION_LIM_RANGE,
        .xfer_func = V4L2_XFER_FUNC_709,
    };
    const int result = call(descriptor, VIDIOC_S_FMT, &request);
    if (result < 0) return result;
    *format = (beam_v4l2_format){
        .layout = layout_of(request.fmt.pix.pixelformat),
        .width = request.fmt.pix.width,
        .height = request.fmt.pix.height,
        .stride = request.fmt.pix.bytesperline,
        .size = request.fmt.pix.sizeimage,
    };
    return 0;
}
