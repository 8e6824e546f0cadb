#define _GNU_SOURCE
#include "beam_error_stream.h"

#include <fcntl.h>
#include <pthread.h>
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

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int messages = STDERR_FILENO;

static void duplicate(void) {
    int own = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (own >= 0) messages = own;
}

int beam_error_stream_messages(void) {
    pthread_once(&once, duplicate);
    return messages;
}

// The lock guards both: pauses that haven't ended, and descriptor 2 as it was before the first of them, or -1.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pauses;
static int saved = -1;

static void send_nowhere(void) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (saved >= 0) dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

void beam_error_stream_pause(void) {
    // Without a descriptor of their own, messages would be lost: then a library's line does less harm.
    int is_safe = !getenv(variable) && beam_error_stream_messages() != STDERR_FILENO;
    pthread_mutex_lock(&lock);
    if (pauses++ == 0 && is_safe) send_nowhere();
    pthread_mutex_unlock(&lock);
}

void beam_error_stream_resume(void) {
    pthread_mutex_lock(&lock);
    if (--pauses == 0 && saved >= 0) {
        dup2(saved, STDERR_FILENO);
        close(saved);
        saved = -1;
    }
    pthread_mutex_unlock(&lock);
}
