"""Figures from a run's trace: how intact and how current the picture was."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

from lab.common.numbers import median, percentile
from lab.network.links import Meter

# In dB: a picture is broken if its luma PSNR against every frame that it could show is below this.
BROKEN = 20
# The same for one 64th of a picture: a local error that the PSNR of the whole hides.
BROKEN_PART = 14
# In dB: text can be read from this PSNR on.
LEGIBLE = 30
# In seconds: longer gaps count as frozen.
GAP = 0.1
WINDOW = 0.5


@dataclasses.dataclass
class Look:
    time: float
    number: int
    luma: float
    worst: float

    def is_broken(self) -> bool:
        return self.number < 0 or self.luma < BROKEN or self.worst < BROKEN_PART


class Trace:
    """The output of glassprobe: when each frame was painted and first seen, and every picture that was read."""

    def __init__(self, path: pathlib.Path) -> None:
        self.frames, self.markers, self.looks = [], [], []
        for line in open(path):
            kind, *words = line.split()
            if kind == "measured":
                self.begin, self.end = map(float, words)
            elif kind == "look":
                self.looks.append(Look(float(words[0]), int(words[1]), float(words[2]), float(words[3])))
            else:
                {"frame": self.frames, "marker": self.markers}[kind].append((float(words[1]), float(words[2])))

    def seen(self, begin: float, end: float) -> list[tuple[float, float]]:
        """(painted, seen) of the frames first seen between two times, in that order."""
        return sorted((frame for frame in self.frames if begin <= frame[1] < end), key=lambda frame: frame[1])

    def looked(self, begin: float, end: float) -> list[Look]:
        return [look for look in self.looks if begin <= look.time < end]

    def latencies(self, begin: float, end: float, kind: str = "frames") -> list[float]:
        """Latencies in ms of the frames that were painted between two times and seen at all."""
        found = [1000 * (seen - painted) for painted, seen in getattr(self, kind)
                 if begin <= painted < end and seen > 0]
        # A frame that was seen before it was painted is a misread broken picture.
        return [value for value in found if value > -1]

    def gaps(self, begin: float, end: float) -> list[float]:
        """How long each picture stayed, in seconds."""
        moments = [begin, *(seen for _, seen in self.seen(begin, end)), end]
        return [later - earlier for earlier, later in zip(moments, moments[1:])]


def moving(trace: Trace, meter: Meter, away: Sequence[float] | None = None) -> dict[str, Any]:
    """Figures of moving content. Broken pictures don't count while the link is down, from `away[0]` to `away[1]`, and
    until the next picture: the viewer may write over the last one that it has lost the host.
    """
    begin, end = trace.begin, trace.end
    seconds = end - begin
    seen, looks, gaps = trace.seen(begin, end), trace.looked(begin, end), trace.gaps(begin, end)
    if away:
        back = next((moment for _, moment in seen if moment >= away[1]), end)
        looks = [look for look in looks if not away[0] <= look.time < back]
    latencies = trace.latencies(begin, end)
    # The last frames may still be in flight.
    settled = [frame for frame in trace.frames if begin <= frame[0] < end - 0.5]
    return {
        "fps": len(seen) / seconds,
        "painted_fps": sum(begin <= painted < end for painted, _ in trace.frames) / seconds,
        "unseen": 100 * sum(one <= 0 for _, one in settled) / len(settled) if settled else None,
        "frozen": 100 * sum(gap for gap in gaps if gap > GAP) / seconds,
        "longest_gap": 1000 * max(gaps),
        "median": median(latencies), "p95": percentile(latencies, 0.95), "max": max(latencies, default=None),
        "broken": 100 * sum(look.is_broken() for look in looks) / len(looks) if looks else None,
        "luma": median([look.luma for look in looks]), "luma_p5": percentile([look.luma for look in looks], 0.05),
        "mbit": meter.mbit(begin, end), "mbit_sent": meter.mbit(begin, end, viewer=False),
    }


def series(trace: Trace, meter: Meter) -> list[dict[str, Any]]:
    """The same in windows of half a second; `at` is in seconds since measuring began."""
    rows = []
    for index in range(int((trace.end - trace.begin) / WINDOW)):
        begin = trace.begin + index * WINDOW
        seen, looks = trace.seen(begin, begin + WINDOW), trace.looked(begin, begin + WINDOW)
        latencies = [1000 * (moment - painted) for painted, moment in seen]
        rows.append({
            "at": round(index * WINDOW, 1), "fps": len(seen) / WINDOW, "median": median(latencies),
            "max": max(latencies, default=None), "luma": median([look.luma for look in looks]),
            "mbit": meter.mbit(begin, begin + WINDOW), "mbit_sent": meter.mbit(begin, begin + WINDOW, viewer=False),
        })
    return rows


def dropping(rows: list[dict[str, Any]], drop: float, back: float) -> dict[str, Any]:
    """How a stream follows a rate that drops and returns. `rows` is a series, the times are in its seconds."""
    before = [row for row in rows if row["at"] + WINDOW <= drop]
    slow = [row for row in rows if drop + 1 <= row["at"] and row["at"] + WINDOW <= back]
    after = [row for row in rows if row["at"] >= back]
    luma, fps = median([row["luma"] for row in before if row["luma"]]), median([row["fps"] for row in before])
    if not before or not slow or not after or luma is None:
        return {}

    def is_full(row: dict[str, Any]) -> bool:
        return row["luma"] is not None and row["luma"] >= luma - 1 and row["fps"] >= 0.9 * fps

    # The first window from which on nine in ten windows are as before the drop.
    full = next((index for index in range(len(after)) if is_full(after[index])
                 and sum(map(is_full, after[index:])) >= 0.9 * len(after[index:])), None)
    settled = [row for row in slow if row["at"] >= drop + 3]
    return {
        # A window without a picture has an unknown delay.
        "slow_latency": max(row["max"] if row["max"] is not None else float("inf") for row in slow),
        "slow_without": sum(row["fps"] == 0 for row in slow),
        "full_after": None if full is None else max(0, after[full]["at"] + WINDOW - back),
        "least_mbit": min((row["mbit"] for row in settled if row["mbit"] is not None), default=None),
        "slow_luma": median([row["luma"] for row in settled if row["luma"]]),
        "slow_fps": median([row["fps"] for row in settled]),
        "swings": swings(settled) + (swings(after[full:]) if full is not None else 0),
        "windows": len(settled) + (len(after[full:]) if full is not None else 0),
    }


def swings(rows: list[dict[str, Any]]) -> int:
    """The windows that are far from the settled quality."""
    luma, fps = median([row["luma"] for row in rows if row["luma"]]), median([row["fps"] for row in rows])
    if luma is None:
        return len(rows)
    return sum(row["fps"] == 0 or row["luma"] is None or abs(row["luma"] - luma) > 3
               or abs(row["fps"] - fps) > 0.3 * fps for row in rows)


def returning(trace: Trace, moment: float) -> dict[str, Any]:
    """Milliseconds from a link's return to the first new picture, and to the first live one."""
    seen = trace.seen(moment, float("inf"))
    live = next((one for painted, one in seen if one - painted < 0.5), None)
    return {"picture_after": 1000 * (seen[0][1] - moment) if seen else None,
            "live_after": None if live is None else 1000 * (live - moment)}


def typing(found: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """Figures of letters that are typed, from what the probe has printed: until they are equal in every pixel.

    A letter is as it was, or as it should be, if the mean square of its differences is less than a quarter of that
    between both: so a video's inexact pixels are, and what belongs to neither is wrong.
    """
    exact, seen, looks = found["exact"], found["seen"], found["looks"]
    begin, end = found["begin"], found["end"]
    whole = exact["count"] + exact["missed"]
    return {
        "letters": whole, "median": exact["median"], "p95": exact["p95"], "max": exact["max"] if exact["count"] else None,
        "unseen": 100 * exact["missed"] / whole, "seen_median": seen["median"], "seen_p95": seen["p95"],
        "looks": looks, "reverted": found["reverted"], "wrong": found["wrong"],
        "mbit": meter.mbit(begin, end), "mbit_sent": meter.mbit(begin, end, viewer=False),
    }


def still(trace: Trace, meter: Meter) -> dict[str, Any]:
    """Figures of text that appears and stands still, with small changes."""
    shown = trace.frames[0][0]
    legible = next((look.time for look in trace.looks if look.luma >= LEGIBLE), None)
    changes = trace.latencies(trace.begin, trace.end, "markers")
    looks = trace.looked(trace.begin, trace.end)
    return {
        "legible_after": None if legible is None else legible - shown,
        "median": median(changes), "p95": percentile(changes, 0.95), "max": max(changes, default=None),
        "luma": median([look.luma for look in looks]), "luma_last": looks[-1].luma if looks else None,
        "mbit": meter.mbit(trace.begin, trace.end), "mbit_sent": meter.mbit(trace.begin, trace.end, viewer=False),
    }
