"""Scripts/bench glass: glass-to-glass latency of BeamRoom and other systems, on virtual screens."""

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from typing import Any

from lab.bench import exactness, glasstable, systems
from lab.common import build, isolation, pairs, records
from lab.common.numbers import median, number
from lab.common.screens import SIZES, TwoScreens
from lab.common.trouble import say

CONTENTS = ("still", "scroll", "video")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Scripts/bench glass")
    parser.add_argument("--only", default="beamroom,gst,x0vnc,mpv", metavar="NAMES",
                        help="which of " + ", ".join(systems.NAMES) + " (beamroom,gst,x0vnc,mpv)")
    parser.add_argument("--content", default=",".join(CONTENTS), metavar="NAMES",
                        help="which of " + ", ".join((*CONTENTS, *exactness.CONTENTS)) + " (" + ",".join(CONTENTS) + "). "
                             "Changes of " + ", ".join(exactness.CONTENTS) + " are looked for in every pixel: typed letters, "
                             "lines that scroll, a dragged window, the pointer, and a screen that rests")
    parser.add_argument("--reps", type=int, default=3, help="runs of each (3); the table shows their medians")
    parser.add_argument("--seconds", type=float, default=8, help="of each run (8)")
    parser.add_argument("--size", type=int, default=1080, choices=sorted(SIZES), help="rows of the screen (1080)")
    parser.add_argument("--rate", type=int, default=60, help="frames a second (60)")
    parser.add_argument("--no-4k", action="store_true", help="leave out 3840x2160 at 30, which takes BeamRoom only")
    parser.add_argument("--no-start", action="store_true", help="don't time the viewers' start")
    parser.add_argument("--captions", action="store_true",
                        help="BeamRoom alone, in pairs: without and with captions, and whether they differ beyond the "
                             "noise, which takes at least 6 pairs (--reps 6). Adds no history")
    parser.add_argument("--no-history", action="store_true", help="print only")
    parser.add_argument("--no-setup", action="store_true", help="install nothing")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.only = options.only.split(",")
    options.content = options.content.split(",")
    if options.captions:
        options.only, options.no_4k, options.no_start, options.no_history = ["beamroom"], True, True, True
    unknown = [name for name in options.only if name not in systems.NAMES]
    known = {*CONTENTS, *({} if options.captions else exactness.CONTENTS)}
    if unknown or not set(options.content) <= known or options.reps < 1 or options.seconds <= 0:
        parser.error(f"there is no system {', '.join(unknown)}" if unknown else "see --help")
    return options


def run(arguments: list[str]) -> int | None:
    options = parse(arguments)
    if options.inside:
        return inside(options)
    if not options.no_setup:
        build.setup("--bench", *(word for name in options.only if name in systems.PEERS
                                for word in ("--peer", name.removesuffix("-lossless"))))
    environment = {"BEAMROOM_PROBE": build.screen_probe()}
    if set(options.only) & systems.OWN.keys():
        environment["BEAMROOM"] = build.beamroom()
    return isolation.run_inside("lab.bench", ["glass", "--inside", *arguments], environment)


# --- Inside the namespaces: the measurement --------------------------------------------------------------------------


def measure(options: argparse.Namespace, size: int, rate: int, names: Sequence[str],
            contents: Sequence[str]) -> dict[str, Any]:
    """Measures all systems at one size and rate; the figures of each are a list with one value for each repetition."""
    # Imported late: it needs python3-pil, which may have been installed just now.
    from lab.common import content

    found = {name: {} for name in names}
    with TwoScreens(size, rate) as place:
        screens = place.screens
        content.write(place.directory, screens.width, screens.height)
        content.write_exact(place.directory)
        made = {name: systems.make(name, os.environ.get("BEAMROOM", ""), place.directory) for name in names}
        for name, system in made.items():
            system.prepare(place)
            found[name]["version"] = system.version()
        for repetition in range(options.reps):
            # The systems alternate, so that a slow period of the machine affects all of them.
            for shown in contents:
                # Of a pair, each is the first in turn.
                order = reversed(made) if options.captions and repetition % 2 else made
                for name in order:
                    system = made[name]
                    rest = 4 if shown == "still" else exactness.rest(shown, options.seconds)
                    figures = measured(place, system, shown, options.seconds, rest)
                    report(place, name, shown, repetition, figures)
                    add(found[name].setdefault(shown, {}), figures)
            if not options.no_start and set(contents) & set(CONTENTS):
                for name, system in made.items():
                    found[name].setdefault("start", []).append(time_start(place, system))
    return {"width": screens.width, "height": screens.height, "rate": rate, "bit_rate": screens.bit_rate,
            "systems": found}


def measured(place: TwoScreens, system: systems.System, content: str, seconds: float, rest: float) -> dict[str, Any] | None:
    """One run of a system: latency, frames, quality and resources. None if it ended by itself."""
    place.screens.has_pointer = content == "pointer"
    with place.sharing(system, 1, system.settling) as (share, watch):
        screens = place.screens.pids
        figures = place.probed(
            content, "--rest", rest, "--process", f"host:{share.pid}", "--process", f"viewer:{watch.pid}", "--process",
            f"host-screen:{screens[0]}", "--process", f"viewer-screen:{screens[1]}", seconds=seconds)
        if share.poll() is not None or watch.poll() is not None:
            return None
    figures["stages"] = system.stages()
    return figures


def time_start(place: TwoScreens, system: systems.System) -> Any:
    """Milliseconds from the viewer's start until its picture is right; None if it never was."""
    port = place.next_port()
    with place.running(system.share(place.screens, port), "share"):
        time.sleep(1.5)
        return place.probed("still", "--spawn", system.watch(place.screens, port), seconds=15)["start"]


def report(place: TwoScreens, name: str, shown: str, repetition: int, figures: dict[str, Any] | None) -> None:
    if figures is None:
        say(f"{name}, {shown}, {repetition + 1}: ended by itself. Last words:\n{place.last_words()}")
        return
    change = figures.get("change") or figures["exact"]
    words = f", {number(exactness.share(change), 0)} % exactly" if shown in exactness.CONTENTS else ""
    say(f"{name}, {shown}, {repetition + 1}: " + (
        f"{change['median']:.1f} ms, p95 {change['p95']:.1f} ms{words}" if change["median"] is not None
        else "no change was seen" + words))


def add(kept: dict[str, list], figures: dict[str, Any] | None) -> None:
    """Appends one run's figures to the lists of earlier runs; missing figures are None."""
    figures = figures or {}
    cpu, memory, rest = figures.get("cpu"), figures.get("memory"), figures.get("rest")
    change, frame = figures.get("change", {}), figures.get("frame", {})
    flat = {
        "median": change.get("median"), "p95": change.get("p95"), "missed": change.get("missed"),
        "frame_median": frame.get("median"), "frame_p95": frame.get("p95"),
        "cpu": cpu and cpu["host"] + cpu["viewer"],
        "cpu_host": cpu and cpu["host"], "cpu_viewer": cpu and cpu["viewer"],
        "memory_host": memory and memory["host"], "memory_viewer": memory and memory["viewer"],
        "rest_cpu": rest and rest["cpu"]["host"] + rest["cpu"]["viewer"],
        "rest_datagrams": rest and rest["datagrams"],
    }
    if "exact" in figures:
        flat |= exactness.figures(figures)
    for key in ("fps", "painted_fps", "longest_gap", "frozen", "psnr", "psnr_p5", "psnr_rested", "luma_rested", "mbit",
                "equal_samples"):
        flat[key] = figures.get(key)
    for key, value in flat.items():
        if value is not None or key in kept or key in ("median", "p95"):
            kept.setdefault(key, []).append(None if value is None else round(value, digits_of(key)))
    if figures.get("stages"):
        kept.setdefault("stages", []).append(figures["stages"])


def digits_of(figure: str) -> int:
    """To how many digits a figure is rounded. While somebody types or nothing moves, Mbit/s are small."""
    return 4 if figure.endswith("mbit") else 2


def compare_captions(options: argparse.Namespace) -> None:
    """Prints the latency without and with captions, the ratio of each pair, and whether the difference is noise."""
    found = measure(options, options.size, options.rate, ["beamroom", "captions"], options.content)["systems"]
    print(f"{records.describe(records.machine())}, load {os.getloadavg()[0]:.1f}; commit {records.commit()}")
    for shown in options.content:
        for key in ("median", "p95"):
            measured = [(without, captioned) for without, captioned
                        in zip(found["beamroom"][shown][key], found["captions"][shown][key])
                        if without is not None and captioned is not None]
            if not measured:
                print(f"{shown}, {key}: no pair was measured")
                continue
            without, captioned = (statistics.median(side) for side in zip(*measured, strict=True))
            ratios = sorted(second / first for first, second in measured)
            print(f"{shown}, {key} latency: {without:.1f} ms without captions, {captioned:.1f} ms with (medians of "
                  f"{len(measured)}); ratio of pairs {statistics.median(ratios):.3f} ({ratios[0]:.3f} to "
                  f"{ratios[-1]:.3f}); {pairs.verdict(measured)}.")
        # Where a difference comes from.
        sides = [found[name][shown].get("stages", []) for name in ("beamroom", "captions")]
        for stage in sorted({stage for side in sides for run in side for stage in run}):
            without, captioned = (median([run[stage]["median"] for run in side if stage in run])
                                  for side in sides)
            print(f"  {stage}: {number(without, 2)} ms without, {number(captioned, 2)} ms with")


def inside(options: argparse.Namespace) -> None:
    isolation.enter()
    if options.captions:
        compare_captions(options)
        return
    measured = measure(options, options.size, options.rate, options.only, options.content)
    tables = {f"{options.size}p{options.rate}": measured}
    contents = [name for name in options.content if name in CONTENTS]
    if "beamroom" in options.only and not options.no_4k and options.size != 2160 and contents:
        tables["2160p30"] = measure(options, 2160, 30, ["beamroom"], contents)
    entry = records.entry(reps=options.reps, seconds=options.seconds, tables=tables)
    glasstable.show(entry)
    if not options.no_history:
        records.append("glass", entry)
