"""Scripts/bench micro: times and allocations of the hot paths."""

import argparse
import json
import subprocess
from typing import Any

from lab.common import build, records, tables
from lab.common.numbers import number

UNITS = ((1e6, "ms"), (1e3, "µs"), (1, "ns"))


def time(nanoseconds: float) -> str:
    for factor, unit in UNITS:
        if nanoseconds >= factor:
            return f"{nanoseconds / factor:.3g} {unit}"
    return "0 ns"


def per_datagram(benchmarks: list[dict[str, Any]]) -> dict[str, Any]:
    """Allocations for each further datagram of a frame, from pairs of benchmarks with different frame lengths."""
    slopes = {}
    for short in benchmarks:
        if not short["name"].endswith(" 20 kB"):
            continue
        name = short["name"][:-len(" 20 kB")]
        long = next((other for other in benchmarks if other["name"] == name + " 40 kB"), None)
        if long and long["datagrams"] > short["datagrams"]:
            slopes[name] = round((long["allocations"] - short["allocations"])
                                 / (long["datagrams"] - short["datagrams"]), 3)
    return slopes


def show(entry: dict[str, Any]) -> None:
    rows = [[one["name"], time(one["time"]), time(one["p95"]),
             number(one["datagrams"] or None, 0), number(one["bytes"] or None, 0), number(one["allocations"], 2)]
            for one in entry["benchmarks"]]
    print(tables.text(rows, ["", "median", "p95", "datagrams", "bytes", "allocations"]))
    print()
    for name, slope in entry["allocations_per_datagram"].items():
        print(f"{name}: {round(slope, 2):g} allocations for each further datagram of a frame")


def measured(pattern: str | None, seconds: float) -> list[dict[str, Any]]:
    """The benchmarks whose names match; times in ns."""
    command = [build.micro(), "--format", "json", "--min-time", str(seconds)]
    if pattern:
        command += ["--filter", pattern]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["benchmarks"]
    for one in found:
        for key in ("time", "p95"):
            one[key] = round(one[key])
        for key in ("datagrams", "bytes", "allocations"):
            one[key] = round(one[key], 3)
        one["iterations"] = round(one["iterations"])
    return found


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="Scripts/bench micro")
    parser.add_argument("--filter", metavar="REGEX", help="only benchmarks whose names match")
    parser.add_argument("--seconds", type=float, default=1, help="measured for each, at least (1)")
    parser.add_argument("--no-history", action="store_true", help="print only")
    parser.add_argument("--no-setup", action="store_true", help="install nothing")
    options = parser.parse_args(arguments)
    if not options.no_setup:
        build.setup()
    found = measured(options.filter, options.seconds)
    entry = records.entry(benchmarks=found, allocations_per_datagram=per_datagram(found))
    show(entry)
    # A run of only some benchmarks isn't added to the history, because others couldn't be compared with it.
    if not options.no_history and not options.filter:
        records.append("micro", entry)
