"""Scripts/bench sound: how late, how whole and how far from the picture sound is, between real programs and sound servers."""

import argparse
import contextlib
import importlib
import os
import pathlib
from collections.abc import Callable
from typing import Any

from lab.bench.sound import table
from lab.common import build, isolation, records, rows, tables
from lab.common.trouble import Trouble, say

#: Each row with its module. These are imported late: they need python3-numpy, which may have been installed just now.
ROWS = {"clicks": "clicks", "skew": "skew", "networks": "losses", "cpu": "cost", "music": "music", "film": "film",
        "faults": "breaks"}
NAMES = tuple(ROWS)
NETWORKS = ("loss1", "loss5", "bursts", "jitter", "narrow")
BREAKS = ("host_server", "viewer_server", "default_sink", "two_viewers", "no_server")
SERVERS = {"pulse": ("pulse",), "pipewire": ("pipewire",), "both": ("pulse", "pipewire")}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench sound",
        description="A host and viewers run in network namespaces of their own, with the laboratory's link between them, each"
        " with its own PulseAudio or PipeWire and null sinks. What is played at the host is recorded at the viewer's sink by"
        " the same clock: clicks, a tone, music, and beeps beside flashes on the screen. Needs root. All rows with both"
        " servers take about an hour and a half, most of it the row skew (10 minutes each) and the row networks.")
    rows.add_options(parser, NAMES, "less than a minute, for the tests; exit status 1 if something doesn't work")
    parser.add_argument("--server", choices=SERVERS, help="pulse, pipewire or both (both; with --check pulse)")
    parser.add_argument("--clicks", type=int, default=100, help="of the row clicks (100)")
    parser.add_argument("--skew-seconds", type=float, default=600, help="of the row skew (600)")
    parser.add_argument("--seconds", type=float, default=10, help="of each run of the row networks (10)")
    parser.add_argument("--reps", type=int, default=3, help="pairs of the row networks, without and with sound (3)")
    parser.add_argument("--cpu-seconds", type=float, default=20, help="of each run of the row cpu (20)")
    parser.add_argument("--cpu-reps", type=int, default=3, help="pairs of the row cpu (3)")
    parser.add_argument("--networks", nargs="+", metavar="NETWORK", choices=NETWORKS, default=list(NETWORKS),
                        help="of " + ", ".join(NETWORKS) + " (all)")
    parser.add_argument("--faults", nargs="+", metavar="FAULT", choices=BREAKS, default=list(BREAKS), dest="breaks",
                        help="of " + ", ".join(BREAKS) + " (all)")
    parser.add_argument("--content", choices=("video", "scroll"), default="video", help="what moves beside (video)")
    parser.add_argument("--seed", type=int, default=1, help="of what the relay decides (1); each repetition adds one")
    parser.add_argument("--relay", action="store_true", help="the project's own relay even where there is netem")
    parser.set_defaults(rows=None)
    options = parser.parse_args(arguments)
    if min(options.clicks, options.skew_seconds, options.seconds, options.cpu_seconds) < 2 or min(
            options.reps, options.cpu_reps) < 1:
        parser.error("times and counts are at least 2, --reps and --cpu-reps at least 1")
    options.music_seconds, options.film_seconds, options.films = 30, 15, ("mkv", "mp4")
    if options.check:
        options.clicks, options.skew_seconds, options.seconds, options.music_seconds = 4, 5, 4, 5
        options.film_seconds, options.films, options.cpu_seconds, options.cpu_reps = 4, ("mkv",), 2, 1
        options.breaks = ["host_server"]
    options.rows = options.rows or (["clicks", "skew", "networks", "music", "film"] if options.check else list(NAMES))
    options.server = SERVERS[options.server or ("pulse" if options.check else "both")]
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.inside:
        return inside(options)
    return rows.outside("sound", arguments, options, lambda: {
        "BEAMROOM_RELAY": build.relay(), "BEAMROOM_PROBE": build.screen_probe(), "BEAMROOM_SOUNDPROBE": build.sound_probe()})


def alone(row: str, measure: Callable[..., Any], options: argparse.Namespace, kind: str,
          directory: pathlib.Path) -> dict[str, Any]:
    """The figures of a row with one server. What can't be measured doesn't keep the other rows from it."""
    try:
        with contextlib.ExitStack() as stack:
            return measure(options, kind, directory, stack)
    except Trouble as trouble:
        say(f"{row}, {table.SERVERS[kind]}: {trouble}")
        return {"trouble": str(trouble)}


def inside(options: argparse.Namespace) -> int:
    if os.geteuid() != 0:
        raise Trouble("Scripts/bench sound needs root, for network namespaces and TUN devices.")
    isolation.enter()

    def measure(row: str, directory: pathlib.Path, _: object) -> dict[str, Any]:
        module = importlib.import_module(f"lab.bench.sound.{ROWS[row]}")
        # One network instead of pairs.
        one = module.quick if options.check and row == "networks" else module.measure
        return {kind: alone(row, one, options, kind, directory) for kind in options.server}

    found, entry = rows.inside("sound", options, measure)
    print(f"{records.describe(entry['machine'])}; null sinks, both ends on one machine, each in a network of its own; commit"
          f" {entry['commit']}, load {entry['load']:.1f}\n")
    print(tables.text(table.table(found), table.HEAD))
    print("\nFrom a click until it comes out of the recorder, the player's 10 ms, both sinks and the recorder included: the"
          " aims are about\nthat. Others' buffers are those that they hold back at the viewer alone. 24 h of drift are"
          " simulated by the tests.")
    broken = [words for name in found for words in table.wrong(name, found[name])]
    if options.check and broken:
        print(f"Doesn't work: {'; '.join(broken)}")
    rows.keep("sound", options, entry, NAMES if options.server == SERVERS["both"] else ())
    return 1 if options.check and broken else 0
