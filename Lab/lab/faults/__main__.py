"""Scripts/faults: lets everything fail in turn, and prints what each person sees and when the picture is right."""

import argparse
import collections
import dataclasses
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

from lab.attack import __main__ as attack
from lab.network import links as between
from lab.common import laboratory
from lab.network import netlab
from lab.common import records as results
from lab.faults.fault import play

PAGE = results.ROOT / "Sources/beamroom/beamroom.docc/Faults.md"
BEGIN = "<!-- results: written by Scripts/faults --page -->"
END = "<!-- end of results -->"
STARTING = ("Sharing the test pattern", "Sharing the screen", "To watch", "Only viewers that", "Only paired viewers")
# More sentences of one end are counted only.
MOST_SENTENCES = 6
MODULES = ("processes", "screens", "paths", "resources")


def all_faults():
    found = []
    for module in MODULES:
        found += importlib.import_module(f"lab.faults.{module}").FAULTS
    return found


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/faults")
    parser.add_argument("--only", nargs="+", metavar="ROW", default=[], help="only these; all if none is given")
    parser.add_argument("--check", action="store_true", help="the short form: some rows, less than a minute")
    parser.add_argument("--list", action="store_true", help="print the rows' names, and do nothing")
    parser.add_argument("--json", metavar="FILE", help="write the rows there, too; rows that are there already stay")
    parser.add_argument("--page", metavar="FILE", help="write the table of such a file into the page Faults")
    parser.add_argument("--program", metavar="PATH", help="the beamroom to try")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def choose(options):
    faults = all_faults()
    names = [fault.name for fault in faults]
    unknown = [name for name in options.only if name not in names]
    if unknown:
        sys.exit(f"There is no row {', '.join(unknown)}. There are: {', '.join(names)}.")
    if options.only:
        return [fault for fault in faults if fault.name in options.only]
    return [fault for fault in faults if fault.is_short or not options.check]


# --- Output -----------------------------------------------------------------------------------------------------------


def seconds(value):
    return "–" if value is None else f"{value:.1f} s"


def verdict(row):
    if row["not_tried"]:
        return f"not tried: {row['not_tried']}"
    return "; ".join(row["differences"]) or "as aimed"


def print_row(row):
    print(f"{row['name']:<20}{verdict(row)}")
    print(f"    {row['happens']}")
    print(f"    stood {seconds(row['stood'])}, said after {seconds(row['said_after'])}, right after "
          f"{seconds(row['right'])} (aim: {row['aim']}); host: {row['host_ended']}, viewer: {row['viewer_ended']}")
    for end in ("host", "viewer"):
        for text in row[f"{end}_says"]:
            print(f"    {end:>6}: {text}")
    for note in row["notes"]:
        print(f"    {note}")
    sys.stdout.flush()


def sentences(texts):
    """What a person reads, for a cell of the table, without what every start says."""
    texts = [text for text in texts if not text.startswith(STARTING)]
    words = texts[:MOST_SENTENCES]
    if len(texts) > MOST_SENTENCES:
        words.append(f"({len(texts) - MOST_SENTENCES} more)")
    return " … ".join(words)


def page_text(results_):
    heads = ["what happens", "the person at the host reads", "the person at the viewer reads", "the picture stands for",
             "right again after", "aim", "result"]
    lines = [heads, ["---"] * len(heads)]
    for row in results_["rows"]:
        says = [sentences(row[f"{end}_says"]) for end in ("host", "viewer")]
        ended = "".join(f" The {end} ends: {row[f'{end}_ended']}." for end in ("host", "viewer")
                        if row[f"{end}_ended"].startswith(("exit", "SIG")))
        happens = f"{row['happens']}{ended}"
        lines.append([happens, *(text or "–" for text in says), seconds(row["stood"]), seconds(row["right"]),
                      row["aim"], "; ".join([verdict(row), *row["notes"]])])
    table = "\n".join("| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in line) + " |"
                      for line in lines)
    machine = results_["machine"]
    commits = collections.Counter(row["commit"] for row in results_["rows"])
    measured = ", ".join(commit if len(commits) == 1 else f"{commit} ({count} rows)"
                         for commit, count in commits.items())
    well = sum(not row["differences"] and not row["not_tried"] for row in results_["rows"])
    return (f"{table}\n\n{well} of {len(results_['rows'])} rows as aimed. `Scripts/faults` on {machine['cores']} "
            f"cores, {machine['system']}, commit {measured}, {machine['date']}.")


def write_page(path):
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{page_text(json.loads(pathlib.Path(path).read_text()))}\n{END}{after}")
    return 0


def store(path, rows):
    """Writes the rows, in their usual order, together with those of other runs that are in the file."""
    path = pathlib.Path(path)
    found = json.loads(path.read_text())["rows"] if path.exists() else []
    by_name = {row["name"]: row for row in [*found, *rows]}
    order = [fault.name for fault in all_faults()]
    kept = [by_name[name] for name in order if name in by_name]
    path.write_text(json.dumps({"machine": attack.machine(), "rows": kept}, indent=1) + "\n")


# --- Running ----------------------------------------------------------------------------------------------------------


def play_all(options):
    laboratory.enter()
    given = types.SimpleNamespace(program=options.program, relay=os.environ["BEAMROOM_RELAY"], is_short=options.check)
    rows = []
    with tempfile.TemporaryDirectory(prefix="beamroom-faults-") as shared:
        for fault in choose(options):
            row = play(fault, given, shared)
            rows.append(dataclasses.asdict(row) | {"is_well": row.is_well, "commit": attack.machine()["commit"]})
            print_row(rows[-1])
            if options.json:
                store(options.json, rows)
    bad = [row["name"] for row in rows if not row["is_well"]]
    left = [row["name"] for row in rows if row["not_tried"]]
    print(f"{len(rows)} rows; " + (f"not as aimed: {', '.join(bad)}" if bad else "all as aimed")
          + (f"; not tried: {', '.join(left)}" if left else ""))
    return 1 if bad else 0


def obstacle():
    """Nil if faults can be made here, otherwise what is missing."""
    if os.geteuid() != 0:
        return "Faults are made in network namespaces and with small disks, which wants root."
    with open(os.devnull, "w") as log:
        try:
            with between.namespace(log):
                pass
        except laboratory.Trouble as trouble:
            return str(trouble)
    return None if os.path.exists("/dev/net/tun") else "There is no /dev/net/tun, which the relay needs."


def run(arguments):
    options = parse(arguments)
    if options.page:
        return write_page(options.page)
    faults = choose(options)
    if options.list:
        for fault in faults:
            print(f"{fault.name:<20}{fault.title()}")
        return 0
    if not options.program:
        sys.exit("--program PATH is wanted")
    if options.inside:
        return play_all(options)
    trouble = obstacle()
    if trouble:
        sys.exit(trouble)
    os.environ["BEAMROOM_RELAY"] = netlab.build_relay()
    return attack.go_inside(arguments, "lab.faults")


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr or ''}")
