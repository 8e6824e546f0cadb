"""The glass-to-glass table, and whether each aim is reached."""

from typing import Any

from lab.bench import exactness, systems
from lab.common import records, tables
from lab.common.numbers import median, number

HEADINGS = {"still": "still desktop, small change", "scroll": "scrolling text", "video": "video-like"}
#: Short names for the table.
TITLES = {name: system.title for name, system in systems.SYSTEMS.items()}


#: The program's names of its stages in words, in a frame's order. The viewer also reports the host's stages.
STAGES = {
    "viewer.capture": "from the change until the encoder has it",
    "viewer.encode": "converted and encoded",
    "viewer.network": "until its first datagram arrives",
    "viewer.reassembly": "until its last",
    "viewer.decode": "decoded",
    "viewer.present": "drawn in the window",
    "viewer.captureToArrival": "sum: from the change to the last datagram",
    "viewer.arrivalToWindow": "sum: from there to the window",
    "viewer.captureToWindow": "sum: from the change to the window",
}


def figure(table: dict[str, Any], system: str, content: str, name: str) -> Any:
    """The median over the repetitions; None if it wasn't measured."""
    found = table["systems"].get(system, {})
    values = found.get("start") if content == "start" else found.get(content, {}).get(name)
    return median(values or [])


def getter(table: dict[str, Any], system: str, content: str) -> exactness.Get:
    return lambda name: figure(table, system, content, name)


def pair(first: float | None, second: float | None, digits: int = 0) -> str:
    return f"{number(first, digits)} / {number(second, digits)}"


def still_row(table: dict[str, Any], system: str) -> list[str]:
    def get(name: str) -> float | None:
        return figure(table, system, "still", name)

    return [TITLES[system], number(get("median")), number(get("p95")), number(get("rest_cpu")),
            number(get("rest_datagrams")), number(get("luma_rested")), number(figure(table, system, "start", ""), 0),
            pair(get("memory_host"), get("memory_viewer"))]


def moving_row(table: dict[str, Any], system: str, content: str) -> list[str]:
    def get(name: str) -> float | None:
        return figure(table, system, content, name)

    return [TITLES[system], number(get("median")), number(get("p95")), number(get("fps")),
            pair(get("cpu_host"), get("cpu_viewer")), number(get("psnr")), number(get("equal_samples"), 0),
            number(get("luma_rested")),
            number(get("mbit"), 2 if (get("mbit") or 9) < 1 else 1), pair(get("memory_host"), get("memory_viewer"))]


def exact_rows(table: dict[str, Any], content: str) -> tuple[list[list[str]], list[str]]:
    """The rows of the systems that were measured with one of `exactness.CONTENTS`, and their head."""
    shown = [system for system, found in table["systems"].items() if content in found]
    return exactness.table(content, {TITLES[system]: getter(table, system, content) for system in shown})


def show_table(name: str, table: dict[str, Any]) -> None:
    print(f"{table['width']}x{table['height']} at {table['rate']}, {table['bit_rate'] // 1000} Mbit/s for H.264")
    for content, heading in HEADINGS.items():
        shown = [system for system, found in table["systems"].items() if content in found]
        if not shown:
            continue
        print()
        if content == "still":
            head = [heading, "median ms", "p95", "at rest: CPU %", "datagrams/s", "dB after 2 s", "first picture ms",
                    "MiB host / viewer"]
            print(tables.text([still_row(table, system) for system in shown], head))
        else:
            head = [heading, "median ms", "p95", "fps", "CPU % host / viewer", "dB moving", "exact %", "after 2 s", "Mbit/s",
                    "MiB host / viewer"]
            print(tables.text([moving_row(table, system, content) for system in shown], head))
    for content in exactness.CONTENTS:
        rows, head = exact_rows(table, content)
        if rows:
            print("\n" + tables.text(rows, head))
    print()


def targets(table: dict[str, Any]) -> list[tuple[str, Any, Any, bool]]:
    """The aims, each as (words, figure, limit, whether more is better); the limit is None without the peer's figure."""
    def own(content: str, name: str) -> float | None:
        return figure(table, "beamroom", content, name)

    def times(factor: float, peer: str, content: str, name: str) -> Any:
        value = figure(table, peer, content, name)
        return value and factor * value

    aims = []
    if own("still", "median") is not None:
        memory = [own(content, f"memory_{end}") for content in HEADINGS for end in ("host", "viewer")]
        aims += [
            ("still: median, 0.7 x TigerVNC's", own("still", "median"), times(0.7, "x0vnc", "still", "median"), False),
            ("still: p95", own("still", "p95"), 9, False),
            ("at rest: CPU %", own("still", "rest_cpu"), 2, False),
            ("at rest: datagrams a second, keep-alives only", own("still", "rest_datagrams"), 4, False),
            ("first right picture, ms", own("start", ""), 100, False),
            ("memory of the larger end, MiB", max((value for value in memory if value), default=None), 150, False),
        ]
    for content, factor, least_db in (("scroll", 0.55, 33), ("video", 0.6, 41)):
        if own(content, "median") is None:
            continue
        others = [figure(table, name, content, "psnr") for name, peer in systems.PEERS.items() if peer.is_h264]
        best = max([least_db, *(value for value in others if value)])
        aims += [
            (f"{content}: median, {factor} x GStreamer's", own(content, "median"),
             times(factor, "gst", content, "median"), False),
            (f"{content}: p95", own(content, "p95"), 18, False),
            (f"{content}: frames a second", own(content, "fps"), 59, True),
            (f"{content}: CPU %, 0.75 x GStreamer's", own(content, "cpu"), times(0.75, "gst", content, "cpu"), False),
            (f"{content}: dB moving, the best H.264 peer's", own(content, "psnr"), best, True),
        ]
    for content in HEADINGS:
        if own(content, "luma_rested") is not None:
            aims.append((f"{content}: luma dB after 2 s", own(content, "luma_rested"), 46, True))
    return aims


def show_targets(table: dict[str, Any]) -> None:
    rows = [[words, number(value), ("≥ " if more else "≤ ") + number(limit), tables.met(value, limit, more)]
            for words, value, limit, more in targets(table)]
    if rows:
        print(tables.text(rows, ["BeamRoom's aims at 1080p60", "measured", "wanted", ""]))
        print()


def stage_rows(table: dict[str, Any]) -> list[list[str]]:
    """BeamRoom's own times by stage: medians in ms for each content, in a frame's order."""
    found = {content: table["systems"].get("beamroom", {}).get(content, {}).get("stages", []) for content in HEADINGS}
    names = {name for runs in found.values() for run in runs for name in run if name.startswith("viewer.")}
    return [[STAGES.get(name, f"`{name}`"), *(
        number(median(run[name]["median"] for run in runs if name in run), 2) for runs in found.values())]
        for name in [*STAGES, *sorted(names - set(STAGES))] if name in names]


def show_stages(table: dict[str, Any]) -> None:
    rows = stage_rows(table)
    if rows:
        print(tables.text(rows, ["BeamRoom's stages, median ms", *HEADINGS]))
        print()


def show(entry: dict[str, Any]) -> None:
    print(f"{entry['date']}, commit {entry['commit']}, {records.describe(entry['machine'])}")
    print(f"Medians of {entry['reps']} runs of {entry['seconds']:g} s each.\n")
    for name, table in entry["tables"].items():
        show_table(name, table)
        if name == "1080p60":
            show_targets(table)
        show_stages(table)
