"""Scripts/bench history: the figures over time, newest last."""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from lab.bench import exactness, glasstable, micro
from lab.bench.sound import table as soundtable
from lab.bench.web import command as web
from lab.common import records, tables
from lab.common.numbers import median, number
from lab.common.trouble import say
from lab.network import report

Entry = dict[str, Any]
Form = Callable[[Any], str]
# What it is, its value, and how that is written.
Figures = Iterator[tuple[str, Any, Form]]


def form(digits: int, unit: str = "") -> Form:
    return lambda value: number(value, digits, unit)


def micro_figures(entry: Entry) -> Figures:
    for one in entry["benchmarks"]:
        yield one["name"], one["time"], micro.time
    for name, slope in entry["allocations_per_datagram"].items():
        yield f"{name}: allocations/datagram", slope, lambda value: f"{value:g}"


def glass_figures(entry: Entry) -> Figures:
    for name, part in entry["tables"].items():
        for system in part["systems"]:
            for content in glasstable.HEADINGS:
                for figure, told in (("median", form(1, " ms")), ("p95", form(1, " ms")), ("fps", form(1, " fps")),
                                     ("cpu", form(0, " %")), ("psnr", form(1, " dB")), ("rest_cpu", form(1, " %"))):
                    value = glasstable.figure(part, system, content, figure)
                    if value is not None:
                        yield f"{name} {system} {content} {figure}", value, told
            for content in exactness.CONTENTS:
                for figure, told in (("median", form(1, " ms")), ("exact_share", form(0, " %")), ("settled", form(0, " ms"))):
                    value = glasstable.figure(part, system, content, figure)
                    if value is not None:
                        yield f"{name} {system} {content} {figure}", value, told
            value = glasstable.figure(part, system, "start", "")
            if value is not None:
                yield f"{name} {system} first picture", value, form(0, " ms")


def netlab_figures(entry: Entry) -> Figures:
    for name, systems in entry["networks"].items():
        for system in systems:
            for figure, digits, unit in (("fps", 1, " fps"), ("frozen", 1, " %"), ("median", 1, " ms"), ("p95", 1, " ms"),
                                         ("broken", 1, " %"), ("luma", 1, " dB"), ("mbit", 2, " Mbit/s"),
                                         ("legible_after", 1, " s"), ("full_after", 1, " s"),
                                         ("picture_after", 0, " ms")):
                value = report.figure(entry, name, system, figure)
                if value is not None:
                    yield f"{name} {system} {figure}", value, form(digits, unit)


def crowd_figures(entry: Entry) -> Figures:
    def middle(runs: list[Entry], name: str) -> Any:
        return median([run.get(name) for run in runs])

    found = entry["rows"]
    runs = found.get("viewers", {}).get("runs", [])
    for count in sorted({run["count"] for run in runs}):
        some = [run for run in runs if run["count"] == count]
        yield f"{count} viewers host's CPU", 100 * middle(some, "host_cpu"), form(0, " %")
        yield f"{count} viewers slowest", middle(some, "fps_lowest"), form(1, " fps")
        yield f"{count} viewers memory", middle(some, "rss") / 1024, form(0, " MiB")
        spreads = [run["spread"]["median"] for run in some if run["spread"]]
        if spreads:
            yield f"{count} viewers last behind first", median(spreads), form(2, " ms")
    runs = found.get("memory", {}).get("runs", [])
    if runs:
        yield "memory of one more viewer", middle(runs, "each"), form(0, " KiB")
    runs = found.get("joins", {}).get("runs", [])
    if runs:
        yield "40 join, first picture", middle(runs, "first_median"), form(0, " ms")
        yield "40 join, last picture", middle(runs, "first_longest"), form(0, " ms")
        yield "40 join, keyframes in a second", middle(runs, "busiest"), form(0)
    for row, sides in (("misbehaving", ("without", "with")), ("networks", ("alone", "beside"))):
        for side in sides if row in found else ():
            for name, digits, unit in (("fps_lowest", 1, " fps"), ("latency", 1, " ms"), ("latency_p95", 1, " ms"),
                                       ("lost", 0, ""), ("bytes_a_frame", 0, " B"), ("keyframes", 0, "")):
                value = middle(found[row][side], name)
                if value is not None:
                    yield f"{row} {side} {name}", value, form(digits, unit)


def words_figures(entry: Entry) -> Figures:
    found = entry["rows"]
    for row, words in (("captions", "caption to event"), ("drawn", "caption to window")):
        for name in ("median", "p95"):
            yield f"{words} {name}", found[row][name], form(1, " ms")
    yield "late viewer, first line", found["history"]["first"], form(0, " ms")
    yield "late viewer, last line", found["history"]["last"], form(0, " ms")
    yield "messages both ways", found["messages"]["seconds"], form(1, " s")
    yield "notes equal after", found["notes"]["seconds"], form(2, " s")
    for side, times in found["restarts"].items():
        yield f"restart of the {side}", times["median"], form(2, " s")


def room_figures(entry: Entry) -> Figures:
    found = entry["rows"]
    for row, name, words in (("words", "all_know_all", "all know all"), ("words", "healed", "equal after a split"),
                             ("faults", "killed", "a killed one is gone"), ("faults", "frozen", "a frozen one is gone"),
                             ("faults", "moved", "a moved one is here")):
        yield words, found[row][name], form(2, " s")
    yield "more through another member", found["pictures"]["more"], form(1, " ms")
    yield "shown in each tile", found["grid"]["shown_least"], form(1, "")
    yield "of one who shows all", found["grid"]["viewer"], form(0, " %")


def sound_figures(entry: Entry) -> Figures:
    for words, server, line in soundtable.figures(entry["rows"]):
        yield f"{words}, {server}", line.value, form(line.digits, line.unit)


def wayland_figures(entry: Entry) -> Figures:
    found = entry["rows"]
    for row, words in (("change", "small change"), ("scroll", "scrolling")):
        for source, side in found[row].items():
            for name in ("median", "p95"):
                yield f"{words} {source} {name}", median(side[name]), form(1, " ms")
    for source, side in found["scroll"].items():
        yield f"scrolling {source}", median(side["fps"]), form(1, " fps")
    for source, side in found["still"].items():
        yield f"still {source} host's CPU", side["host"], form(2, " %")
        yield f"still {source} datagrams", side["datagrams"], form(1, " a second")
    yield "equal pictures compared", found["compare"]["time"], micro.time
    for source in ("wlr", "portal"):
        yield f"another size {source}", median(found["resize"][source]["times"]), form(0, " ms")


def web_figures(entry: Entry) -> Figures:
    found = entry["rows"]
    # Runs from before a way was added haven't got it.
    for name, side in found["latency"].items():
        for figure, told in (("median", form(1, " ms")), ("p95", form(1, " ms")), ("fps", form(1, " fps"))):
            yield f"{name} {figure}", median(side[figure]), told
    for name in web.JOINS:
        yield f"first picture {name}", median(found["first"][name]), form(0, " ms")
    for scheme in ("http", "https"):
        yield f"still {scheme}", found["still"][scheme]["kbit"], form(2, " kbit/s")
        yield f"back after sleep {scheme}", median(found["slept"][scheme]["back"]), form(2, " s")
    for share in web.LOSSES:
        yield f"{share} % loss longest gap", median(found["loss"][str(share)]["gap"]), form(0, " ms")
    # Runs before these rows haven't got them.
    for count, runs in found.get("load", {}).items():
        yield f"host with {count} browsers", median(run["host"] for run in runs), form(0, " %")
    if "minutes" in found:
        for scheme in ("http", "https"):
            yield f"skipped {scheme}", found["minutes"][scheme]["skipped"], form(0)
    if "sound" in found:
        for scheme in ("http", "https"):
            yield f"sound heard {scheme}", found["sound"][scheme]["sound"]["median"], form(0, " ms")
            yield f"sound minus picture {scheme}", found["sound"][scheme]["signed_median"], form(0, " ms")


def show(kind: str, figures: Callable[[Entry], Figures], count: int, pattern: str) -> None:
    entries = records.read(kind)
    if not entries:
        script = "Scripts/netlab" if kind == "netlab" else f"Scripts/bench {kind}"
        say(f"There is no history of {kind} yet: {script} begins it.")
        return
    newest = entries[-1]
    # Figures of different machines can't be compared.
    same = [entry for entry in entries if records.is_same(entry["machine"], newest["machine"])][-count:]
    print(f"{kind}: {records.describe(newest['machine'])}")
    measured = [{name: value for name, value, _ in figures(entry)} for entry in same]
    rows = []
    for name, value, form in figures(newest):
        if pattern not in name:
            continue
        values = [entry.get(name) for entry in measured]
        before = [one for one in values[:-1] if one is not None]
        ratio = number(value / before[-1], 2) if before and before[-1] else "–"
        rows.append([name, *("–" if one is None else form(one) for one in values), ratio])
    heads = [f"{entry['date'][:10]} {entry['commit'][:7]}" + ("*" if entry["commit"].endswith("-dirty") else "")
             for entry in same]
    print(tables.text(rows, ["", *heads, "ratio"]))
    if any(head.endswith("*") for head in heads):
        print("* with changes that weren't committed")
    print()


KINDS = {"micro": micro_figures, "glass": glass_figures, "netlab": netlab_figures, "crowd": crowd_figures,
         "words": words_figures, "room": room_figures, "sound": sound_figures,
         "wayland": wayland_figures, "web": web_figures}


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="Scripts/bench history")
    parser.add_argument("kind", nargs="?", choices=KINDS, help="(all)")
    parser.add_argument("--entries", type=int, default=5, help="the newest so many (5)")
    parser.add_argument("--match", default="", help="only figures whose names contain this")
    options = parser.parse_args(arguments)
    for kind, figures in KINDS.items():
        if options.kind in (None, kind):
            show(kind, figures, options.entries, options.match)
