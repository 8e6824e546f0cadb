"""Scripts/bench readme: writes the figures in README.md and in Lab/results from the newest runs that have them."""

import argparse
from collections.abc import Callable
from typing import Any

from lab.bench import exactness, glasstable, micro
from lab.bench.room import command as room
from lab.bench.wayland import command as wayland
from lab.bench.web import command as web
from lab.bench.words import command as words
from lab.common import pages, records, tables
from lab.common.numbers import number
from lab.common.paths import RESULTS, ROOT
from lab.common.records import source
from lab.common.trouble import Trouble, say
from lab.network import aims, networks, report

Entry = dict[str, Any]
WRITER = "Scripts/bench readme"
# The networks of the table, which every system is measured on.
LINKS = [network.name for network in networks.NETWORKS if network.content != "typing"]
SYSTEMS = ("beamroom", "gst", "x0vnc", "mpv")


def newest_glass(systems: tuple[str, ...]) -> Entry | None:
    """The newest entry with all those systems, and the contents of these tables, at 1080p60."""
    for entry in reversed(records.read("glass")):
        found = entry["tables"].get("1080p60", {}).get("systems", {})
        if all(set(glasstable.HEADINGS) <= set(found.get(system, {})) for system in systems):
            return entry
    return None


def peers_text() -> str:
    """README's table: the main figures beside other systems."""
    entry = newest_glass(SYSTEMS)
    if entry is None:
        return ""
    part = entry["tables"]["1080p60"]

    def get(system: str, content: str, name: str) -> float | None:
        return glasstable.figure(part, system, content, name)

    table = tables.markdown([
        ["a small change is seen after", *(number(get(system, "still", "median"), 0, " ms") for system in SYSTEMS)],
        ["a video is behind by", *(f"{number(get(system, 'video', 'median'), 0)} ms,"
                                   f" {number(get(system, 'video', 'fps'), 0)} fps" for system in SYSTEMS)],
        ["and takes of one core, both ends", *(number(get(system, "video", "cpu"), 0, " %") for system in SYSTEMS)],
    ], ["", *(glasstable.TITLES[system] for system in SYSTEMS)])
    return (f"{table}\n\n1920x1080 at 60, both ends on one machine ({entry['machine']['cores']} cores, no GPU),"
            f" {entry['date'][:10]}. `Scripts/bench glass` measures it on yours.")


def stages_text() -> str:
    """Where the time goes, and the hot paths alone."""
    parts = []
    entry = newest_glass(("beamroom",))
    if entry:
        part = entry["tables"]["1080p60"]
        seen = ["from painted to seen, by the probe", *(
            number(glasstable.figure(part, "beamroom", content, "median"), 2) for content in glasstable.HEADINGS)]
        parts += [tables.markdown([*glasstable.stage_rows(part), seen],
                                  ["ms, median", "small change", "scrolling", "video-like"]),
                  "`Scripts/bench glass`, 1920x1080 at 60, both ends on " + source(entry)]
    parts += exact_parts()
    entries = records.read("micro")
    if entries:
        entry = entries[-1]
        rows = [[one["name"], micro.time(one["time"]), micro.time(one["p95"]), number(one["allocations"], 1)]
                for one in entry["benchmarks"]]
        slopes = (f"{name}: {round(slope, 2):g} allocations for each further datagram"
                  for name, slope in entry["allocations_per_datagram"].items())
        parts += [tables.markdown(rows, ["hot path", "median", "p95", "allocations"]), "; ".join(slopes) + ".",
                  "`Scripts/bench micro`, on " + source(entry)]
    return "\n\n".join(parts)


def exact_parts() -> list[str]:
    """The tables of the newest run with all contents whose changes are looked for in every pixel, if there is one."""
    for entry in reversed(records.read("glass")):
        part = entry["tables"].get("1080p60", {"systems": {}})
        if set(exactness.CONTENTS) <= set(part["systems"].get("beamroom", {})):
            return [*(tables.markdown(*glasstable.exact_rows(part, content)) for content in exactness.CONTENTS),
                    "`Scripts/bench glass`, 1920x1080 at 60, until every pixel is right, on " + source(entry)]
    return []


def newest_networks() -> tuple[Entry | None, tuple[str, ...]]:
    """The newest entry with every network: of BeamRoom and ffplay, otherwise of BeamRoom alone."""
    entries = records.read("netlab")
    for systems in (("beamroom", "ffplay"), ("beamroom",)):
        for entry in reversed(entries):
            if all(set(systems) <= set(entry["networks"].get(name, {})) for name in LINKS):
                return entry, systems
    return None, ()


def networks_text() -> str:
    """How networks are met, and whether each aim is reached."""
    entry, systems = newest_networks()
    if entry is None:
        say("No run of Scripts/netlab over all its networks is in the history: its table stays empty.")
        return ""
    kinds = sorted({run["link"]["kind"] for parts in entry["networks"].values() for runs in parts.values()
                    for run in runs if run})
    return "\n\n".join([
        moving_table(entry, systems),
        aims_table(entry, systems),
        f"`Scripts/netlab`: 1920x1080 at 30, {entry['content']}, 10 Mbit/s unless the network carries less; medians of"
        f" {entry['reps']}, seed {entry['seed']}, by {' and '.join(kinds)}. Both ends on {source(entry)}",
    ])


def moving_table(entry: Entry, systems: tuple[str, ...]) -> str:
    rows = []
    for network in networks.MOVING:
        for system in systems:
            figures = {name: report.figure(entry, network.name, system, name) for name in (
                "fps", "frozen", "longest_gap", "median", "p95", "broken", "luma", "mbit")}
            rows.append([
                network.title if system == systems[0] else "", report.TITLES[system], number(figures["fps"]),
                number(figures["frozen"]), number(figures["longest_gap"], 0),
                f"{number(figures['median'], 0)} / {number(figures['p95'], 0)}", number(figures["broken"]),
                number(figures["luma"]), number(figures["mbit"], 2)])
    return tables.markdown(rows, ["network", "", "fps", "frozen %", "longest ms", "latency median / p95 ms", "broken %",
                                  "luma dB", "Mbit/s"])


def aims_table(entry: Entry, systems: tuple[str, ...]) -> str:
    """The aims for each network. Those that aren't reached are marked."""
    cells = {system: {(aim.network, aim.words): aim.row(True)[2] for aim in aims.of(entry, system)}
             for system in systems}
    rows, last = [], None
    for aim in aims.of(entry):
        # No limit: it would be compared with something that wasn't measured.
        if aim.limit is None:
            continue
        found = [cells[system].get((aim.network, aim.words), "–") for system in systems]
        if aim.verdict() == "NOT MET":
            found[0] += " (not met)"
        rows.append([networks.named(aim.network).title if aim.network != last else "", aim.words, aim.row(True)[3], *found])
        last = aim.network
    return tables.markdown(rows, ["network", "aim", "wanted", *(report.TITLES[system] for system in systems)])


def aims_text(kind: str, lines_of: Callable[[Entry], list[list[str]]], what: str) -> str:
    """The newest figures of a kind: each row with its aim."""
    entries = records.read(kind)
    if not entries:
        say(f"No run of Scripts/bench {kind} over all its rows is in the history: its table stays empty.")
        return ""
    rows = [[line[0][:1].upper() + line[0][1:], *line[1:]] for line in lines_of(entries[-1]["rows"])]
    return f"{tables.markdown(rows, tables.AIM_HEAD)}\n\n`Scripts/bench {kind}`, {what}, on {source(entries[-1])}"


PAGES = {
    ROOT / "README.md": peers_text,
    RESULTS / "performance.md": stages_text,
    RESULTS / "networks.md": networks_text,
    RESULTS / "words.md": lambda: aims_text("words", words.lines, "real programs"),
    RESULTS / "rooms.md": lambda: aims_text("room", room.lines,
                                            "real programs on one machine, each in a network of its own"),
    RESULTS / "wayland.md": lambda: aims_text("wayland", wayland.lines,
                                              "sway 1920x1080 at 60, GNOME 1280x720, all on one machine without a GPU"),
    RESULTS / "browsers.md": lambda: aims_text("web", web.lines,
                                               "host and browsers on one machine without a GPU, each in a network of its own"),
}


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="Scripts/bench readme")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if the figures are others")
    options = parser.parse_args(arguments)
    for path, make in PAGES.items():
        before, found, after = pages.split(path, WRITER)
        text = make()
        wanted = f"\n{text}\n" if text else "\n"
        if found == wanted:
            continue
        if options.check:
            raise Trouble(f"{path.name}'s figures aren't those of the newest runs in Lab/results/history."
                          " Scripts/bench readme writes them.")
        path.write_text(before + wanted + after)
    return 0
