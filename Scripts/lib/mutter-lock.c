// For LD_PRELOAD in mutter, without GNOME's shell: SIGUSR1 ends all screen casts and refuses new ones, as the shell has it done
// while the screen is locked; SIGUSR2 allows them again.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>

typedef int handler(void *);
static int is_locked;

static int set_locked(void *value) {
    void *(*backend)(void) = dlsym(RTLD_DEFAULT, "meta_get_backend");
    void *(*controller)(void *) = dlsym(RTLD_DEFAULT, "meta_backend_get_remote_access_controller");
    int locks = value != 0;
    if (locks == is_locked) return 1;
    is_locked = locks;
    void (*change)(void *) = dlsym(RTLD_DEFAULT, locks ? "meta_remote_access_controller_inhibit_remote_access"
                                                       : "meta_remote_access_controller_uninhibit_remote_access");
    change(controller(backend()));
    return 1;
}

void g_main_loop_run(void *loop) {
    void (*run)(void *) = dlsym(RTLD_NEXT, "g_main_loop_run");
    unsigned (*on_signal)(int, handler *, void *) = dlsym(RTLD_NEXT, "g_unix_signal_add");
    static int is_ready;
    if (!is_ready++) {
        on_signal(SIGUSR1, set_locked, &is_ready);
        on_signal(SIGUSR2, set_locked, 0);
    }
    run(loop);
}
