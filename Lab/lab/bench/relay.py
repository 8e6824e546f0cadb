"""Scripts/bench relay: what a relay adds, with real processes: a host, watched directly and through a relay at once."""

import argparse
import contextlib
import pathlib
import time
from typing import Any

from lab.common import isolation, records, rows, tables
from lab.common.members import Member, rate_of
from lab.common.numbers import median, number
from lab.common.processes import shares
from lab.common.trouble import Trouble

# Of each row: size, frames a second, and the most milliseconds that the relay may add.
ROWS = {"720p30": ("1280x720", 30, 2.0), "1080p60": ("1920x1080", 60, 3.0)}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench relay",
        description="A host shares a test pattern that moves all the time. Two viewers without a window watch it at the same"
        " time, one directly, one through a relay, all on one machine. Each viewer's figure is the time from the capture to"
        " the arrival of a frame, by the host's clock, which the relay carries through.")
    rows.add_options(parser, list(ROWS), "a short run, for the tests", history=False)
    parser.add_argument("--seconds", type=int, default=15, help="measured, after 2 s (15)")
    options = parser.parse_args(arguments)
    if not 1 <= options.seconds <= 600:
        parser.error("--seconds is 1 to 600")
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    return inside(options) if options.inside else rows.outside("relay", arguments, options)


def inside(options: argparse.Namespace) -> int:
    isolation.enter()
    found, entry = rows.inside("relay", options, lambda row, *place: measure(row, options, *place))
    print(f"{records.describe(entry['machine'])}; commit {entry['commit']}\n")
    lines = [line for name in found for line in described(name, found[name])]
    print(tables.text(lines, tables.AIM_HEAD))
    print("\nHost, relay and both viewers run on the same processors.")
    rows.keep("relay", options, entry)
    return 0


def measure(name: str, options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    size, rate, aim = ROWS[name]
    seconds = 3 if options.check else options.seconds
    quiet = ["--no-discovery", "--no-bluetooth", "--accept", "all", "--bind", "127.0.0.1"]
    host = Member(stack, directory / "host", [
        "share", "--source", "pattern", "--content", "scroll", "--size", size, "--max-fps", str(rate), "--name", "desk",
        *quiet, "--port", "53000", "--media-port", "53001"])
    host.first("ready", 60)
    relay = Member(stack, directory / "relay", [
        "relay", "127.0.0.1:53000", *quiet, "--port", "53002", "--media-port", "53003"])
    relay.first("ready", 60)
    viewers = [Member(stack, directory / f"viewer{port}", [
        "watch", f"127.0.0.1:{port}", "--no-window", "--no-audio", "--no-bluetooth"]) for port in (53000, 53002)]
    for viewer in viewers:
        viewer.first("first-frame", 60)
    time.sleep(2)
    seen = [len(viewer.lines) for viewer in viewers]
    spent = shares({"relay": [relay.pid]}, seconds)
    ages, shown = [], []
    for viewer, start in zip(viewers, seen, strict=True):
        events = viewer.told("stats", start)[1:]
        known = [event["latencyMs"]["captureToArrival"] for event in events
                 if "captureToArrival" in event.get("latencyMs", {})]
        if not known:
            raise Trouble(f"A viewer has no figures.\n{viewer.last_words()}")
        ages.append((median([age["median"] for age in known]), median([age["p95"] for age in known])))
        shown.append(rate_of(events, "frames"))
    return {"size": size, "rate": rate, "aim": aim, "direct": ages[0], "through": ages[1], "shown": shown,
            "relay": spent["relay"], "added": ages[1][0] - ages[0][0]}


def both(ages: list[float]) -> str:
    return ", ".join(number(age, 1, " ms") for age in ages)


def described(name: str, row: dict[str, Any]) -> list[list[str]]:
    return [
        [f"{name}: the relay adds (median)", f"{row['aim']:g} ms", number(row["added"], 1, " ms"),
         tables.yes(row["added"] <= row["aim"])],
        ["  from capture to arrival, directly (median, p95)", "", both(row["direct"]), ""],
        ["  through the relay", "", both(row["through"]), ""],
        ["  frames a second, directly and through the relay", "", ", ".join(f"{rate:.1f}" for rate in row["shown"]), ""],
        ["  processor time of the relay", "", f"{row['relay']:.0f} %", ""],
    ]
