"""Scripts/bench crowd: one host and many viewers, honest ones and others."""

import argparse
import json
import os
import pathlib
import shutil
import tempfile

from lab.bench.crowd import rows, verdicts
from lab.bench.crowd.kinds import KINDS, turns_of
from lab.bench.crowd.scene import Place
from lab.common import build, isolation, namespaces, records
from lab.common.numbers import rounded
from lab.common.rows import add_options
from lab.common.trouble import Trouble, say

NAMES = ("viewers", "memory", "joins", "misbehaving", "networks", "class", "overload")
FUNCTIONS = {name: getattr(rows, "classroom" if name == "class" else name) for name in NAMES}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench crowd", formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="kinds of misbehaviour (several of one peer's joined by +, or by / if it takes turns):\n"
        + "\n".join(f"  {name:<20}{kind.__doc__}" for name, kind in KINDS.items()))
    add_options(parser, NAMES, "a short run with few viewers and most kinds of misbehaviour, for the tests")
    parser.add_argument("--counts", nargs="+", type=int, metavar="N", default=[1, 50, 200],
                        help="viewers in the row viewers, the most in the row memory (1 50 200); a program without "
                        "--max-viewers has 60 at the most")
    parser.add_argument("--reps", type=int, default=2, help="runs of each (2); pairs where two are compared")
    parser.add_argument("--seconds", type=float, default=10, help="measured in each run (10)")
    parser.add_argument("--real", type=int, default=1, help="viewers in the row viewers that decode (1)")
    parser.add_argument("--misbehave", type=peers_of, metavar="KIND:COUNT,…",
                        help="who misbehaves, instead of 10 with all kinds")
    parser.add_argument("-b", "--bit-rate", default="8M", help="of the stream (8M)")
    parser.add_argument("--few-bits", default="3M", help="of the stream to more than 100 viewers, if the machine can't "
                        "carry the other (3M)")
    parser.add_argument("--content", choices=("noise", "video", "scroll", "chart"), default="noise",
                        help="what is shared: the test pattern, or noise on a desktop, which takes all bits (noise)")
    parser.add_argument("--host-options", default="", metavar="WORDS", help="more options for beamroom share")
    options = parser.parse_args(arguments)
    if options.reps < 1 or not 2 <= options.seconds <= 120 or not 0 <= options.real <= 4 \
            or any(not 1 <= count <= 800 for count in options.counts):
        parser.error("--reps is at least 1, --seconds 2 to 120, --real 0 to 4, --counts 1 to 800")
    if options.misbehave and len(options.misbehave) > 20:
        parser.error("20 misbehave at the most")
    return options


def peers_of(text: str) -> list[str]:
    found = []
    for word in text.split(","):
        kinds, _, count = word.partition(":")
        try:
            turns_of(kinds)
            int(count or "1")
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"“{word}” should be KIND:COUNT: {error}; see --help") from error
        found += [kinds] * int(count or "1")
    return found


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.inside:
        return inside(options)
    if not options.no_setup:
        build.setup("--bench", "--attack")
    environment = {"BEAMROOM": build.beamroom(), "BEAMROOM_CROWD": build.crowd()}
    if "networks" in options.rows and not options.check:
        environment["BEAMROOM_RELAY"] = build.relay()
    return isolation.run_inside("lab.bench", ["crowd", "--inside", *arguments], environment)


# --- Inside the namespaces: the measurement --------------------------------------------------------------------------


def inside(options: argparse.Namespace) -> int:
    isolation.start_loopback()
    directory = tempfile.mkdtemp(prefix="beamroom-crowd-")
    try:
        place = Place(os.environ["BEAMROOM"], os.environ["BEAMROOM_CROWD"], directory, options)
        return check(place) if options.check else measure(place)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def measure(place: Place) -> int:
    options = place.options
    load, found, failed = os.getloadavg()[0], {}, 0
    if load > 1:
        say(f"This machine is busy (load {load:.1f}): what is measured now is too slow.")
    if not place.has_limit_option and max(options.counts) > place.most_viewers \
            and {"viewers", "memory"} & set(options.rows):
        say(f"This program has no --max-viewers: {place.most_viewers} viewers are the most.")
    for name in options.rows:
        obstacle = namespaces.obstacle() if name == "networks" else None
        if obstacle:
            say(f"The row networks is left out. {obstacle}")
            continue
        try:
            found[name] = FUNCTIONS[name](place, say)
        except Trouble as trouble:
            # The other rows are still valid.
            say(f"The row {name} could not be measured: {trouble}")
            failed = 1
    entry = records.entry(reps=options.reps, seconds=options.seconds, bit_rate=options.bit_rate,
                          content=options.content, load=load, rows=rounded(found))
    print(f"{records.describe(entry['machine'])}; 1920x1080 at 30, {options.content}, {options.bit_rate}bit/s; medians "
          f"of {options.reps}, {options.seconds:g} s each; commit {entry['commit']}\n")
    verdicts.show(found)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(entry, indent=1) + "\n")
    if not options.no_history:
        records.append("crowd", entry)
    return failed


# --- For the tests: nothing is judged by time ------------------------------------------------------------------------


def check(place: Place) -> int:
    """8 honest viewers beside misbehaving ones; exit status 1 if an honest one got no picture or was disconnected."""
    place.prepare(8 + len(rows.MISBEHAVING))
    run, seen = rows.beside(place, rows.MISBEHAVING, len(rows.MISBEHAVING), honest=8, size="640x360", bit_rate="1M",
                            seconds=4, settle=1)
    entry = {"honest": run, "peers": seen}
    print(json.dumps(entry))
    if place.options.json:
        pathlib.Path(place.options.json).write_text(json.dumps(entry) + "\n")
    return 1 if run["without_picture"] or run["ended"] else 0
