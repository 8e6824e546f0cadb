"""Scripts/bench readme: the figures in README and in the page on performance, from the newest runs that have them."""

import argparse

import micro
import results
import table
from results import number

BEGIN = "<!-- figures: written by Scripts/bench readme -->"
END = "<!-- end of figures -->"
SYSTEMS = ("beamroom", "gst", "x0vnc", "mpv")

class Trouble(Exception):
    is_for_people = True


def newest_glass(systems):
    """The last entry with all those systems at 1080p60."""
    for entry in reversed(results.read("glass")):
        if set(systems) <= set(entry["tables"].get("1080p60", {}).get("systems", {})):
            return entry
    return None


def row(cells):
    return "| " + " | ".join(cells) + " |"


def peers_text():
    """README's table: what a person notices, beside others."""
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
    """The page on performance: where the time goes."""
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
            f"{name}: {slope:g} allocations for each further datagram"
            for name, slope in entry["allocations_per_datagram"].items()) + ".",
            "`Scripts/bench micro`, on " + source(entry)]
    return "\n\n".join(parts)


PAGES = {
    results.ROOT / "README.md": peers_text,
    results.ROOT / "Sources" / "beamroom" / "beamroom.docc" / "Performance.md": stages_text,
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
            raise Trouble(f"{path.name}'s figures aren't those of the newest runs in Benchmarks/history."
                          " Scripts/bench readme writes them.")
        path.write_text(before + wanted + after)
    return 0
