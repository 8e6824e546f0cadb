"""Scripts/bench quality: two viewers of one host, one of which wishes to be sent less, with real processes."""

import argparse
import contextlib
import pathlib
import statistics
import time
from typing import Any

from lab.common import isolation, records, rows, tables
from lab.common.members import Member
from lab.common.processes import shares

# Of each row: what the second viewer wishes.
ROWS: dict[str, list[str]] = {
    "none": [],
    "rate": ["-b", "1M"],
    "size": ["-m", "640"],
    "frames": ["--max-fps", "10"],
    "all": ["-b", "1M", "-m", "640", "--max-fps", "10"],
}
# What they allow: kbit/s, the longer side in pixels, frames a second. The wishes are whole seconds' means; a program's
# second is as long as the machine lets it be.
MOST = {"-b": 1000 * 1.02, "-m": 640, "--max-fps": 10 * 1.05}
PORT = 53200


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench quality",
        description="A host shares a test pattern that moves all the time, at 1280x720 and 30 frames a second. Two viewers"
        " without windows decode it, on the same processors. What each gets is in their own statistics, and the processor"
        " time of the host is counted by itself (/proc/PID/stat).")
    rows.add_options(parser, list(ROWS), "a short run, for the tests", history=False)
    parser.add_argument("--seconds", type=int, default=10, help="measured, after 3 s (10)")
    parser.add_argument("--content", choices=("still", "scroll", "video", "chart"), default="video",
                        help="what the host shows (video)")
    options = parser.parse_args(arguments)
    if not 1 <= options.seconds <= 600:
        parser.error("--seconds is 1 to 600")
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    return inside(options) if options.inside else rows.outside("quality", arguments, options)


def inside(options: argparse.Namespace) -> int:
    isolation.enter()
    found, entry = rows.inside("quality", options, lambda row, *place: measure(row, options, *place))
    print(f"{records.describe(entry['machine'])}; 1280x720 with 30 frames a second; commit {entry['commit']}\n")
    lines = [line for name in found for line in described(name, found[name])]
    print(tables.text(lines, tables.AIM_HEAD))
    print("\nProcessor time is in percent of one processor.")
    rows.keep("quality", options, entry)
    return 0


def measure(name: str, options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    seconds = 3 if options.check else options.seconds
    host = Member(stack, directory / "host", [
        "share", "--source", "pattern", "--content", options.content, "--size", "1280x720", "--max-fps", "30",
        "--no-discovery", "--no-bluetooth", "--accept", "all", "--audio", "off", "--bind", "127.0.0.1",
        "--port", str(PORT), "--media-port", str(PORT + 1)])
    host.first("ready", 60)
    viewers = []
    for place, wish in enumerate(([], ROWS[name])):
        viewers.append(Member(stack, directory / f"viewer{place}", [
            "watch", f"127.0.0.1:{PORT}", "--no-window", "--no-bluetooth", *wish]))
        viewers[-1].first("first-frame", 60)
    time.sleep(3)
    seen = [len(viewer.lines) for viewer in viewers]
    spent = shares({"host": [host.pid]}, seconds + 1)
    result: dict[str, Any] = {"content": options.content, "host": spent["host"]}
    for which, viewer, start in zip(("free", "bound"), viewers, seen, strict=True):
        # The first second's figures begin before.
        events = viewer.told("stats", start)[1:]
        result[which] = {
            "kbps": statistics.mean(event["kbps"] for event in events),
            "fps": statistics.mean(event["fps"] for event in events),
            "size": [max(event[side] for event in events) for side in ("width", "height")],
        }
    return result


def described(name: str, row: dict[str, Any]) -> list[list[str]]:
    wish = dict(zip(ROWS[name][::2], ROWS[name][1::2], strict=True))
    bound = row["bound"]
    got = {"-b": bound["kbps"], "-m": max(bound["size"]), "--max-fps": bound["fps"]}
    kept = all(got[option] <= MOST[option] for option in wish)
    words = " ".join(ROWS[name])
    return [
        [f"{row['content']}, one viewer with {words}" if words else f"{row['content']}, no wish", words, sent(bound),
         tables.yes(kept) if words else ""],
        ["  the other viewer", "", sent(row["free"]), ""],
        ["  the host's processor time", "", f"{row['host']:.0f} %", ""],
    ]


def sent(figures: dict[str, Any]) -> str:
    return "{:.0f} kbit/s, {:.1f} frames a second of {}x{}".format(figures["kbps"], figures["fps"], *figures["size"])
