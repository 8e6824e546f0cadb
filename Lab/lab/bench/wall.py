"""Scripts/bench wall: several hosts in one window of `beamroom watch A B C …`, with real processes."""

import argparse
import contextlib
import math
import pathlib
import statistics
import time
from typing import Any

from lab.common import isolation, records, rows, tables
from lab.common.members import Member, rate_of
from lab.common.numbers import median, number
from lab.common.processes import shares, wait
from lab.common.screens import new_screen
from lab.common.trouble import Trouble

# Of each row: hosts, size, frames a second, and how many of them are to be shown.
ROWS = {"sixteen": (16, "640x360", 15, 14.5), "eight": (8, "1280x720", 30, 24)}
SCREEN = (1920, 1080)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench wall",
        description="Hosts share a test pattern that moves all the time; one viewer shows them in a grid on a virtual screen"
        " of 1920x1080. Hosts, viewer and X server run on the same processors, and the processor time of each is counted by"
        " itself (/proc/PID/stat): the viewer's is what a person's machine pays, the hosts' belongs to other machines. If the"
        " hosts can't make their frames beside the viewer, “made” says so, and “shown of made” is the viewer's part.")
    rows.add_options(parser, list(ROWS), "a short run with fewer hosts, for the tests", history=False)
    parser.add_argument("--seconds", type=int, default=15, help="measured, after 3 s (15)")
    parser.add_argument("--content", choices=("still", "scroll", "video", "chart"), default="video",
                        help="what the hosts show (video)")
    parser.add_argument("--whole", action="store_true",
                        help="on a screen with room for whole pictures, so that the hosts send them whole")
    options = parser.parse_args(arguments)
    if not 1 <= options.seconds <= 600:
        parser.error("--seconds is 1 to 600")
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    return inside(options) if options.inside else rows.outside("wall", arguments, options)


def inside(options: argparse.Namespace) -> int:
    isolation.enter()
    found, entry = rows.inside("wall", options, lambda row, *place: measure(row, options, *place))
    screens = ", ".join(sorted({row["screen"] for row in found.values()}))
    print(f"{records.describe(entry['machine'])}; screen {screens}, software renderer; commit {entry['commit']}\n")
    lines = [line for name in found for line in described(found[name])]
    print(tables.text(lines, tables.AIM_HEAD))
    print("\nProcessor time is in percent of one processor, counted for each process by itself (/proc/PID/stat).")
    rows.keep("wall", options, entry)
    return 0


def measure(name: str, options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    count, size, rate, aim = ROWS[name]
    seconds = options.seconds
    if options.check:
        count, seconds = 3, 3
    screen = SCREEN
    if options.whole:
        width, height = (int(side) for side in size.split("x"))
        columns = math.ceil(math.sqrt(count))
        # GridLayout's gaps and labels, so that each pixel is one of the window.
        screen = (columns * (width + 10) + 10, math.ceil(count / columns) * (height + 34) + 10)
    display, server = new_screen(stack, *screen)
    hosts, ports = [], range(53000, 53000 + 2 * count, 2)
    for place, port in enumerate(ports, 1):
        hosts.append(Member(stack, directory / f"host{place}", [
            "share", "--source", "pattern", "--content", options.content, "--size", size, "--max-fps", str(rate),
            "--no-discovery", "--no-bluetooth", "--accept", "all", "--name", f"Host {place}", "--bind", "127.0.0.1",
            "--port", str(port), "--media-port", str(port + 1)]))
    for host in hosts:
        host.first("ready", 60)
    viewer = Member(stack, directory / "viewer", [
        "watch", *(f"127.0.0.1:{port}" for port in ports), "--display", display, "--renderer", "software",
        "--no-bluetooth", *(["--fullscreen"] if not options.check else [])])
    wait("all pictures", 60, lambda: viewer.count("first-frame") >= count)
    time.sleep(3)
    seen, made = len(viewer.lines), [len(host.lines) for host in hosts]
    spent = shares({"viewer": [viewer.pid], "x": [server], "hosts": [host.pid for host in hosts]}, seconds)
    # A second's figures begin up to a second before.
    tiles = viewer.figures_by_host(seen)
    if len(tiles) != count:
        raise Trouble(f"Only {len(tiles)} of {count} hosts have figures.\n{viewer.last_words()}")
    shown = [rate_of(events, "shown") for events in tiles.values()]
    sent = [statistics.mean(event["fps"] for event in host.told("stats", start)[1:] or [{"fps": 0}])
            for host, start in zip(hosts, made, strict=True)]
    ages = [event["latencyMs"]["captureToWindow"]["median"] for events in tiles.values() for event in events
            if "captureToWindow" in event.get("latencyMs", {})]
    sizes = sorted({f"{event['width']}x{event['height']}" for events in tiles.values() for event in events[-1:]})
    return {"hosts": count, "size": size, "rate": rate, "aim": aim, "shown_least": min(shown),
            "shown_median": statistics.median(shown), "made_least": min(sent), "made_median": statistics.median(sent),
            "viewer": spent["viewer"], "x": spent["x"], "host": spent["hosts"] / count, "sizes": sizes,
            "screen": "{}x{}".format(*screen),
            "latency": median(ages), "dropped": sum(events[-1]["dropped"] for events in tiles.values())}


def described(row: dict[str, Any]) -> list[list[str]]:
    what = f"{row['hosts']} hosts of {row['size']} with {row['rate']} frames a second"
    parts = min(1, row["shown_median"] / row["made_median"]) * 100 if row["made_median"] else 0
    return [
        [f"{what}: shown a second in each tile (least, median)", f"{row['aim']:g}",
         f"{row['shown_least']:.1f}, {row['shown_median']:.1f}", tables.yes(row["shown_least"] >= row["aim"])],
        ["  made by the hosts (least, median); shown of made", "",
         f"{row['made_least']:.1f}, {row['made_median']:.1f}; {parts:.0f} %", ""],
        ["  sent and decoded in", "", ", ".join(row["sizes"]), ""],
        ["  processor time of the viewer; of its X server", "", f"{row['viewer']:.0f} %; {row['x']:.0f} %", ""],
        ["  of each host, which is another machine's", "", f"{row['host']:.0f} %", ""],
        ["  from the hosts' screens to the window (median)", "", number(row["latency"], 1, " ms"), ""],
    ]
