// Shares the rows of a large picture with a helper thread.
//
// Rows are handed out in bands, one at a time, to the calling thread and the helper. If the system hasn't scheduled the
// helper, it has no band, and the caller doesn't wait for it.
#define _GNU_SOURCE
#include "bands.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

enum {
    // Pixels per band: about 0.2 ms of the slowest conversion.
    BAND_PIXELS = 1 << 17,
    // Below this, one thread is done before the helper has woken.
    LEAST_PIXELS = 4 * BAND_PIXELS,
};

typedef struct rows_job {
    beam_band *band;
    const void *arguments;
    int end, rows;
    atomic_int next;
} rows_job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t begun, left;
    // `offered`: the job that the helper may start on. `helped`: the job it is working on.
    rows_job *offered, *helped;
    // 0: not created yet; 1: running; -1: not available.
    int has_helper;
} shared = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, NULL, 0};

// Processes bands until none is left.
static void take_bands(rows_job *job) {
    for (;;) {
        const int y0 = atomic_fetch_add_explicit(&job->next, job->rows, memory_order_relaxed);
        if (y0 >= job->end) return;
        job->band(job->arguments, y0, y0 + job->rows < job->end ? y0 + job->rows : job->end);
    }
}

static void *help(void *unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "beam-bands");
    pthread_mutex_lock(&shared.lock);
    for (;;) {
        while (!shared.offered) pthread_cond_wait(&shared.begun, &shared.lock);
        rows_job *job = shared.helped = shared.offered;
        shared.offered = NULL;
        pthread_mutex_unlock(&shared.lock);
        take_bands(job);
        pthread_mutex_lock(&shared.lock);
        shared.helped = NULL;
        pthread_cond_broadcast(&shared.left);
    }
    return NULL;
}

// Needs the lock. The helper blocks all signals, which other threads handle.
static int find_helper(void) {
    if (shared.has_helper == 0) {
        shared.has_helper = -1;
        sigset_t all, before;
        pthread_t thread;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (sysconf(_SC_NPROCESSORS_ONLN) > 1 && pthread_create(&thread, NULL, help, NULL) == 0) {
            pthread_detach(thread);
            shared.has_helper = 1;
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return shared.has_helper == 1;
}

// Offers the job if the helper is free. Doesn't wait if the lock is taken.
static int offer(rows_job *job) {
    if (pthread_mutex_trylock(&shared.lock) != 0) return 0;
    const int is_free = !shared.offered && !shared.helped && find_helper();
    if (is_free) {
        shared.offered = job;
        pthread_cond_signal(&shared.begun);
    }
    pthread_mutex_unlock(&shared.lock);
    return is_free;
}

// After this returns, the helper has finished the job or will never start it.
static void withdraw(rows_job *job) {
    pthread_mutex_lock(&shared.lock);
    if (shared.offered == job) shared.offered = NULL;
    while (shared.helped == job) pthread_cond_wait(&shared.left, &shared.lock);
    pthread_mutex_unlock(&shared.lock);
}

void beam_in_bands(beam_rect rect, beam_band *band, const void *arguments) {
    const int width = rect.x1 - rect.x0, height = rect.y1 - rect.y0;
    if ((int64_t)width * height < LEAST_PIXELS) {
        band(arguments, rect.y0, rect.y1);
        return;
    }
    // Bands have an even number of rows, so that they start at a row of chroma if the rectangle does.
    rows_job job = {.band = band, .arguments = arguments, .end = rect.y1, .rows = (BAND_PIXELS / width + 1) & ~1};
    if (job.rows < 2) job.rows = 2;
    atomic_init(&job.next, rect.y0);
    const int is_offered = offer(&job);
    take_bands(&job);
    if (is_offered) withdraw(&job);
}
