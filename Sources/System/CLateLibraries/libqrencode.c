#include <qrencode.h>

#include "late.h"
#include "late_libraries.h"

#define LIBQRENCODE(F) \
    F(QRcode *, QRcode_encodeString8bit, (const char *string, int version, QRecLevel level), (string, version, level)) \
    F(void, QRcode_free, (QRcode *qrcode), (qrcode))

LATE_LIBRARY(libqrencode, LIBQRENCODE, "libqrencode.so.4")
#define DEFINE(...) LATE_FUNCTION(libqrencode, __VA_ARGS__)
LIBQRENCODE(DEFINE)
#undef DEFINE

const char *beam_load_libqrencode(void) { return late_load(&libqrencode); }
