"""Rows that are chosen by name: attacks and faults."""

import argparse
import sys
from typing import TypeVar


class Case:
    """One row. The docstring's first sentence is the row's text."""

    name = ""
    # Also one of the short form.
    short = False

    @classmethod
    def title(cls) -> str:
        return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


Kind = TypeVar("Kind", bound=type[Case])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="only these; all if none is given")
    parser.add_argument("--list", action="store_true", help="print the names and what happens, and do nothing")
    parser.add_argument("--program", metavar="PATH", help="the beamroom to try")
    parser.add_argument("--page", metavar="FILE", help="write the table of such a file into Lab/results")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)


def choose(cases: list[Kind], options: argparse.Namespace, is_short: bool, first: str = "") -> list[Kind]:
    """Those that were asked for, after the one named `first`."""
    unknown = [name for name in options.only if name not in {case.name for case in cases}]
    if unknown:
        sys.exit(f"There is no {', '.join(unknown)}. There are: {', '.join(case.name for case in cases)}.")
    if options.only:
        return [case for case in cases if case.name in (*options.only, first)]
    return [case for case in cases if case.short or not is_short]


def print_names(cases: list[Kind]) -> None:
    for case in cases:
        print(f"{case.name:<26}{case.title()}")
