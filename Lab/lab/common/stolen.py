"""How much of the processors' time this machine's host gives to other machines."""

import os
import pathlib
import time


class Stolen:
    """Counts from its making on. Where it is much, threads wake up late, and figures of latency are those of the machine."""

    def __init__(self) -> None:
        self._begin, self._before = time.monotonic(), self._ticks()

    @staticmethod
    def _ticks() -> int:
        # steal, proc(5): of all processors together.
        return int(pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[8])

    def percent(self) -> float:
        """Of all processors' time since then."""
        seconds = (self._ticks() - self._before) / os.sysconf("SC_CLK_TCK")
        return seconds / (time.monotonic() - self._begin) / (os.cpu_count() or 1) * 100
