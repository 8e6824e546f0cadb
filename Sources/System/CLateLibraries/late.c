#include "late.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

// Needs the library's lock.
static bool find_all(struct late_library *library) {
    // dlsym on a handle also searches the libraries that it depends on.
    void *handles[4];
    size_t loaded = 0;
    for (; library->files[loaded] && loaded < sizeof handles / sizeof *handles; loaded++) {
        handles[loaded] = dlopen(library->files[loaded], RTLD_LAZY | RTLD_LOCAL);
        if (!handles[loaded]) {
            const char *why = dlerror();
            snprintf(library->reason, sizeof library->reason, "%s", why ? why : library->files[loaded]);
            return false;
        }
    }
    for (size_t i = 0; i < library->count; i++) {
        void *target = NULL;
        for (size_t handle = 0; handle < loaded && !target; handle++)
            target = dlsym(handles[handle], library->functions[i]);
        if (!target) {
            snprintf(library->reason, sizeof library->reason, "%s has no function %s", library->files[0],
                     library->functions[i]);
            return false;
        }
        library->targets[i] = target;
    }
    return true;
}

const char *late_load(struct late_library *library) {
    int state = atomic_load_explicit(&library->state, memory_order_acquire);
    if (state == NOT_TRIED) {
        pthread_mutex_lock(&library->lock);
        state = atomic_load_explicit(&library->state, memory_order_relaxed);
        if (state == NOT_TRIED) {
            state = find_all(library) ? LOADED : UNUSABLE;
            atomic_store_explicit(&library->state, state, memory_order_release);
        }
        pthread_mutex_unlock(&library->lock);
    }
    return state == LOADED ? NULL : library->reason;
}

void *late_slow_target(struct late_library *library, size_t index) {
    const char *reason = late_load(library);
    if (!reason) return library->targets[index];
    // To the descriptor: `stderr` drops what libraries say.
    dprintf(STDERR_FILENO, "A library that is needed can't be loaded: %s. Install it.\n", reason);
    _exit(1);
}
