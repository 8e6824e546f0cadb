"""Scripts/bench wall: several hosts in one window of `beamroom watch A B C …`, with real processes."""

import argparse
import contextlib
import math
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from lab.common import isolation, records, rows, tables
from lab.common.members import Member, rate_of
from lab.common.numbers import median, number
from lab.common.processes import end, shares, wait
from lab.common.programs import Event
from lab.common.screens import new_screen
from lab.common.trouble import Trouble

# Of each row: hosts, size, frames a second, and how many of them are to be shown.
ROWS = {"sixteen": (16, "640x360", 15, 14.5), "eight": (8, "1280x720", 30, 24)}
SCREEN = (1920, 1080)
# The row of desktops: hosts, their screens' size, and letters that are typed on each in a second.
DESKTOPS = "desktops"
TYPED = (16, (640, 360), 4)
# So many seconds after the last letter every pixel shall be right.
REST = 1
# GridLayout's gaps and labels.
GAP, LABEL = 10, 24


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench wall",
        description="Hosts share a test pattern that moves all the time; one viewer shows them in a grid on a virtual screen"
        " of 1920x1080. Hosts, viewer and X server run on the same processors, and the processor time of each is counted by"
        " itself (/proc/PID/stat): the viewer's is what a person's machine pays, the hosts' belongs to other machines. If the"
        " hosts can't make their frames beside the viewer, “made” says so, and “shown of made” is the viewer's part. In the"
        " row of desktops each host shares an X screen on which letters are typed, and the window has room for whole"
        " pictures; at the end it is compared with the screens.")
    rows.add_options(parser, [*ROWS, DESKTOPS], "a short run with fewer hosts, for the tests", history=False)
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
    found, entry = rows.inside(
        "wall", options,
        lambda row, *place: measure_desktops(options, *place) if row == DESKTOPS else measure(row, options, *place))
    screens = ", ".join(sorted({row["screen"] for row in found.values()}))
    print(f"{records.describe(entry['machine'])}; screen {screens}, software renderer; commit {entry['commit']}\n")
    lines = [line for name in found for line in (typed if name == DESKTOPS else described)(found[name])]
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
        screen, _ = whole_screen(count, (width, height))
    display, server = new_screen(stack, *screen)
    source = ["--source", "pattern", "--content", options.content, "--size", size, "--max-fps", str(rate)]
    hosts, viewer = start(stack, directory, [source] * count, display, ["--fullscreen"] if not options.check else [])
    time.sleep(3)
    seen, made = len(viewer.lines), [len(host.lines) for host in hosts]
    spent = shares({"viewer": [viewer.pid], "x": [server], "hosts": [host.pid for host in hosts]}, seconds)
    tiles = figures(viewer, seen, count)
    shown = [rate_of(events, "shown") for events in tiles.values()]
    sent = [statistics.mean(event["fps"] for event in host.told("stats", start)[1:] or [{"fps": 0}])
            for host, start in zip(hosts, made, strict=True)]
    sizes = sorted({f"{event['width']}x{event['height']}" for events in tiles.values() for event in events[-1:]})
    return {"hosts": count, "size": size, "rate": rate, "aim": aim, "shown_least": min(shown),
            "shown_median": statistics.median(shown), "made_least": min(sent), "made_median": statistics.median(sent),
            "viewer": spent["viewer"], "x": spent["x"], "host": spent["hosts"] / count, "sizes": sizes,
            "screen": "{}x{}".format(*screen),
            "latency": latency(tiles), "dropped": sum(events[-1]["dropped"] for events in tiles.values())}


def whole_screen(count: int, size: tuple[int, int]) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """A screen of which each pixel is one of a tile's picture, and where these pictures are in the window that fills it, if
    the last row is full.
    """
    (width, height), columns = size, math.ceil(math.sqrt(count))
    places = [(GAP + place % columns * (width + GAP), GAP + place // columns * (height + LABEL + GAP))
              for place in range(count)]
    screen = (columns * (width + GAP) + GAP, math.ceil(count / columns) * (height + LABEL + GAP) + GAP)
    return screen, places


def start(stack: contextlib.ExitStack, directory: pathlib.Path, sources: list[list[str]], display: str,
          more: list[str]) -> tuple[list[Member], Member]:
    """A host for each of these sources, and their viewer once it shows them all."""
    hosts, ports = [], range(53000, 53000 + 2 * len(sources), 2)
    for place, (port, source) in enumerate(zip(ports, sources, strict=True), 1):
        hosts.append(Member(stack, directory / f"host{place}", [
            "share", *source, "--no-discovery", "--no-bluetooth", "--accept", "all", "--name", f"Host {place}",
            "--bind", "127.0.0.1", "--port", str(port), "--media-port", str(port + 1)]))
    for host in hosts:
        host.first("ready", 60)
    viewer = Member(stack, directory / "viewer", [
        "watch", *(f"127.0.0.1:{port}" for port in ports), "--display", display, "--renderer", "software",
        "--no-bluetooth", *more])
    wait("all pictures", 60, lambda: viewer.count("first-frame") >= len(sources))
    return hosts, viewer


def figures(viewer: Member, seen: int, count: int) -> dict[str, list[Event]]:
    """Those of each host in the viewer's lines from `seen` on. A second's figures begin up to a second before."""
    tiles = viewer.figures_by_host(seen)
    if len(tiles) != count:
        raise Trouble(f"Only {len(tiles)} of {count} hosts have figures.\n{viewer.last_words()}")
    return tiles


def latency(tiles: dict[str, list[Event]]) -> float | None:
    return median([event["latencyMs"]["captureToWindow"]["median"] for events in tiles.values() for event in events
                   if "captureToWindow" in event.get("latencyMs", {})])


def measure_desktops(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    count, size, rate = TYPED
    seconds = options.seconds
    if options.check:
        count, seconds = 4, 3
    screen, places = whole_screen(count, size)
    display, server = new_screen(stack, *screen)
    screens = [new_screen(stack, *size)[0] for _ in range(count)]
    typists = [typist(stack, shared, size, rate) for shared in screens]
    sources = [["--display", shared, "--no-cursor", "--no-frame"] for shared in screens]
    hosts, viewer = start(stack, directory, sources, display, ["--fullscreen"])
    time.sleep(3)
    seen, made = len(viewer.lines), [len(host.lines) for host in hosts]
    spent = shares({"viewer": [viewer.pid], "x": [server], "hosts": [host.pid for host in hosts]}, seconds)
    tiles = figures(viewer, seen, count)
    sent = [statistics.mean(event["kbps"] for event in host.told("stats", begin)[1:] or [{"kbps": 0}])
            for host, begin in zip(hosts, made, strict=True)]
    for stop in typists:
        stop()
    time.sleep(REST)
    window, equal = picture(display, *screen), 0
    for shared, place in zip(screens, places, strict=True):
        equal += picture(shared, *size) == part(window, screen[0], place, size)
    # In the meantime these have been said, too.
    time.sleep(2)
    last = [events[-1] for events in figures(viewer, seen, count).values()]
    return {"hosts": count, "size": "{}x{}".format(*size), "rate": rate, "screen": "{}x{}".format(*screen),
            "equal": equal, "verified": sum(event.get("exactVerified", False) for event in last),
            "wrong": sum(event.get("exactWrongRows", 0) for event in last),
            "patches": sum(rate_of(events, "patches") for events in tiles.values()) / count,
            "kbps": statistics.mean(sent), "latency": latency(tiles),
            "viewer": spent["viewer"], "x": spent["x"], "host": spent["hosts"] / count}


def typist(stack: contextlib.ExitStack, display: str, size: tuple[int, int], rate: float) -> Callable[[], None]:
    """Types on an X screen until what is returned is called, and leaves its page there."""
    command = [sys.executable, "-B", "-m", "lab.bench.typist", display, "{}x{}".format(*size), str(rate)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    stack.callback(end, process)

    def stop() -> None:
        if process.poll() is not None or not process.stdin:
            raise Trouble(f"Nothing is typed on {display} any more.")
        process.stdin.close()

    return stop


def picture(display: str, width: int, height: int) -> bytes:
    """What an X screen shows, row by row: red, green and blue of each pixel."""
    command = ["ffmpeg", "-nostdin", "-loglevel", "error", "-f", "x11grab", "-draw_mouse", "0",
               "-video_size", f"{width}x{height}", "-i", display, "-frames:v", "1", "-pix_fmt", "rgb24", "-f", "rawvideo", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def part(pixels: bytes, width: int, place: tuple[int, int], size: tuple[int, int]) -> bytes:
    """A rectangle of a picture that is `width` pixels wide."""
    x, y = place
    return b"".join(pixels[3 * (row * width + x):3 * (row * width + x + size[0])] for row in range(y, y + size[1]))


def typed(row: dict[str, Any]) -> list[list[str]]:
    count = row["hosts"]
    return [
        [f"{count} desktops of {row['size']}, {row['rate']:g} letters a second on each: equal in every pixel"
         f" {REST} s after the last", f"{count}", f"{row['equal']}", tables.yes(row["equal"] == count)],
        ["  verified by hashes; rows of tiles that were wrong", f"{count}; 0", f"{row['verified']}; {row['wrong']}",
         tables.yes(row["verified"] == count and row["wrong"] == 0)],
        ["  patches a second for each; sent by each", "", f"{row['patches']:.1f}; {row['kbps']:.0f} kbit/s", ""],
        ["  processor time of the viewer; of its X server", "", f"{row['viewer']:.0f} %; {row['x']:.0f} %", ""],
        ["  of each host, which is another machine's", "", f"{row['host']:.1f} %", ""],
        ["  from the hosts' screens to the window (median)", "", number(row["latency"], 1, " ms"), ""],
    ]


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
