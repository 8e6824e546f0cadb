"""The row load: what 50 browsers cost a host, and whether a native viewer notices them."""

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any

from lab.bench.crowd.scene import LAST, Scene, set_niceness
from lab.bench.web.place import CODE, WEB_PORT, Place
from lab.common.numbers import median, number
from lab.common.programs import Program
from lab.common.tables import judged
from lab.common.trouble import Trouble
from lab.network.links import HOST

Figures = dict[str, Any]
# Browsers beside a native viewer, and the most that the host's processor time may grow from one to all.
COUNTS = (0, 1, 50)
MOST_TIMES = 3
# In kbit/s: what the host is told.
BIT_RATE = 2000
# In seconds, until bit rates and estimates have settled, and until all browsers are in.
SETTLE, LONGEST_START = 5, 60
# A native viewer has the same with browsers as without if it has so many pictures a second less, and so many ms more.
SAME_RATE, SAME_LATENCY = 1, 5


@contextlib.contextmanager
def browsers(place: Place, host: Program, count: int) -> Iterator[Program | None]:
    """So many light ones that watch, in a process of their own. They are in the host's own network, because 100 Mbit/s by
    the laboratory's link would take the processors from all others.
    """
    if not count:
        yield None
        return
    media_port = host.named("ready")[0]["webMediaPort"]
    crowd = Program([sys.executable, "-B", "-m", "lab.bench.web.light", "--host", HOST, "--port", str(WEB_PORT),
                     "--media-port", str(media_port), "--code", CODE, "--count", str(count)], place.directory / "light")
    with crowd:
        # They would really have machines of their own.
        set_niceness(crowd.pid, LAST)
        if not crowd.wait_for("watching", LONGEST_START):
            raise Trouble(f"Not all of {count} browsers came to watch. Their last words:\n{crowd.last_words()}")
        yield crowd


def load(options: argparse.Namespace) -> Figures:
    found: Figures = {str(count): [] for count in COUNTS}
    with Place() as place:
        for _ in range(options.reps):
            for count in COUNTS:
                # A part of the places is kept for paired devices.
                with (place.sharing(*place.pattern(options.content, 30, 720), "--max-viewers", 2 * max(COUNTS), rows=720,
                                    bit_rate=BIT_RATE) as host,
                      place.native() as viewer, browsers(place, host, count) as crowd):
                    time.sleep(SETTLE)
                    found[str(count)].append(loaded(host, viewer, crowd, options.seconds))
    return found


def loaded(host: Program, viewer: Program, crowd: Program | None, seconds: float) -> Figures:
    begin, used, crowd_used = time.monotonic(), host.processor(), crowd.processor() if crowd else 0
    time.sleep(seconds)
    end = time.monotonic()
    figures = {"host": (host.processor() - used) / (end - begin) * 100, "native": Scene.real_figures(viewer, begin, end)}
    if not crowd:
        return figures
    return {**figures, **received(crowd, begin, end), "crowd": (crowd.processor() - crowd_used) / (end - begin) * 100}


def received(crowd: Program, begin: float, end: float) -> Figures:
    """What the browsers got between two moments."""
    told = [event for event in crowd.named("got", begin) if event["at"] <= end]
    if len(told) < 2:
        raise Trouble(f"The browsers don't say what they get. Their last words:\n{crowd.last_words()}")
    first, last = told[0], told[-1]
    shares, rates = [], []
    for before, after in zip(first["peers"], last["peers"]):
        expected = after["expected"] - before["expected"]
        shares.append((after["received"] - before["received"]) / expected if expected else 0.0)
        rates.append((after["bytes"] - before["bytes"]) * 8e-6 / (last["at"] - first["at"]))
    gone = [one["gone"] for one in last["peers"] if one["gone"]]
    return {"least": min(shares) * 100, "median": median(shares) * 100, "mbit": median(rates), "least_mbit": min(rates),
            "gone": len(gone), "reasons": sorted(set(gone))}


def lines(row: Figures) -> list[list[str]]:
    def of(count: int, name: str) -> Any:
        return median(run[name] for run in row[str(count)])

    def native(count: int, name: str) -> Any:
        return median(run["native"][name] for run in row[str(count)])

    _, one, most = COUNTS
    times = of(most, "host") / of(one, "host")
    found = [
        judged(f"the host's processor time with {most} browsers beside with {one}, 720p30, at most 2 Mbit/s", f"{MOST_TIMES} ×",
               f"{number(times, 2)} ×", times <= MOST_TIMES),
        ["  with none; with one; with all", "", "; ".join(f"{number(of(count, 'host'), 0)} %" for count in COUNTS), ""]]
    for count in (one, most):
        whole, gone = min(run["least"] for run in row[str(count)]), max(run["gone"] for run in row[str(count)])
        found.append(judged(
            f"  packets that each of {count} got, the least share; Mbit/s", "100 %",
            f"{number(whole, 2)} %; {number(of(count, 'mbit'), 2)}" + (f"; {gone} gone" if gone else ""),
            whole >= 100 and not gone))
    rates, latencies = ([native(count, name) for count in COUNTS] for name in ("fps", "median"))
    found += [
        judged("  a native viewer's pictures a second with none; one; all", "as with none",
               "; ".join(map(number, rates)), None not in rates and rates[2] >= rates[0] - SAME_RATE),
        judged("  its latency from captured to drawn, median", "as with none",
               "; ".join(map(number, latencies)) + " ms",
               None not in latencies and latencies[2] <= latencies[0] + SAME_LATENCY)]
    return found
