#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

// One library, or a few that belong together.
struct late_library {
    // Names for dlopen, terminated by NULL; they include the version of the headers that this was compiled with.
    const char *const *files;
    const char *const *functions;
    // The functions' addresses; complete once `state` is LOADED.
    void **targets;
    size_t count;
    _Atomic int state;
    // Held while the library is loaded.
    pthread_mutex_t lock;
    char reason[240];
};

enum { NOT_TRIED, LOADED, UNUSABLE };

// NULL, or why the library can't be used.
const char *late_load(struct late_library *library);

// The function's address. Ends the process if there is none.
void *late_slow_target(struct late_library *library, size_t index);

static inline void *late_target(struct late_library *library, size_t index) {
    if (atomic_load_explicit(&library->state, memory_order_acquire) == LOADED) return library->targets[index];
    return late_slow_target(library, index);
}

// For a list LIST(F) of F(result, name, parameters, arguments): indices, names and addresses. Some names are macros of
// the library's header that add its version; the second step expands them.
#define LATE_INDEX(...) LATE_INDEX_OF(__VA_ARGS__)
#define LATE_INDEX_OF(result, name, parameters, arguments) index_##name,
#define LATE_NAME(...) LATE_NAME_OF(__VA_ARGS__)
#define LATE_NAME_OF(result, name, parameters, arguments) #name,
#define LATE_LIBRARY(id, LIST, ...)                                                \
    enum { LIST(LATE_INDEX) id##_count };                                          \
    static const char *const id##_functions[] = {LIST(LATE_NAME)};                 \
    static const char *const id##_files[] = {__VA_ARGS__, NULL};                   \
    static void *id##_targets[id##_count];                                         \
    static struct late_library id = {.files = id##_files,                          \
                                     .functions = id##_functions,                  \
                                     .targets = id##_targets,                      \
                                     .count = id##_count,                          \
                                     .lock = PTHREAD_MUTEX_INITIALIZER};

// Defines the forwarding function. Hidden, so that other libraries still call the real one.
#define LATE_FUNCTION(id, result, name, parameters, arguments)                     \
    __attribute__((visibility("hidden"))) result name parameters {                 \
        return ((__typeof__(&name))late_target(&id, index_##name)) arguments;      \
    }
