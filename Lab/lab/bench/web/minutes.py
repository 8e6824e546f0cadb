"""The row minutes: whether each picture of some minutes is drawn, and whether anything grows."""

import argparse
import time
from typing import Any

from lab.bench.web.page import Drawn, Page, firsts, summary, watching
from lab.bench.web.place import Place
from lab.common.browsers import Chromium
from lab.common.numbers import number
from lab.common.programs import Event, Program
from lab.common.tables import judged
from lab.common.trouble import Trouble
from lab.faults import growth

Figures = dict[str, Any]
# In seconds: how long it takes, with and without --long, and from when on nothing may grow.
LONG, SHORT = 300, 30
LONG_SINCE, SHORT_SINCE = 60, 10
WARM_UP = 5
# What is drawn is fetched so often that the page's own list stays short.
FETCH = 5
# What may come and go in MiB: of the host's private memory as in the long run, and of what the page's JavaScript holds.
MOST_MEMORY, MOST_HEAP = growth.BOUNDS["private"][1], 1


def minutes(options: argparse.Namespace) -> Figures:
    seconds, since = (LONG, LONG_SINCE) if options.long else (SHORT, SHORT_SINCE)
    found: Figures = {"seconds": seconds, "since": since}
    with Place() as place:
        for scheme in ("http", "https"):
            with (place.sharing(*place.pattern(options.content, 30, 720), rows=720) as host,
                  watching(place, Chromium, scheme, options.window, 1280) as page):
                time.sleep(WARM_UP)
                found[scheme] = watched(page, host, seconds, since)
    return found


def watched(page: Page, host: Program, seconds: float, since: float) -> Figures:
    page.align()
    before, replaced = page.ahead(), newest(host)["replaced"]
    page.drawn()
    begin, drawn = time.monotonic(), []
    used = host.processor()
    drawn += fetched(page, begin + since)
    early = held(page, host)
    drawn += fetched(page, begin + seconds)
    late, taken = held(page, host), time.monotonic() - begin
    cost = (host.processor() - used) / taken * 100
    # What was drawn since belongs to the figures of `ahead`.
    drawn += page.drawn()
    undecoded = page.ahead() - before
    told = newest(host)
    new = firsts(drawn)
    # At the host a newer one takes the place of one that waits for the encoder.
    at_host = told["replaced"] - replaced
    at_page = max(0, new[-1].number - new[0].number + 1 - len(new) - undecoded) if new else 0
    return {**summary(drawn, taken), "pictures": len(new), "skipped": max(0, undecoded - at_host),
            "at_host": at_host, "at_page": at_page, "unsent": sum(one["skipped"] for one in told["viewerStats"]),
            "early": early, "late": late, "host": cost}


def newest(host: Program) -> Event:
    """The host's figures, which it tells each second."""
    told = host.wait_for("stats", 5, time.monotonic())
    if told is None:
        raise Trouble(f"The host doesn't tell its figures. Its last words:\n{host.last_words()}")
    return told


def fetched(page: Page, end: float) -> list[Drawn]:
    """What is drawn until then."""
    drawn = []
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(FETCH, left))
        drawn += page.drawn()
    return drawn


def held(page: Page, host: Program) -> Figures:
    """The host's memory, resident and private, and the page's, without what is no longer used, in MiB."""
    sample = growth.sample(host.pid)
    return {"memory": sample.memory if sample else None, "private": sample.private if sample else None,
            "heap": page.heap() / 2**20}


def lines(row: Figures) -> list[list[str]]:
    found = []
    for scheme in ("http", "https"):
        side = row[scheme]
        early, late = side["early"], side["late"]

        def grown(name: str) -> float:
            return float("inf") if None in (early[name], late[name]) else late[name] - early[name]

        found += [
            judged(f"720p30 for {row['seconds']} s by {scheme}: pictures skipped, but for a newer one", "0",
                   f"{side['skipped']}" + (f", of which {side['unsent']} weren't sent" if side["unsent"] else ""),
                   side["skipped"] == 0),
            ["  pictures drawn; replaced by a newer one at the host; in the browser; wrong", "",
             f"{side['pictures']}; {side['at_host']}; {side['at_page']}; {side['wrong']}", ""],
            ["  painted to drawn: median (p95); longest time without a new picture", "",
             f"{number(side['median'])} ({number(side['p95'])}); {number(side['gap'], 0)} ms", ""],
            judged(f"  the host's memory after {row['since']} s; at the end; of that private", "nothing grows",
                   f"{number(early['memory'])}; {number(late['memory'])}; {number(early['private'])};"
                   f" {number(late['private'])} MiB", grown("private") <= MOST_MEMORY),
            judged("  the page's memory (JavaScript)", "nothing grows", f"{number(early['heap'])}; {number(late['heap'])} MiB",
                   grown("heap") <= MOST_HEAP)]
    return found
