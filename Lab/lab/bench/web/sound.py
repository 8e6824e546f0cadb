"""The row sound: how late the sound is in Chromium, and how far from the picture."""

import argparse
import contextlib
import time
from typing import Any

from lab.bench.web.page import FLASH_READER, Page, watching
from lab.bench.web.place import Place
from lab.common.browsers import Chromium
from lab.common.numbers import number
from lab.common.screens import new_screen
from lab.common.stolen import Stolen
from lab.common.tables import judged

Figures = dict[str, Any]
# In seconds, with and without --long.
LONG, SHORT = 180, 60
# Until buffers have found their size; and how often what was drawn is fetched.
SETTLE, FETCH = 5, 5
# In ms.
MOST_SKEW, MOST_DELAY = 45, 90
# Of the green of a pixel: a flash begins at the first one, and is over below the other.
BRIGHT, DARK = 160, 96

# Clicks that a script of the page's plays at once, and when: how late Chromium is by itself.
OWN_CLICKS = """(async () => {
  const context = new AudioContext({ sampleRate: 48000, latencyHint: 'interactive' });
  await context.resume();
  const buffer = context.createBuffer(1, 480, 48000), samples = buffer.getChannelData(0), times = [];
  for (let i = 0; i < 480; i++) samples[i] = 0.8 * (1 - i / 480) * Math.cos(2 * Math.PI * 3000 * i / 48000);
  await new Promise(done => setTimeout(done, 1000));
  for (let i = 0; i < 12; i++) {
    await new Promise(done => setTimeout(done, 400 + 300 * Math.random()));
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    source.start();
    times.push(performance.now());
  }
  await new Promise(done => setTimeout(done, 500));
  context.close();
  return times;
})()"""


def sound(options: argparse.Namespace) -> Figures:
    seconds = LONG if options.long else SHORT
    return {"seconds": seconds, **{scheme: measured(scheme, seconds, options.window) for scheme in ("http", "https")}}


def measured(scheme: str, seconds: float, window: tuple[int, int]) -> Figures:
    """A program feeds a sound card of the host's server, and flashes when it hands on a click. Chromium plays into the null
    sink of another server, of which a monitor is recorded.
    """
    # Imported late: they need python3-numpy, which may have been installed just now.
    from lab.bench.sound import listening, skew
    from lab.bench.sound.rig import Probe, Recorder
    from lab.bench.sound.servers import PulseAudio

    with Place() as place, contextlib.ExitStack() as stack:
        host_end, browser_end = (PulseAudio(stack, place.directory / name, place.log).start()
                                 for name in ("host-sound", "browser-sound"))
        display, _ = new_screen(stack, *skew.SIZE, place.log)
        beeper = Probe(stack, place.log, None, "beep", display=display, pipe=host_end.add_card("Card"),
                       amplitude=skew.QUIET, frequency=220)
        host = stack.enter_context(place.sharing("--display", display, "--no-cursor", "--max-fps", 30, rows=720, sound="Card",
                                                 environment={**host_end.environment}))
        page = stack.enter_context(watching(place, Chromium, scheme, window, skew.SIZE[0], FLASH_READER,
                                            browser_end.environment))
        page.turn_sound(True)
        recorder = Recorder(stack, place.log, browser_end, place.directory / "recording")
        time.sleep(SETTLE)
        page.align()
        page.seen()
        begin, used, stolen = time.monotonic(), host.processor(), Stolen()
        seen = fetched(page, begin + seconds)
        end = time.monotonic()
        cost, taken = (host.processor() - used) / (end - begin) * 100, stolen.percent()
        # The last click has come by then.
        time.sleep(1)
        seen += page.seen()
        page.turn_sound(False)
        own = [at / 1e3 + page.offset for at in page.browser.evaluate(OWN_CLICKS)]
        recording = recorder.end().recording()
        heard = recording.clicks()
        found = skew.figures(beeper, flashes(seen), recording, begin, end)
        return {**found, "own": listening.spread(listening.delays(own, heard[heard > own[0]])), "host": cost,
                "clock": page.error * 1e3, "stolen": taken, "lost_by_card": lost(beeper.times("lost"), begin, end)}


def lost(times: list[float], begin: float, end: float) -> int:
    return sum(begin <= one < end for one in times)


def fetched(page: Page, end: float) -> list[tuple[float, int]]:
    seen: list[tuple[float, int]] = []
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(FETCH, left))
        seen += page.seen()
    return seen


def flashes(seen: list[tuple[float, int]]) -> list[float]:
    """When each flash was drawn first: it may be drawn in steps."""
    found, was_bright = [], True
    for at, bright in seen:
        if bright >= BRIGHT and not was_bright:
            found.append(at)
        was_bright = bright >= BRIGHT or (was_bright and bright >= DARK)
    return found


def lines(row: Figures) -> list[list[str]]:
    found = []
    for scheme in ("http", "https"):
        side = row[scheme]
        skew, heard, picture = side["skew"], side["sound"], side["picture"]
        found += [
            judged(f"sound for {row['seconds']} s by {scheme}: distance from the picture, median (p95)", f"{MOST_SKEW} ms",
                   f"{number(skew['median'])} ({number(skew['p95'])}) ms", skew["median"] <= MOST_SKEW),
            judged("  heard at the host to heard at the browser, median (p95)", f"{MOST_DELAY} ms",
                   f"{number(heard['median'])} ({number(heard['p95'])}) ms", heard["median"] <= MOST_DELAY),
            ["  the same for the picture; sound minus picture; clicks found", "",
             f"{number(picture['median'])} ({number(picture['p95'])}) ms; {number(side['signed_median'])} ms;"
             f" {side['found']} of {side['flashes']}", ""],
            ["  Chromium's own part: from a script's click to the recorder, median (p95)", "",
             f"{number(side['own']['median'])} ({number(side['own']['p95'])}) ms", ""]]
        # Runs from before 2026-11-29 haven't got it.
        if "stolen" in side:
            found.append(["  processor time that other machines took from this one (steal)", "",
                          f"{number(side['stolen'])} %", ""])
    return found
