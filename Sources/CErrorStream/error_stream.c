#define _GNU_SOURCE
#include "beam_error_stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char variable[] = "BEAMROOM_LIBRARY_MESSAGES";

static ssize_t drop(void *cookie, const char *bytes, size_t count) {
    (void)cookie;
    (void)bytes;
    return (ssize_t)count;
}

void beam_error_stream_silence_libraries(void) {
    if (getenv(variable)) return;
    FILE *nowhere = fopencookie(NULL, "w", (cookie_io_functions_t){.write = drop});
    if (!nowhere) return;
    setvbuf(nowhere, NULL, _IONBF, 0);
    // In the C library of GNU, `stderr` is a variable that may be assigned. The old stream has nothing buffered.
    stderr = nowhere;
}

int beam_error_stream_pause(void) {
    if (getenv(variable)) return -1;
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (saved < 0) return -1;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) {
        close(saved);
        return -1;
    }
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    return saved;
}

void beam_error_stream_resume(int saved) {
    if (saved < 0) return;
    dup2(saved, STDERR_FILENO);
    close(saved);
}
