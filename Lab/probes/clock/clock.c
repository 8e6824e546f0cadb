// A library for LD_PRELOAD that sets the wall clock of one program: as many seconds ahead of the machine's as the file
// that WALL_CLOCK names says (a signed number of 64 bits, in the machine's byte order), while the program runs. The
// monotonic clocks stay the machine's, as when a real clock is set. libfaketime does the same, but so slowly that a
// program that shares 60 pictures a second doesn't keep up.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const _Atomic int64_t *ahead_in_file;

__attribute__((constructor)) static void map_file(void) {
    const char *path = getenv("WALL_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(NULL, sizeof *ahead_in_file, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (found != MAP_FAILED) ahead_in_file = found;
}

static int64_t ahead(void) { return ahead_in_file ? atomic_load(ahead_in_file) : 0; }

// The next definition of a function, which is the C library's.
static void *next(const char *name) {
    // On x86-64 there is also an older, incompatible form of some.
    void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
}

#define NEXT(function)                                                        \
    static _Atomic(__typeof__(&function)) found;                              \
    __typeof__(&function) original = atomic_load(&found);                     \
    if (!original) {                                                          \
        original = (__typeof__(&function))next(#function);                    \
        atomic_store(&found, original);                                       \
    }

// --- What time it is

int clock_gettime(clockid_t clock, struct timespec *time) {
    NEXT(clock_gettime)
    int status = original(clock, time);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += ahead();
    return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    NEXT(gettimeofday)
    int status = original(time, zone);
    if (status == 0) time->tv_sec += ahead();
    return status;
}

time_t time(time_t *result) {
    NEXT(time)
    time_t now = original(NULL) + ahead();
    if (result) *result = now;
    return now;
}

// --- Waiting until some time

// A deadline by the machine's clock.
static struct timespec deadline(const struct timespec *time) {
    // Monotonic clocks, which count from the machine's start, are decades behind.
    const int64_t earliest = INT64_C(1) << 30;
    struct timespec result = *time;
    if (result.tv_sec > earliest) result.tv_sec -= ahead();
    return result;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict time) {
    NEXT(sem_timedwait)
    struct timespec end = deadline(time);
    return original(semaphore, &end);
}

int pthread_cond_timedwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict time) {
    NEXT(pthread_cond_timedwait)
    struct timespec end = deadline(time);
    return original(condition, mutex, &end);
}

int pthread_cond_clockwait(
    pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
    const struct timespec *restrict time) {
    NEXT(pthread_cond_clockwait)
    struct timespec end = deadline(time);
    return original(condition, mutex, clock, &end);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict time) {
    NEXT(pthread_mutex_timedlock)
    struct timespec end = deadline(time);
    return original(mutex, &end);
}
