"""What a process takes: memory, descriptors and threads, sampled, and the line through the samples."""

import dataclasses
import os
import pathlib
import time
from collections.abc import Sequence

# Growth that is allowed, each in its unit an hour; and how much more there has to be in the time that was looked at, so
# that a single step isn't taken for growth in a short run.
BOUNDS = {"memory": (6.0, 3.0), "private": (6.0, 3.0), "descriptors": (2.0, 2.0), "threads": (2.0, 2.0)}
UNITS = {"memory": "MiB", "private": "MiB", "descriptors": "descriptors", "threads": "threads"}


@dataclasses.dataclass(frozen=True)
class Sample:
    at: float
    # MiB: resident, and the part of it that it has written. (Pages of libraries become another process's or its own
    # alone as others come and go.)
    memory: float
    private: float
    descriptors: int
    threads: int


def sample(pid: int) -> Sample | None:
    """None if the process has ended."""
    folder = pathlib.Path(f"/proc/{pid}")
    try:
        found = {}
        for line in (folder / "smaps_rollup").read_text().splitlines()[1:]:
            name, _, value = line.partition(":")
            found[name] = int(value.split()[0]) / 1024
        return Sample(time.monotonic(), found["Rss"], found["Private_Dirty"],
                      len(os.listdir(folder / "fd")), len(os.listdir(folder / "task")))
    except (OSError, KeyError, IndexError):
        return None


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Least squares: how much the second value grows in one of the first."""
    count = len(points)
    if count < 3:
        return 0.0
    mean_x, mean_y = (sum(point[place] for point in points) / count for place in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


@dataclasses.dataclass(frozen=True)
class Growth:
    what: str
    first: float
    last: float
    an_hour: float
    # In the time that was looked at.
    in_all: float

    @property
    def is_flat(self) -> bool:
        most_an_hour, most = BOUNDS[self.what]
        return self.an_hour <= most_an_hour or self.in_all <= most


def growths(samples: list[Sample], since: float) -> list[Growth]:
    """The growth of each figure from `since` on."""
    samples = [one for one in samples if one.at >= since]
    if len(samples) < 3:
        return []
    found, span = [], samples[-1].at - samples[0].at
    for what in BOUNDS:
        rate = slope([(one.at, getattr(one, what)) for one in samples])
        found.append(Growth(what, getattr(samples[0], what), getattr(samples[-1], what), 3600 * rate, span * rate))
    return found
