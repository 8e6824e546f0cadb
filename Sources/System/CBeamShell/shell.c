#define _GNU_SOURCE
#include "shell.h"

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

int beam_start_shell(const char *command, int input, int output, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int result = posix_spawn_file_actions_init(&actions);
    if (result != 0) return result;
    result = posix_spawnattr_init(&attributes);
    if (result != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return result;
    }
    char *const words[] = {"/bin/sh", "-c", (char *)command, NULL};
    (void)(
        (result = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)) != 0 ||
        (result = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)) != 0 ||
        (result = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)) != 0 ||
        (result = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)) != 0 ||
        (result = posix_spawnattr_setsigmask(&attributes, &none)) != 0 ||
        (result = posix_spawnattr_setsigdefault(&attributes, &all)) != 0 ||
        (result = posix_spawnattr_setpgroup(&attributes, 0)) != 0 ||
        (result = posix_spawnattr_setflags(
             &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)) != 0 ||
        (result = posix_spawn(pid, words[0], &actions, &attributes, words, environ)) != 0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}
