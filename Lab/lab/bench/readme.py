"""Scripts/bench readme: writes the figures in README and in the pages on performance, networks, words and rooms, from the
newest runs that have them.
"""

import argparse
import sys

from lab.network import aims
from lab.bench.room import command as meeting
from lab.bench import micro
from lab.network import networks
from lab.network import report
from lab.common import records as results
from lab.bench.words import command as roombench
from lab.bench import glasstable as table
from lab.common.records import number

BEGIN = "<!-- figures: written by Scripts/bench readme -->"
END = "<!-- end of figures -->"
SYSTEMS = ("beamroom", "gst", "x0vnc", "mpv")

class Trouble(Exception):
    is_for_people = True


def newest_glass(systems):
    """The newest entry with all those systems at 1080p60."""
    for entry in reversed(results.read("glass")):
        if set(systems) <= set(entry["tables"].get("1080p60", {}).get("systems", {})):
            return entry
    return None


def row(cells):
    return "| " + " | ".join(cells) + " |"


def peers_text():
    """README's table: the main figures beside other systems."""
    entry = newest_glass(SYSTEMS)
    if entry is None:
        return ""
    part = entry["tables"]["1080p60"]

    def get(system, content, name):
        return table.figure(part, system, content, name)

    def moving(system):
        return f"{number(get(system, 'video', 'median'), 0)} ms, {number(get(system, 'video', 'fps'), 0)} fps"

    def line(words, cell):
        return row([words, *(cell(system) for system in SYSTEMS)])

    return "\n".join([
        line("", lambda system: table.TITLES[system]),
        line("---", lambda _: "---"),
        line("a small change is seen after", lambda system: number(get(system, "still", "median"), 0, " ms")),
        line("a video is behind by", moving),
        line("and takes of one core, both ends", lambda system: number(get(system, "video", "cpu"), 0, " %")),
        "",
        f"1920x1080 at 60, both ends on one machine ({entry['machine']['cores']} cores, no GPU), {entry['date'][:10]}."
        " `Scripts/bench glass` measures it on yours.",
    ])


def source(entry):
    return f"{results.describe(entry['machine'])}; commit {entry['commit'][:12]}, {entry['date'][:10]}."


def stages_text():
    """The figures of the page on performance."""
    parts = []
    entry = newest_glass(["beamroom"])
    if entry:
        part = entry["tables"]["1080p60"]
        lines = [row(["ms, median", "small change", "scrolling", "video-like"]), row(["---"] * 4)]
        lines += [row(cells) for cells in table.stage_rows(part)]
        lines.append(row(["from painted to seen, by the probe", *(
            number(table.figure(part, "beamroom", content, "median"), 2) for content in table.HEADINGS)]))
        parts += ["\n".join(lines), "`Scripts/bench glass`, 1920x1080 at 60, both ends on " + source(entry)]
    entries = results.read("micro")
    if entries:
        entry = entries[-1]
        lines = [row(["hot path", "median", "p95", "allocations"]), row(["---"] * 4)]
        lines += [row([one["name"], micro.time(one["time"]), micro.time(one["p95"]), number(one["allocations"], 1)])
                  for one in entry["benchmarks"]]
        parts += ["\n".join(lines), "; ".join(
            f"{name}: {round(slope, 2):g} allocations for each further datagram"
            for name, slope in entry["allocations_per_datagram"].items()) + ".",
            "`Scripts/bench micro`, on " + source(entry)]
    return "\n\n".join(parts)


def newest_networks():
    """The newest entry with every network: of BeamRoom and ffplay, otherwise of BeamRoom alone."""
    entries = results.read("netlab")
    for systems in (("beamroom", "ffplay"), ("beamroom",)):
        for entry in reversed(entries):
            if all(set(systems) <= set(entry["networks"].get(name, {})) for name in networks.NAMES):
                return entry, systems
    return None, ()


def networks_text():
    """The figures of the page on networks: the table, and whether each aim is reached."""
    entry, systems = newest_networks()
    if entry is None:
        print("No run of Scripts/netlab over all its networks is in the history: its table in Networks.md stays empty.",
              file=sys.stderr)
        return ""
    kinds = sorted({run["link"]["kind"] for parts in entry["networks"].values() for runs in parts.values()
                    for run in runs if run})
    return "\n\n".join([
        moving_table(entry, systems),
        aims_table(entry, systems),
        f"`Scripts/netlab`: 1920x1080 at 30, {entry['content']}, 10 Mbit/s unless the network carries less; medians of"
        f" {entry['reps']}, seed {entry['seed']}, by {' and '.join(kinds)}. Both ends on {source(entry)}",
    ])


def moving_table(entry, systems):
    heads = ("fps", "frozen %", "longest ms", "latency median / p95 ms", "broken %", "luma dB", "Mbit/s")
    lines = [row(["network", "", *heads]), row(["---"] * (2 + len(heads)))]
    for network in networks.NETWORKS:
        if network.content == "still":
            continue
        for system in systems:
            def get(name, digits=1):
                return number(report.figure(entry, network.name, system, name), digits)

            lines.append(row([
                network.title if system == systems[0] else "", report.TITLES[system], get("fps"), get("frozen"),
                get("longest_gap", 0), f"{get('median', 0)} / {get('p95', 0)}", get("broken"), get("luma"),
                get("mbit", 2)]))
    return "\n".join(lines)


def aims_table(entry, systems):
    """What is aimed at for each network. Aims that aren't reached are marked."""
    cells = {system: {(aim.network, aim.words): aim.row(True)[2] for aim in aims.of(entry, system)}
             for system in systems}
    lines = [row(["network", "aim", "wanted", *(report.TITLES[system] for system in systems)]),
             row(["---"] * (3 + len(systems)))]
    last = None
    for aim in aims.of(entry):
        # No limit: it would be compared with something that wasn't measured.
        if aim.limit is None:
            continue
        found = [cells[system].get((aim.network, aim.words), "–") for system in systems]
        if aim.verdict() == "NOT MET":
            found[0] += " (not met)"
        lines.append(row([networks.named(aim.network).title if aim.network != last else "", aim.words,
                          aim.row(True)[3], *found]))
        last = aim.network
    return "\n".join(lines)


def aims_text(kind, page, heading, lines_of, what):
    """The newest figures of a kind: each row with its aim."""
    entries = results.read(kind)
    if not entries:
        print(f"No run of Scripts/bench {kind} over all its rows is in the history: its table in {page} stays empty.",
              file=sys.stderr)
        return ""
    entry = entries[-1]
    rows = [row(["", "aim", "measured", "reached"]), row(["---"] * 4)]
    rows += [row([words[:1].upper() + words[1:], *cells]) for words, *cells in lines_of(entry["rows"])]
    return "\n\n".join([heading, "\n".join(rows), f"`Scripts/bench {kind}`, {what}, on {source(entry)}"])


def words_text():
    return aims_text("words", "Words.md", "## How soon words arrive", roombench.lines, "real programs")


def rooms_text():
    return aims_text("room", "Rooms.md", "## What was measured", meeting.lines,
                     "real programs on one machine, each in a network of its own")


MANUAL = results.ROOT / "Sources" / "beamroom" / "beamroom.docc"
PAGES = {
    results.ROOT / "README.md": peers_text,
    MANUAL / "Performance.md": stages_text,
    MANUAL / "Networks.md": networks_text,
    MANUAL / "Words.md": words_text,
    MANUAL / "Rooms.md": rooms_text,
}


def split(path):
    text = path.read_text()
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 or end < begin:
        raise Trouble(f"{path.name} lacks the lines “{BEGIN}” and “{END}”, between which its figures belong.")
    begin += len(BEGIN)
    return text[:begin], text[begin:end], text[end:]


def run(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/bench readme")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if the figures are others")
    options = parser.parse_args(arguments)
    for path, make in PAGES.items():
        before, found, after = split(path)
        text = make()
        wanted = f"\n{text}\n" if text else "\n"
        if found == wanted:
            continue
        if options.check:
            raise Trouble(f"{path.name}'s figures aren't those of the newest runs in Lab/results/history."
                          " Scripts/bench readme writes them.")
        path.write_text(before + wanted + after)
    return 0
