"""Processes: how they end, what they have used, and waiting for something of them."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

from lab.common.trouble import Trouble

TICKS = os.sysconf("SC_CLK_TCK")
Found = TypeVar("Found")


def end(process: subprocess.Popen) -> None:
    """Ends a process and its session, with SIGKILL if SIGTERM isn't enough."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(3)
            return
    process.wait()


def first_true(condition: Callable[[], Found], seconds: float) -> Found | None:
    """The first true result of `condition()`; None after so many seconds."""
    limit = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > limit:
            return found or None
        time.sleep(0.01)


def wait(what: str, seconds: float, is_done: Callable[[], object]) -> None:
    if not first_true(is_done, seconds):
        raise Trouble(f"Waited {seconds:g} s in vain for {what}.")


def processor_time(*pids: int) -> float:
    """The processor time in seconds that these processes have used until now; none for those that have ended."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def shares(groups: dict[str, list[int]], seconds: float) -> dict[str, float]:
    """The processor time of groups of processes in the next `seconds`, in percent of one processor."""
    before, begin = {name: processor_time(*pids) for name, pids in groups.items()}, time.monotonic()
    time.sleep(seconds)
    taken = time.monotonic() - begin
    return {name: (processor_time(*pids) - before[name]) / taken * 100 for name, pids in groups.items()}


def memory(pid: int) -> dict[str, int]:
    """In KiB: resident memory (VmRSS), the part of it that isn't files (RssAnon), its peak (VmHWM); empty if it has ended."""
    found = {}
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("VmRSS", "RssAnon", "VmHWM"):
                found[name] = int(value.split()[0])
    return found
