// A command run by the shell, for what Swift's module of the C library leaves out.
#pragma once

#include <sys/types.h>

/// Starts `/bin/sh -c command`, as posix_spawn(3) does, in a process group of its own and with this program's environment.
///
/// Its standard input is `input`; its output and errors go to `output`. It has nothing else that is open here, so that it
/// can't hold a port when this program has ended. All signals do what they do by default.
///
/// Returns 0 or the error's number.
int beam_start_shell(const char *command, int input, int output, pid_t *pid);
