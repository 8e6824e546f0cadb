"""Scripts/attack: runs attacks against a new host and viewer, and prints the result of each."""

import argparse
import dataclasses
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

from lab.common import catalogue, isolation, pages, paths, tables
from lab.common.numbers import number
from lab.common.trouble import main

MODULES = ("undisturbed", "pairing", "words", "values", "places", "floods", "memory", "lies", "hosts", "patches",
           "patchrequests", "members", "equals", "equalswords", "equalsplaces", "equalsrooms", "browsers", "browsersports",
           "browsersgarbage", "browserscontrol", "gateways")
# IPv6 addresses of attackers, of two prefixes, on the private network's loopback.
ADDRESSES = ["fd77:1::1/64", *(f"fd77:2::{number:x}/64" for number in range(1, 65)), "fd77:3::1/64"]
ResultRow = dict[str, Any]


def all_attacks() -> list[Any]:
    return [attack for module in MODULES for attack in importlib.import_module(f"lab.attack.{module}").ATTACKS]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Scripts/attack")
    catalogue.add_options(parser)
    parser.add_argument("--json", metavar="FILE", help="write the rows there, too")
    parser.add_argument("--short", action="store_true", help="what fits into a test: about 2 minutes")
    return parser.parse_args(arguments)


def prepare_network() -> None:
    isolation.start_loopback()
    isolation.hide_displays()
    for address in ADDRESSES:
        subprocess.run(["ip", "-6", "address", "add", address, "dev", "lo", "nodad"], capture_output=True)


# --- Output ----------------------------------------------------------------------------------------------------------

HEADS = ("attack", "came of it", "fps low / mean", "of calm", "p95 ms", "MB host / viewer")
WIDTHS = (24, 10, 14, 7, 6, 16)


def cells(row: ResultRow) -> list[str]:
    frames = "–" if row["mean"] is None else f"{row['lowest']:.0f} / {row['mean']:.1f}"
    ratio = "–" if row["ratio"] is None else f"{100 * row['ratio']:.0f} %"
    memory = f"{number(row['host_megabytes'], 0)} / {number(row['viewer_megabytes'], 0)}"
    return [row["name"], row["came"], frames, ratio, number(row["latency"], 0), memory]


def line(values: tuple[str, ...] | list[str]) -> str:
    return "  ".join(f"{value:<{width}}" for value, width in zip(values, WIDTHS, strict=True)).rstrip()


def print_row(row: ResultRow) -> None:
    print(line(cells(row)))
    print(f"    {row['tried']}")
    if row["words"]:
        print(f"    → {row['words']}")
    sys.stdout.flush()


def table(results: dict[str, Any]) -> list[str]:
    rows = []
    for row in results["rows"]:
        name, *rest = cells(row)
        rows.append([name, row["tried"], *rest, row["words"] or " "])
    return tables.markdown(rows, ["attack", "what is tried", *HEADS[1:], "what was seen"]).splitlines()


def page_text(results: dict[str, Any], page: str) -> str:
    """The table of all rows. Of a run of some: the page's table with these in it."""
    machine, new = results["machine"], table(results)
    played = {row.split(" | ")[0]: row for row in new[2:]}
    old_table, _, old_note = page.strip().partition("\n\n")
    old = {row.split(" | ")[0]: row for row in old_table.splitlines()[2:]}
    if old.keys() <= played.keys():
        return ("\n".join(new) + "\n\n"
                f"`Scripts/attack` on {machine['cores']} cores, {machine['system']}, commit {machine['commit']},"
                f" {machine['date']}. Frames a second: the lowest second and the mean, and the mean as a share of the first"
                " row's; latency: the worst second's 95th percentile from capture to picture; memory: each process's peak.")
    some = {name: row for name, row in played.items() if name != "| undisturbed"}
    names = ", ".join(f"`{name.removeprefix('| ')}`" for name in some)
    return ("\n".join([*new[:2], *(old | some).values()]) + f"\n\n{old_note} Played alone, commit {machine['commit']},"
            f" {machine['date']}: {names}.")


# --- Running ---------------------------------------------------------------------------------------------------------


def play_all(options: argparse.Namespace) -> int:
    # Imported late: it needs packages, without which the options and the page are there all the same.
    from lab.attack import laboratory

    if isolation.has_own_network():
        prepare_network()
    rows = []
    print(line(HEADS))
    with tempfile.TemporaryDirectory(prefix="beamroom-attack-") as directory:
        os.chmod(directory, 0o700)
        lab = laboratory.Laboratory(options.program, directory, options.short)
        for attack in choose(options):
            row = laboratory.play(attack, lab)
            if attack.name == "undisturbed":
                lab.undisturbed = row
            rows.append(dataclasses.asdict(row) | {"is_well": row.is_well})
            print_row(rows[-1])
            if options.json:
                results = {"machine": pages.machine(), "rows": rows}
                pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    bad = [row["name"] for row in rows if not row["is_well"]]
    print(f"{len(rows)} rows; " + (f"not as aimed: {', '.join(bad)}" if bad else "all as aimed"))
    return 1 if bad else 0


def choose(options: argparse.Namespace) -> list[Any]:
    return catalogue.choose(all_attacks(), options, options.short, "undisturbed")


def run(arguments: list[str]) -> int | None:
    options = parse(arguments)
    if options.page:
        writer, results = "Scripts/attack --page", json.loads(pathlib.Path(options.page).read_text())
        return pages.write("attacks.md", writer, page_text(results, pages.split(paths.RESULTS / "attacks.md", writer)[1]))
    if options.list:
        return catalogue.print_names(all_attacks())
    if not options.program:
        sys.exit("--program PATH is wanted")
    choose(options)
    return play_all(options) if options.inside else isolation.run_inside("lab.attack", ["--inside", *arguments],
                                                                         may_share=True)


if __name__ == "__main__":
    main(run)
