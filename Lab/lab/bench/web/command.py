"""Scripts/bench web: how soon, how well and at what cost Chromium and Firefox show what a host shares."""

import argparse
import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator
from typing import Any

from lab.bench.web import gateway, janus, load, minutes, sound
from lab.bench.web.page import Page, firsts, summary, watching
from lab.bench.web.place import CLEAN, Place
from lab.common import build, isolation, records, rows, tables
from lab.common.browsers import Browser, Chromium, Firefox
from lab.common.numbers import median, number
from lab.common.programs import Program
from lab.common.tables import judged
from lab.common.trouble import Trouble
from lab.network.links import Meter

Figures = dict[str, Any]
Line = list[str]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench web",
        description="A host shares, and Chromium and Firefox from Debian watch, without a window, in a network of their own"
        " with the laboratory's link in between. Each picture of the test pattern says its number and when it was painted;"
        " the page is read when it has drawn one, and both clocks are of this machine. Needs root.")
    rows.add_options(parser, NAMES)
    parser.add_argument("--reps", type=int, default=3, help="runs of the rows latency, slept, loss and load (3)")
    parser.add_argument("--seconds", type=float, default=10, help="of each run of the rows latency, loss and load (10)")
    parser.add_argument("--content", choices=("scroll", "video"), default="scroll", help="of the test pattern (scroll)")
    parser.add_argument("--window", default="1280x800", help="size of the browsers' pages (1280x800)")
    parser.add_argument("--joins", type=int, default=10, help="of each browser in the row first (10)")
    parser.add_argument("--long", action="store_true",
                        help="the row still takes 600 s each instead of 60, the row minutes 300 s instead of 30,"
                             " the row sound 180 s instead of 20")
    options = parser.parse_args(arguments)
    width, _, height = options.window.partition("x")
    if not (width.isdigit() and height.isdigit() and 320 <= int(width) <= 4096 and 200 <= int(height) <= 4096):
        parser.error("--window is a size such as 1280x800")
    options.window = (int(width), int(height))
    if not (1 <= options.reps <= 100 and 2 <= options.seconds <= 600 and 1 <= options.joins <= 1000):
        parser.error("--seconds is 2 to 600, counts are 1 at least")
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.inside:
        return inside(options)
    return rows.outside("web", arguments, options, lambda: {
        "BEAMROOM_RELAY": build.relay(), "BEAMROOM_PROBE": build.screen_probe(), "BEAMROOM_SOUNDPROBE": build.sound_probe()})


def inside(options: argparse.Namespace) -> int:
    if os.geteuid() != 0:
        raise Trouble("Scripts/bench web needs root, for network namespaces and TUN devices.")
    isolation.enter()
    found, entry = rows.inside("web", options, lambda row, *_: ROWS[row][0](options))
    entry |= {"content": options.content, "window": list(options.window)}
    print(f"{records.describe(entry['machine'])}, load {entry['load']:.1f}; commit {entry['commit']}\n")
    print(tables.text(lines(found), tables.AIM_HEAD))
    rows.keep("web", options, entry, NAMES)
    return 0


def lines(found: Figures) -> list[Line]:
    """The rows for people: what, its aim, what was measured, and whether that reaches the aim."""
    return [line for name in found for line in ROWS[name][1](found[name])]


def append(found: Figures, figures: Figures) -> None:
    for key, value in figures.items():
        found.setdefault(key, []).append(value)


# --- From painted to drawn --------------------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Way:
    """How pictures of 1080 rows come to a browser. `scheme`: the page's. `rate`: pictures a second. `aim`: in ms."""

    browser: type[Browser]
    scheme: str
    rate: int
    aim: float
    by_gateway: bool = False

    @property
    def title(self) -> str:
        return f"{self.browser.title} " + ("through a gateway" if self.by_gateway else f"by {self.scheme}")

    @contextlib.contextmanager
    def sharing(self, place: Place, content: str) -> Iterator[Program]:
        """A host that browsers can watch in this way."""
        pattern = place.pattern(content, self.rate)
        if not self.by_gateway:
            with place.sharing(*pattern) as host:
                yield host
            return
        with janus.sharing(place, *pattern) as (host, _):
            yield host
            # Without its gateway the host would have served the browser itself.
            janus.wait_for_viewers(host, 1)


WAYS = {
    "http30": Way(Chromium, "http", 30, 25), "http60": Way(Chromium, "http", 60, 35), "https30": Way(Chromium, "https", 30, 30),
    "firefox30": Way(Firefox, "https", 30, 30), "gateway30": Way(Chromium, "http", 30, 45, by_gateway=True)}
WARM_UP = 3


def latency(options: argparse.Namespace) -> Figures:
    found: Figures = {name: {} for name in WAYS}
    with Place() as place:
        for repetition in range(options.reps):
            for name in in_turn(list(WAYS), repetition):
                way = WAYS[name]
                with (way.sharing(place, options.content) as host,
                      watching(place, way.browser, way.scheme, options.window) as page):
                    time.sleep(WARM_UP)
                    append(found[name], watched(page, host, options.seconds))
    return found


def in_turn(names: list[str], repetition: int) -> list[str]:
    """The first is another one each time."""
    turn = repetition % len(names)
    return names[turn:] + names[:turn]


def watched(page: Page, host: Program, seconds: float) -> Figures:
    """The figures of the next `seconds`."""
    page.align()
    page.drawn()
    used = host.processor()
    time.sleep(seconds)
    figures = summary(page.drawn(), seconds)
    return {**figures, "host": (host.processor() - used) / seconds * 100, "clock": page.error * 1e3}


def latency_lines(row: Figures) -> list[Line]:
    found = []
    for name, way in WAYS.items():
        # Runs from before this way was added haven't got it.
        if name not in row:
            continue
        side = {key: median(values) for key, values in row[name].items()}
        found += [
            judged(f"painted to drawn, {way.title}, 1080p{way.rate}: median (p95)", f"{way.aim:g} ms",
                   f"{number(side['median'])} ({number(side['p95'])}) ms",
                   side["median"] is not None and side["median"] <= way.aim),
            ["  pictures a second; the host's processor time", "", f"{number(side['fps'])}; {number(side['host'], 0)} %", ""]]
    return found


# --- The first picture ------------------------------------------------------------------------------------------------

JOINS: dict[str, tuple[type[Browser], str]] = {
    "http": (Chromium, "http"), "https": (Chromium, "https"), "firefox": (Firefox, "https")}


def first(options: argparse.Namespace) -> Figures:
    found: Figures = {}
    with Place() as place, place.sharing(*place.pattern(options.content, 30)):
        for name, (kind, scheme) in JOINS.items():
            with place.browser(kind, options.window) as browser:
                page = Page(browser, scheme)
                found[name] = []
                for _ in range(options.joins):
                    page.open()
                    found[name].append(page.enter())
                    time.sleep(1)
                page.leave()
    return found


def first_lines(row: Figures) -> list[Line]:
    return [judged(f"first picture after the code, {kind.title} by {scheme}: median of {len(row[name])} (longest)", "400 ms",
                   f"{number(median(row[name]), 0)} ({number(max(row[name]), 0)}) ms", median(row[name]) <= 400)
            for name, (kind, scheme) in JOINS.items()]


# --- A still screen ---------------------------------------------------------------------------------------------------

# Until the picture has been refined, in seconds.
SETTLING = 10


def still(options: argparse.Namespace) -> Figures:
    seconds = 600 if options.long else 60
    found: Figures = {"seconds": seconds}
    with Place() as place, place.still_screen(1080, 3 * seconds + 300) as display, Meter(place.viewer_end) as meter:
        for scheme in ("http", "https"):
            with (place.sharing("--display", display, "--no-cursor", "--max-fps", 30) as host,
                  watching(place, Chromium, scheme, options.window) as page):
                time.sleep(SETTLING)
                before, used, begin = page.figures(), host.processor(), time.monotonic()
                time.sleep(seconds)
                after, end = page.figures(), time.monotonic()
                found[scheme] = {
                    **{name: after[name] - before[name] for name in before},
                    "kbit": 1e3 * (meter.mbit(begin, end) or 0), "sent": 1e3 * (meter.mbit(begin, end, viewer=False) or 0),
                    "host": (host.processor() - used) / (end - begin) * 100}
    return found


def still_lines(row: Figures) -> list[Line]:
    found = []
    for scheme in ("http", "https"):
        side, what = row[scheme], f"still screen for {row['seconds']} s by {scheme}"
        asked = [judged(f"{what}: keyframes asked for", "0", f"{side['asked']}", side["asked"] == 0)] if scheme == "http" else [
            judged(f"{what}: keyframes sent", "0", f"{side['keyframes']}", side["keyframes"] == 0)]
        found += [*asked,
                  judged("  to the browser, everything on the network", "2 kbit/s", f"{side['kbit']:.2f} kbit/s",
                         side["kbit"] <= 2),
                  ["  pictures; the host's processor time", "", f"{side['pictures']}; {side['host']:.2f} %", ""]]
    return found


# --- A browser that is stopped ----------------------------------------------------------------------------------------

ASLEEP = 10


def slept(options: argparse.Namespace) -> Figures:
    found: Figures = {"http": {}, "https": {}}
    with Place() as place:
        for _ in range(options.reps):
            for scheme in ("http", "https"):
                with (place.sharing(*place.pattern(options.content, 30, 720), rows=720), place.native() as viewer,
                      watching(place, Chromium, scheme, options.window, 1280) as page,
                      watching(place, Chromium, "http", options.window, 1280) as other):
                    time.sleep(WARM_UP)
                    append(found[scheme], one_sleeps(page, other, viewer))
    return found


def one_sleeps(page: Page, other: Page, viewer: Program) -> Figures:
    """The first browser sleeps: how long after its waking it draws what was painted since; and the others, in the same
    time before that, and until it is back.
    """
    page.align()
    other.align()
    other.drawn()
    begin = time.monotonic()
    time.sleep(ASLEEP)
    before, stopped = summary(other.drawn(), ASLEEP), time.monotonic()
    page.browser.stop()
    time.sleep(ASLEEP)
    woken = time.monotonic()
    page.browser.wake()
    time.sleep(3)
    # Asking takes time: the clocks were compared before.
    ended, drawn = time.monotonic(), page.drawn()
    back = next((one.at - woken for one in firsts(drawn) if one.painted >= woken), None)
    meanwhile = summary(other.drawn(), ended - stopped)
    return {"back": back, "before_fps": before["fps"], "before_gap": before["gap"], "fps": meanwhile["fps"],
            "gap": meanwhile["gap"], **native(viewer, begin, stopped, ended)}


def native(viewer: Program, begin: float, stopped: float, ended: float) -> Figures:
    """A native viewer's least rate before and since, and what it lost since."""
    told = viewer.named("stats", begin)
    # Each tells of the second before it.
    before = [one["fps"] for one in told if begin + 1 < one["at"] <= stopped]
    since = [one for one in told if stopped + 1 < one["at"] <= ended]
    return {"native_before": min(before, default=None), "native_fps": min((one["fps"] for one in since), default=None),
            "native_dropped": since[-1]["dropped"] - since[0]["dropped"] if since else None}


def slept_lines(row: Figures) -> list[Line]:
    found = []
    for scheme in ("http", "https"):
        side = row[scheme]
        is_back = all(one is not None and one <= 1 for one in side["back"])
        times = [one for one in side["back"] if one is not None]
        never = len(side["back"]) - len(times)
        # A browser draws when it can: a picture's length is what two browsers on two processors differ by in any case.
        is_noticed = median(side["fps"]) < median(side["before_fps"]) - 1 or any(side["native_dropped"])
        found += [
            judged(f"a browser by {scheme} is stopped for {ASLEEP} s: back after, median (longest)", "1 s",
                   f"{number(median(times), 2)} ({number(max(times, default=None), 2)}) s"
                   + (f"; never {never}" if never else ""), is_back),
            judged("  another browser's pictures a second, before; meanwhile", "as before",
                   f"{number(median(side['before_fps']))}; {number(median(side['fps']))}", not is_noticed),
            ["  its longest gap, before; meanwhile", "",
             f"{number(median(side['before_gap']), 0)}; {number(median(side['gap']), 0)} ms", ""],
            ["  a native viewer's least pictures in a second, before; meanwhile; pictures lost", "",
             f"{number(median(side['native_before']))}; {number(median(side['native_fps']))};"
             f" {sum(value or 0 for value in side['native_dropped'])}", ""]]
    return found


# --- Loss -------------------------------------------------------------------------------------------------------------

# In percent, with the aim for the longest gap in seconds.
LOSSES = {1: 0.2, 3: 0.8, 5: 0.8}


def loss(options: argparse.Namespace) -> Figures:
    found: Figures = {str(share): {} for share in LOSSES}
    with Place() as place:
        for _ in range(options.reps):
            with (place.sharing(*place.pattern(options.content, 30)) as host,
                  watching(place, Chromium, "http", options.window) as page):
                for share in LOSSES:
                    place.relay.change(f"loss={share}%,delay=3ms")
                    time.sleep(WARM_UP)
                    append(found[str(share)], watched(page, host, options.seconds))
                place.relay.change(CLEAN)
    return found


def loss_lines(row: Figures) -> list[Line]:
    found = []
    for share, aim in LOSSES.items():
        side = row[str(share)]
        gaps = [(gap or float("inf")) / 1e3 for gap in side["gap"]]
        found += [
            judged(f"{share} % loss at 3 ms: longest time without a new picture, median of {len(gaps)} runs (longest)",
                   f"{aim:g} s", f"{number(median(gaps), 2)} ({number(max(gaps), 2)}) s", max(gaps) <= aim),
            judged("  pictures that were wrong", "0", f"{sum(side['wrong'])}", not any(side["wrong"])),
            ["  painted to drawn: median (p95); pictures a second", "",
             f"{number(median(side['median']))} ({number(median(side['p95']))}) ms; {number(median(side['fps']))}", ""]]
    return found


ROWS = {"latency": (latency, latency_lines), "first": (first, first_lines), "still": (still, still_lines),
        "slept": (slept, slept_lines), "loss": (loss, loss_lines), "load": (load.load, load.lines),
        "minutes": (minutes.minutes, minutes.lines), "sound": (sound.sound, sound.lines),
        "gateway": (gateway.gateway, gateway.lines)}
NAMES = tuple(ROWS)
