// Tells the thread sanitizer about contended locking of Swift's Mutex.
//
// Synchronization.Mutex locks and unlocks an uncontended lock in the caller's code, which is instrumented. A contended lock goes
// through the kernel (FUTEX_LOCK_PI) in libswiftSynchronization, which isn't instrumented. Without this file the sanitizer reports a
// data race for every value behind a contended Mutex. Scripts/test --sanitize=thread preloads it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef SWIFT void Lock(uint32_t, SELF);
typedef SWIFT bool TryLock(SELF);
typedef SWIFT void Unlock(SELF);

// Defined by the sanitizer; missing in programs without it.
__attribute__((weak)) void __tsan_acquire(void *);
__attribute__((weak)) void __tsan_release(void *);

extern Lock lock_slow __asm__(LOCK);
extern TryLock try_lock_slow __asm__(TRY_LOCK);
extern Unlock unlock_slow __asm__(UNLOCK);

static void *library_function(const char *name, void **known)
{
    void *function = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        if (!function) {
            fprintf(stderr, "Swift's Mutex has changed: there is no %s\n", name);
            abort();
        }
        __atomic_store_n(known, function, __ATOMIC_RELAXED);
    }
    return function;
}

SWIFT void lock_slow(uint32_t thread, SELF)
{
    static void *known;
    ((Lock *)library_function(LOCK, &known))(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT bool try_lock_slow(SELF)
{
    static void *known;
    bool is_taken = ((TryLock *)library_function(TRY_LOCK, &known))(mutex);
    if (is_taken && __tsan_acquire) __tsan_acquire(mutex);
    return is_taken;
}

SWIFT void unlock_slow(SELF)
{
    static void *known;
    if (__tsan_release) __tsan_release(mutex);
    ((Unlock *)library_function(UNLOCK, &known))(mutex);
}
