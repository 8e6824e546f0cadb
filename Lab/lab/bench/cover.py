"""Scripts/bench cover: what it costs a host to cover BeamRoom's own windows on its screen, with real processes."""

import argparse
import contextlib
import pathlib
import statistics
import time
from typing import Any

from lab.bench.marked import MarkedWindow, Mover
from lab.common import build, content, isolation, pairs, records, rows, tables
from lab.common.members import Member
from lab.common.processes import processor_time, wait
from lab.common.screens import TwoScreens
from lab.common.trouble import Trouble

# What the window does in each row.
ROWS = {"still": "the window stays where it is", "moved": "it is moved 60 times a second"}
WINDOW = (800, 450)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench cover",
        description="A host shares a screen of 1920x1080 on which a page scrolls, 60 times a second. A window of 800x450 lies"
        " over it. In turns it is an ordinary one, and marked as one of BeamRoom's own, which a card covers. Compared are, in"
        " pairs of intervals of the same host: its processor time, the time from a change to the finished grab, and frames a"
        " second.")
    rows.add_options(parser, list(ROWS), history=False)
    parser.add_argument("--pairs", type=int, default=8, help="intervals of each kind (8); 6 or more tell noise from a cost")
    parser.add_argument("--seconds", type=int, default=4, help="of an interval, after half a second (4)")
    options = parser.parse_args(arguments)
    if not (1 <= options.pairs <= 100 and 2 <= options.seconds <= 600):
        parser.error("--pairs is 1 to 100, and --seconds 2 to 600")
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.inside:
        return inside(options)
    return rows.outside("cover", arguments, options, lambda: {"BEAMROOM_PROBE": build.screen_probe()})


def inside(options: argparse.Namespace) -> int:
    isolation.enter()
    found, entry = rows.inside("cover", options, lambda row, *place: measure(row, options, *place))
    print(f"1920x1080 at 60, {options.pairs} pairs of {options.seconds} s. {records.describe(entry['machine'])};"
          f" commit {entry['commit']}\n")
    lines = []
    for name, row in found.items():
        lines.append([ROWS[name], "", "", ""])
        for what, unit in (("processor", "%"), ("capture", "ms"), ("fps", "")):
            sides = [statistics.median(side) for side in zip(*row[what], strict=True)]
            lines.append([f"  {TITLES[what]}", *(f"{side:.2f}" for side in sides),
                          pairs.difference(row[what], unit)])
    print(tables.text(lines, ["medians", "ordinary", "own", "the same in pairs"]))
    rows.keep("cover", options, entry)
    return 0


TITLES = {"processor": "the host's processor time, % of a core", "capture": "from a change to the grab, ms",
          "fps": "frames a second"}


def measure(name: str, options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    screens = stack.enter_context(TwoScreens(1080, 60))
    content.write(screens.directory, 1920, 1080)
    display = screens.screens.host
    length = options.pairs * 2 * (options.seconds + 3) + 60
    stack.enter_context(screens.painting("scroll", length))
    time.sleep(2)
    window = stack.enter_context(contextlib.closing(MarkedWindow(display, *WINDOW)))
    host = Member(stack, directory / "host", [
        "share", "--display", display, "--audio", "off", "--no-bluetooth", *Member.OPEN, "--bind", "127.0.0.1"])
    host.first("ready", 60)
    viewer = Member(stack, directory / "viewer", ["watch", "127.0.0.1:52345", "--no-window", "--no-bluetooth"])
    wait("the first picture", 30, lambda: viewer.count("first-frame") > 0)
    if name == "moved":
        stack.enter_context(contextlib.closing(Mover(window)))
    time.sleep(2)
    sides = {what: [] for what in TITLES}
    for _ in range(options.pairs):
        both = []
        for is_own in (False, True):
            window.mark(is_own)
            time.sleep(0.5)
            both.append(interval(host, options.seconds))
        for what, values in sides.items():
            values.append([side[what] for side in both])
    return sides


def interval(host: Member, seconds: float) -> dict[str, Any]:
    # A second's figures are those of the second before: from one of them to another.
    first = host.count("stats")
    wait("figures", 5, lambda: host.count("stats") > first)
    start, before, seen = time.monotonic(), processor_time(host.pid), len(host.lines)
    count = host.count("stats")
    wait("figures", seconds + 5, lambda: host.count("stats") >= count + seconds)
    spent = (processor_time(host.pid) - before) / (time.monotonic() - start) * 100
    events = host.told("stats", seen)
    grabs = [event["latencyMs"]["capture"]["median"] for event in events if "capture" in event.get("latencyMs", {})]
    if not grabs:
        raise Trouble(f"The host has grabbed nothing.\n{host.last_words()}")
    return {"processor": spent, "capture": statistics.median(grabs),
            "fps": statistics.mean(event["fps"] for event in events)}

