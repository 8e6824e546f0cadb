"""Scripts/bench wayland: a Wayland desktop shared by its portal and by wlr-screencopy, beside X11, with real programs."""

import argparse
import statistics
from typing import Any

from lab.bench import micro
from lab.bench.wayland import resizing
from lab.bench.wayland.place import Place
from lab.common import build, isolation, pairs, records, rows, tables
from lab.common.numbers import median, number

DESKTOP_SOURCES = ("wlr", "portal")
SOURCES = ("x11", *DESKTOP_SOURCES)
TITLES = {"x11": "X11", "wlr": "sway by wlr-screencopy", "portal": "sway by its portal", "gnome": "GNOME by its portal"}
# Each with the desktop, its source and the rows of its screen.
STILL = {"wlr": ("sway", "wlr", 1080), "portal": ("sway", "portal", 1080), "gnome": ("gnome", "portal", 720)}

Figures = dict[str, Any]
Line = list[str]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench wayland",
        description="sway and GNOME run without a GPU or a visible screen. What is painted in a window that fills sway's"
        " output of 1920x1080 is shared by wlr-screencopy and by the portal, and in turns an X screen by X11. The viewer is"
        " in a window on another X screen, where the probe sees what is shown. Latency is counted from when the window's"
        " picture is handed to the compositor, with X11 from when the X server has drawn it.")
    rows.add_options(parser, NAMES)
    parser.add_argument("--reps", type=int, default=3, help="runs of each source in the rows change and scroll (3)")
    parser.add_argument("--seconds", type=float, default=6, help="of each of these runs (6)")
    parser.add_argument("--still-seconds", type=float, default=20, help="of the row still (20)")
    parser.add_argument("--changes", type=int, default=20, help="of size, in the row resize (20)")
    parser.add_argument("--refresh", type=int, metavar="HZ",
                        help="of sway's output in the rows change and scroll. Without a screen sway counts a period from the"
                        " end of its last drawing, so that it draws fewer than the usual 60. Adds no history")
    options = parser.parse_args(arguments)
    options.no_history = options.no_history or options.refresh is not None
    if not (1 <= options.reps <= 100 and 2 <= options.seconds <= 600 and 3 <= options.still_seconds <= 600
            and 1 <= options.changes <= 1000 and 1 <= (options.refresh or 60) <= 1000):
        parser.error("see --help: times are 2 to 600 s, of the row still 3 at least; counts and rates are 1 at least")
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    return inside(options) if options.inside else rows.outside(
        "wayland", arguments, options, lambda: prepare(options), ("--wayland", "--gnome"))


def prepare(options: argparse.Namespace) -> dict[str, str]:
    more = {"BEAMROOM_BENCHMARKS": build.micro()} if "compare" in options.rows else {}
    return {"BEAMROOM_PROBE": build.screen_probe(), **more}


def inside(options: argparse.Namespace) -> int:
    isolation.enter()
    found, entry = rows.inside("wayland", options, lambda row, *_: ROWS[row][0](options))
    print(f"{records.describe(entry['machine'])}, load {entry['load']:.1f}; sway 1920x1080 at 60, GNOME 1280x720; commit"
          f" {entry['commit']}\n")
    print(tables.text(lines(found), tables.AIM_HEAD))
    rows.keep("wayland", options, entry, NAMES)
    return 1 if any(row.get("wrong") for row in found.values()) else 0


def lines(found: Figures) -> list[Line]:
    """The rows for people: what, its aim, what was measured, and whether that reaches the aim."""
    return [line for name in found for line in ROWS[name][1](found[name])]


# --- What moves, in turns with X11 -----------------------------------------------------------------------------------


def compared(options: argparse.Namespace, content: str) -> Figures:
    """The figures of each source, a list with a value for each repetition."""
    # Imported late: it needs python3-pil, which may have been installed just now.
    from lab.common import content as pictures

    found: Figures = {name: {} for name in SOURCES}
    with Place(refresh=options.refresh) as place:
        pictures.write(place.directory, place.screens.width, place.screens.height)
        sources = place.sources(*SOURCES)
        for repetition in range(options.reps):
            # The first in turn is another one each time.
            turn = repetition % len(SOURCES)
            for name in (*SOURCES[turn:], *SOURCES[:turn]):
                for key, value in flat(place.measured(sources[name], content, options.seconds)).items():
                    found[name].setdefault(key, []).append(value)
    return found


def flat(figures: Figures) -> Figures:
    change = figures["change"]
    processor = {f"cpu_{name}": value for name, value in figures["cpu"].items()}
    return {"median": change["median"], "p95": change["p95"], "missed": change["missed"], "psnr": figures["psnr"],
            "drawn": figures.get("drawn", {}).get("median"),
            **{name: figures.get(name) for name in ("fps", "painted_fps", "compositor_fps", "longest_gap")}, **processor,
            "stages": {name: one["median"] for name, one in figures["stages"].items()}}


def in_pairs(row: Figures, name: str, key: str = "median") -> list[tuple[float, float]]:
    """This source's figures with those of X11."""
    return [(one, other) for one, other in zip(row["x11"][key], row[name][key]) if one is not None and other is not None]


def more_line(row: Figures, name: str, limit: float) -> Line:
    found = in_pairs(row, name)
    if not found:
        return [f"  {TITLES[name]}: nothing was seen", f"{limit:g} ms", "–", tables.yes(False)]
    more = statistics.median(second - first for first, second in found)
    return [f"  {TITLES[name]}: median (p95); more than X11, in pairs", f"{limit:g} ms",
            f"{latency(row[name])}; {pairs.difference(found, 'ms')}", tables.yes(more <= limit)]


def drawn_line(row: Figures, name: str) -> Line:
    drawn = [value or 0 for value in row[name]["drawn"]]
    rest = [second - waited - first for (first, second), waited in zip(in_pairs(row, name), drawn)]
    return ["    of it until the compositor has drawn it, median; more than X11 without that", "",
            f"{number(median(drawn))} ms; {median(rest):+.1f} ms" if rest else "–", ""]


def latency(side: Figures) -> str:
    return f"{number(median(side['median']))} ({number(median(side['p95']))}) ms"


def stage_line(row: Figures, name: str) -> Line:
    def stage(key: str) -> str:
        return number(median(run.get(f"viewer.{key}") for run in row[name]["stages"]))

    return [f"    {TITLES[name]}: until the encoder has it, encoded, decoded, drawn", "",
            ", ".join(map(stage, ("capture", "encode", "decode", "present"))) + " ms", ""]


def change_lines(row: Figures) -> list[Line]:
    return [["small change on a still desktop, from committed to seen: X11, median (p95)", "", latency(row["x11"]), ""],
            *(line for name in DESKTOP_SOURCES for line in (more_line(row, name, 3), drawn_line(row, name))),
            *(stage_line(row, name) for name in SOURCES)]


def scroll_lines(row: Figures) -> list[Line]:
    found = [["scrolling at 60: X11, median (p95); frames a second", "",
              f"{latency(row['x11'])}; {number(median(row['x11']['fps']))}", ""]]
    for name in DESKTOP_SOURCES:
        drawn, seen = (median(row[name][key]) for key in ("compositor_fps", "fps"))
        # Half a frame is what its beginning and its end may take away.
        is_reached = seen is not None and seen >= min(60, drawn) - 0.5
        found += [more_line(row, name, 10), drawn_line(row, name),
                  [f"  {TITLES[name]}: frames a second; drawn by the compositor", "60, or the compositor's",
                   f"{number(seen)}; {number(drawn)}", tables.yes(is_reached)]]
    found += [stage_line(row, name) for name in SOURCES]
    for name in SOURCES:
        values = [number(median(row[name][f"cpu_{group}"]), 0) for group in (
            "host", "host-screen", "viewer", "viewer-screen")]
        found.append([f"    {TITLES[name]}: processor time of host, its desktop, viewer, its X server", "",
                      ", ".join(values) + " %", ""])
    return found


# --- A still desktop ------------------------------------------------------------------------------------------------


def still(options: argparse.Namespace) -> Figures:
    from lab.common import content as pictures

    found: Figures = {}
    for name, (kind, source, size) in STILL.items():
        with Place(kind, size) as place:
            pictures.write(place.directory, place.screens.width, place.screens.height)
            figures = place.measured(place.sources(source)[source], "still", 2, options.still_seconds)
        rest = figures["rest"]
        found[name] = {
            "host": rest["cpu"]["host"], "desktop": rest["cpu"]["host-screen"], "viewer": rest["cpu"]["viewer"],
            "datagrams": rest["datagrams"], "bytes": rest["mbit"] * 1e6 / 8, "encoded": rest["encoded"],
            "luma": figures["luma_rested"]}
    return found


def still_lines(row: Figures) -> list[Line]:
    found = []
    for name, side in row.items():
        found += [
            [f"an unchanged desktop, {TITLES[name]}: the host's processor time", "1 % of a core",
             f"{side['host']:.2f} %", tables.yes(side["host"] < 1)],
            ["  pictures encoded; datagrams and bytes a second, keep-alives of both ends", "0; 4 datagrams",
             f"{side['encoded']}; {side['datagrams']:.1f}, {side['bytes']:.0f} bytes",
             tables.yes(side["encoded"] == 0 and side["datagrams"] <= 4)],
            ["  processor time of the desktop, of the viewer", "", f"{side['desktop']:.2f} %, {side['viewer']:.2f} %", ""]]
    return found


# --- A picture that is equal to the last one -------------------------------------------------------------------------


def compare(_: argparse.Namespace) -> Figures:
    found = {one["name"]: one for one in micro.measured("compare", 1)}
    equal = found["compare.equal pictures"]
    return {"time": equal["time"], "p95": equal["p95"]}


def compare_lines(row: Figures) -> list[Line]:
    return [["comparing a picture of 1920x1080 with the last one, which is equal: median (p95)", "0.5 ms",
             f"{row['time'] / 1e6:.2f} ({row['p95'] / 1e6:.2f}) ms", tables.yes(row["time"] <= 0.5e6)]]


# --- The desktop's size changes ---------------------------------------------------------------------------------------


def resize(options: argparse.Namespace) -> Figures:
    found: Figures = {}
    for name in DESKTOP_SOURCES:
        with Place() as place:
            found[name] = resizing.measure(place, name, options.changes)
    found["wrong"] = sum(found[name]["wrong"] for name in DESKTOP_SOURCES)
    return found


def resize_lines(row: Figures) -> list[Line]:
    found = []
    for name in DESKTOP_SOURCES:
        side = row[name]
        what = f"{len(side['times'])} changes of the desktop's size, {TITLES[name]}: right picture after, median (worst)"
        measured = f"{number(median(side['times']), 0)} ({number(max(side['times'], default=None), 0)}) ms"
        found.append([what, "500 ms each", measured + (f"; never {side['wrong']}" if side["wrong"] else ""),
                      tables.yes(not side["wrong"] and max(side["times"]) <= 500)])
        found.append(["  of it until the desktop's window is drawn in the new size, median (worst)", "",
                      f"{number(median(side['drawn']), 0)} ({number(max(side['drawn'], default=None), 0)}) ms", ""])
    return found


ROWS = {
    "change": (lambda options: compared(options, "still"), change_lines),
    "scroll": (lambda options: compared(options, "scroll"), scroll_lines),
    "still": (still, still_lines),
    "compare": (compare, compare_lines),
    "resize": (resize, resize_lines),
}
NAMES = tuple(ROWS)
