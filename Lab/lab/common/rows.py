"""What benchmarks of several rows have in common: they run again in namespaces of their own, and measure row by row."""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from lab.common import build, isolation, records
from lab.common.numbers import rounded
from lab.common.trouble import say

Figures = dict[str, Any]


def add_options(parser: argparse.ArgumentParser, rows: Sequence[str], check: str | None = None, history: bool = True) -> None:
    """`check`: what its short form is, if it has one."""
    parser.add_argument("--rows", nargs="+", metavar="ROW", choices=rows, default=list(rows),
                        help="of " + ", ".join(rows) + " (all)")
    parser.add_argument("--json", metavar="FILE", help="write all figures there, too")
    if check:
        parser.add_argument("--check", action="store_true", help=f"instead: {check}")
    if history:
        parser.add_argument("--no-history", action="store_true",
                            help="print only; with --check or without some rows, nothing is added either")
    parser.add_argument("--no-setup", action="store_true", help="install nothing")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(check=False, no_history=not history)


def outside(name: str, arguments: list[str], options: argparse.Namespace,
            prepare: Callable[[], dict[str, str]] = dict, setup: Sequence[str] = ()) -> int:
    """Installs and builds what is missing, and runs the benchmark again in new namespaces. `prepare` builds more, and
    answers more of the environment. `setup` are more options of Scripts/setup.
    """
    if not options.no_setup:
        build.setup("--bench", *setup)
    environment = {"BEAMROOM": build.beamroom(), **prepare()}
    return isolation.run_inside("lab.bench", [name, "--inside", *arguments], environment)


def inside(name: str, options: argparse.Namespace,
           measure: Callable[[str, pathlib.Path, contextlib.ExitStack], Figures]) -> tuple[Figures, Figures]:
    """The figures of each row, and the history's entry with them. `measure` gets the row, a directory and a stack."""
    found = {}
    for row in options.rows:
        directory = pathlib.Path(tempfile.mkdtemp(prefix=f"beamroom-{name}-"))
        try:
            with contextlib.ExitStack() as stack:
                found[row] = measure(row, directory, stack)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        say(f"{row}: {json.dumps(found[row])}")
    return found, records.entry(load=os.getloadavg()[0], rows=rounded(found))


def keep(name: str, options: argparse.Namespace, entry: Figures, names: Sequence[str] = ()) -> None:
    """Writes what was measured where it is wanted: into a file, and if all of it was measured, into the history."""
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(entry, indent=1) + "\n")
    if names and not options.check and not options.no_history and set(entry["rows"]) == set(names):
        records.append(name, entry)
