"""Scripts/faults: lets everything fail in turn, and prints what each person sees and when the picture is right."""

import argparse
import collections
import dataclasses
import importlib
import json
import pathlib
import sys
import tempfile
import types
from typing import Any

from lab.common import catalogue, isolation, pages, tables
from lab.common.trouble import main
from lab.faults import place
from lab.faults.fault import Fault, play

STARTING = ("Sharing the test pattern", "Sharing the screen", "To watch", "Only viewers that", "Only paired viewers")
# More sentences of one end are counted only.
MOST_SENTENCES = 6
MODULES = ("processes", "screens", "paths", "resources")
ResultRow = dict[str, Any]


def all_faults() -> list[type[Fault]]:
    return [fault for module in MODULES for fault in importlib.import_module(f"lab.faults.{module}").FAULTS]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Scripts/faults")
    catalogue.add_options(parser)
    parser.add_argument("--json", metavar="FILE", help="write the rows there, too; rows that are there already stay")
    parser.add_argument("--check", action="store_true", help="the short form: some rows, less than a minute")
    return parser.parse_args(arguments)


# --- Output -----------------------------------------------------------------------------------------------------------


def seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"


def verdict(row: ResultRow) -> str:
    if row["not_tried"]:
        return f"not tried: {row['not_tried']}"
    return "; ".join(row["differences"]) or "as aimed"


def print_row(row: ResultRow) -> None:
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


def sentences(texts: list[str]) -> str:
    """What a person reads, for a cell of the table, without what every start says."""
    texts = [text for text in texts if not text.startswith(STARTING)]
    words = texts[:MOST_SENTENCES]
    if len(texts) > MOST_SENTENCES:
        words.append(f"({len(texts) - MOST_SENTENCES} more)")
    return " … ".join(words)


def page_text(results: dict[str, Any]) -> str:
    lines = []
    for row in results["rows"]:
        says = [sentences(row[f"{end}_says"]) for end in ("host", "viewer")]
        ended = "".join(f" The {end} ends: {row[f'{end}_ended']}." for end in ("host", "viewer")
                        if row[f"{end}_ended"].startswith(("exit", "SIG")))
        lines.append([f"{row['happens']}{ended}", *(text or "–" for text in says), seconds(row["stood"]),
                      seconds(row["right"]), row["aim"], "; ".join([verdict(row), *row["notes"]])])
    table = tables.markdown(lines, ["what happens", "the person at the host reads", "the person at the viewer reads",
                                    "the picture stands for", "right again after", "aim", "result"])
    machine = results["machine"]
    commits = collections.Counter(row["commit"] for row in results["rows"])
    measured = ", ".join(commit if len(commits) == 1 else f"{commit} ({count} rows)"
                         for commit, count in commits.items())
    well = sum(not row["differences"] and not row["not_tried"] for row in results["rows"])
    return (f"{table}\n\n{well} of {len(results['rows'])} rows as aimed. `Scripts/faults` on {machine['cores']} "
            f"cores, {machine['system']}, commit {measured}, {machine['date']}.")


def store(path: str, rows: list[ResultRow]) -> None:
    """Writes the rows, in their usual order, together with those of other runs that are in the file."""
    file = pathlib.Path(path)
    found = json.loads(file.read_text())["rows"] if file.exists() else []
    by_name = {row["name"]: row for row in [*found, *rows]}
    kept = [by_name[fault.name] for fault in all_faults() if fault.name in by_name]
    file.write_text(json.dumps({"machine": pages.machine(), "rows": kept}, indent=1) + "\n")


# --- Running ----------------------------------------------------------------------------------------------------------


def play_all(options: argparse.Namespace) -> int:
    isolation.enter()
    given = types.SimpleNamespace(program=options.program, is_short=options.check)
    rows: list[ResultRow] = []
    with tempfile.TemporaryDirectory(prefix="beamroom-faults-") as shared:
        for fault in catalogue.choose(all_faults(), options, options.check):
            row = play(fault, given, pathlib.Path(shared))
            rows.append(dataclasses.asdict(row) | {"is_well": row.is_well, "commit": pages.machine()["commit"]})
            print_row(rows[-1])
            if options.json:
                store(options.json, rows)
    bad = [row["name"] for row in rows if not row["is_well"]]
    left = [row["name"] for row in rows if row["not_tried"]]
    print(f"{len(rows)} rows; " + (f"not as aimed: {', '.join(bad)}" if bad else "all as aimed")
          + (f"; not tried: {', '.join(left)}" if left else ""))
    return 1 if bad else 0


def run(arguments: list[str]) -> int | None:
    options = parse(arguments)
    if options.page:
        return pages.write("faults.md", "Scripts/faults --page", page_text(json.loads(pathlib.Path(options.page).read_text())))
    if options.list:
        return catalogue.print_names(all_faults())
    catalogue.choose(all_faults(), options, options.check)
    if not options.program:
        sys.exit("--program PATH is wanted")
    return play_all(options) if options.inside else place.run_inside("lab.faults", arguments)


if __name__ == "__main__":
    main(run)
