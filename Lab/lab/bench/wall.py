"""Scripts/bench wall: several hosts in one window of `beamroom watch A B C …`, with real processes."""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import time

from lab.common import rows as benchrows
from lab.common import laboratory
from lab.common import records as results
from lab.common.laboratory import Trouble
from lab.common.members import Member, wait

# Of each row: hosts, size, frames a second, and how many of them are to be shown.
ROWS = {"sixteen": (16, "640x360", 15, 14.5), "eight": (8, "1280x720", 30, 24)}
SCREEN = "1920x1080"
TICKS = os.sysconf("SC_CLK_TCK")


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="Scripts/bench wall",
        description="Hosts share a test pattern that moves all the time; one viewer shows them in a grid on a virtual screen"
        " of " + SCREEN + ". Hosts, viewer and X server run on the same processors, and the processor time of each is counted by"
        " itself (/proc/PID/stat): the viewer's is what a person's machine pays, the hosts' belongs to other machines. If the"
        " hosts can't make their frames beside the viewer, “made” says so, and “shown of made” is the viewer's part.")
    parser.add_argument("--rows", nargs="+", metavar="ROW", choices=ROWS, default=list(ROWS), help="of sixteen, eight (all)")
    parser.add_argument("--seconds", type=int, default=15, help="measured, after 3 s (15)")
    parser.add_argument("--content", choices=("still", "scroll", "video", "chart"), default="video",
                        help="what the hosts show (video)")
    parser.add_argument("--whole", action="store_true",
                        help="on a screen with room for whole pictures, so that the hosts send them whole")
    parser.add_argument("--json", metavar="FILE", help="write all figures there, too")
    parser.add_argument("--check", action="store_true", help="instead: a short run with fewer hosts, for the tests")
    parser.add_argument("--no-setup", action="store_true", help="install nothing")
    options = parser.parse_args(arguments)
    if not 1 <= options.seconds <= 600:
        parser.error("--seconds is 1 to 600")
    return options


def run(arguments):
    if arguments[:1] == ["--inside"]:
        return inside(arguments[1:])
    return benchrows.outside("wall", arguments, parse(arguments))


def inside(arguments):
    options = parse(arguments)
    laboratory.enter()
    found, entry = benchrows.inside("wall", options, lambda row, *place: measure(row, options, *place))
    screens = ", ".join(sorted({row["screen"] for row in found.values()}))
    print(f"{results.describe(entry['machine'])}; screen {screens}, software renderer; commit {entry['commit']}\n")
    lines = [line for name in found for line in described(found[name])]
    print(results.table(lines, ["", "aim", "measured", "reached"]))
    print("\nProcessor time is in percent of one processor, counted for each process by itself (/proc/PID/stat).")
    benchrows.keep("wall", options, entry, None)
    return 0


def measure(name, options, directory, stack):
    count, size, rate, aim = ROWS[name]
    seconds = options.seconds
    if options.check:
        count, seconds = 3, 3
    screen = SCREEN
    if options.whole:
        width, height = (int(side) for side in size.split("x"))
        columns = math.ceil(math.sqrt(count))
        lines = math.ceil(count / columns)
        # GridLayout's gaps and labels, so that each pixel is one of the window.
        screen = f"{columns * (width + 10) + 10}x{lines * (height + 34) + 10}"
    display, server = new_screen(stack, screen)
    hosts, ports = [], range(53000, 53000 + 2 * count, 2)
    for number, port in enumerate(ports, 1):
        hosts.append(Member(stack, directory / f"host{number}", [
            "share", "--source", "pattern", "--content", options.content, "--size", size, "--max-fps", str(rate),
            "--no-discovery", "--no-bluetooth", "--accept", "all", "--name", f"Host {number}", "--bind", "127.0.0.1",
            "--port", str(port), "--media-port", str(port + 1)]))
    for host in hosts:
        host.first("ready", 60)
    viewer = Member(stack, directory / "viewer", [
        "watch", *(f"127.0.0.1:{port}" for port in ports), "--display", display, "--renderer", "software",
        "--no-bluetooth", *(["--fullscreen"] if not options.check else [])])
    wait("all pictures", 60, lambda: viewer.count("first-frame") >= count)
    time.sleep(3)
    people = {"viewer": [viewer.process.pid], "x": [server], "hosts": [host.process.pid for host in hosts]}
    before, begin = {who: used(pids) for who, pids in people.items()}, time.monotonic()
    seen, made = len(viewer.lines), [len(host.lines) for host in hosts]
    time.sleep(seconds)
    taken = time.monotonic() - begin
    spent = {who: (used(pids) - before[who]) / taken * 100 for who, pids in people.items()}
    # A second's figures begin up to a second before.
    tiles = {}
    for event in decoded(viewer.lines[seen:], "stats"):
        tiles.setdefault(event["host"], []).append(event)
    if len(tiles) != count:
        raise Trouble(f"Only {len(tiles)} of {count} hosts have figures.\n{viewer.last_words()}")
    shown = [rate_of(events, "shown") for events in tiles.values()]
    sent = [statistics.mean(event["fps"] for event in decoded(host.lines[start:], "stats")[1:] or [{"fps": 0}])
            for host, start in zip(hosts, made)]
    ages = [event["latencyMs"]["captureToWindow"]["median"] for events in tiles.values() for event in events
            if "captureToWindow" in event.get("latencyMs", {})]
    sizes = sorted({f"{event['width']}x{event['height']}" for events in tiles.values() for event in events[-1:]})
    return {"hosts": count, "size": size, "rate": rate, "aim": aim, "shown_least": min(shown),
            "shown_median": statistics.median(shown), "made_least": min(sent), "made_median": statistics.median(sent),
            "viewer": spent["viewer"], "x": spent["x"], "host": spent["hosts"] / count, "sizes": sizes, "screen": screen,
            "latency": results.median(ages), "dropped": sum(events[-1]["dropped"] for events in tiles.values())}


def described(row):
    what = f"{row['hosts']} hosts of {row['size']} with {row['rate']} frames a second"
    parts = min(1, row["shown_median"] / row["made_median"]) * 100 if row["made_median"] else 0
    return [
        [f"{what}: shown a second in each tile (least, median)", f"{row['aim']:g}",
         f"{row['shown_least']:.1f}, {row['shown_median']:.1f}", "yes" if row["shown_least"] >= row["aim"] else "no"],
        ["  made by the hosts (least, median); shown of made", "",
         f"{row['made_least']:.1f}, {row['made_median']:.1f}; {parts:.0f} %", ""],
        ["  sent and decoded in", "", ", ".join(row["sizes"]), ""],
        ["  processor time of the viewer; of its X server", "", f"{row['viewer']:.0f} %; {row['x']:.0f} %", ""],
        ["  of each host, which is another machine's", "", f"{row['host']:.0f} %", ""],
        ["  from the hosts' screens to the window (median)", "", results.number(row["latency"], 1, " ms"), ""],
    ]


def new_screen(stack, size):
    read, write = os.pipe()
    process = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset", "-ac"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[write],
        start_new_session=True)
    stack.callback(laboratory.end, process)
    os.close(write)
    with os.fdopen(read) as pipe:
        display = pipe.readline().strip()
    if not display:
        raise Trouble("No virtual screen came up.")
    return f":{display}", process.pid


def used(pids):
    """The processor time in seconds that these processes and their threads have used."""
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def decoded(lines, event):
    return [json.loads(line.text) for line in lines if f'"event":"{event}"' in line.text]


def rate_of(events, key):
    first, last = events[0], events[-1]
    return (last[key] - first[key]) / (last["t"] - first["t"]) if last["t"] > first["t"] else 0
