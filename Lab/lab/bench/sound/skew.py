"""How far sound and picture are apart at the viewer, while the host's sound card runs too fast."""

import argparse
import contextlib
import pathlib
import time
from collections.abc import Sequence
from typing import Any

import numpy

from lab.bench.sound.listening import Recording, matched, spread
from lab.bench.sound.rig import Probe, Rig, newest
from lab.bench.sound.servers import PulseAudio
from lab.common.screens import new_screen
from lab.common.trouble import Trouble

SIZE = (1280, 720)
#: In millionths.
DRIFT = 200
QUIET = 0.004


def measure(options: argparse.Namespace, kind: str, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    """The drift is injected at the host: a program feeds a source of the server (module-pipe-source) as a sound card would
    whose clock runs too fast, and flashes at the moment at which it hands on a beep. So it is known to within a millisecond
    when each beep was heard there: PulseAudio hands it on within 0.1 ms. A sink at the viewer that is read at another pace
    would add the pipe's own buffer, 21 ms or more, whose level nobody knows; PipeWire's source from a pipe keeps 145 ms and
    resamples by itself. So the host's server is PulseAudio in any case.
    """
    rig = Rig(options, kind, directory, stack)
    (host_screen, _), (viewer_screen, _) = new_screen(stack, *SIZE), new_screen(stack, *SIZE)
    found = {"calibration": calibrate(rig, viewer_screen, 4 if options.check else 12),
             "seconds": options.skew_seconds, "ppm": DRIFT}
    with contextlib.ExitStack() as inner:
        inner.enter_context(rig.link("clean"))
        server = rig.host if kind == "pulse" else PulseAudio(inner, rig.directory / "card", rig.log).start()
        card = server.add_card("Card")
        beeper = rig.beep(inner, None, display=host_screen, pipe=card, ppm=DRIFT, amplitude=QUIET, frequency=220)
        host = rig.share(inner, "--display", host_screen, "--no-cursor", "--audio", "Card", server=server,
                         picture=("--max-fps", "60"))
        viewer = rig.watch(inner, "--display", viewer_screen, "--fullscreen", "--renderer", "software")
        recorder, watcher = rig.record(inner, rig.viewer), rig.flashes(inner, viewer_screen)
        time.sleep(5)
        begin = time.monotonic()
        time.sleep(options.skew_seconds)
        end = time.monotonic()
        found["told"] = newest(viewer)
        if host.process.poll() is not None or viewer.process.poll() is not None:
            raise Trouble(f"An end ended by itself.\n{host.last_words()}\n{viewer.last_words()}")
    found.update(figures(beeper, watcher.times("flash"), recorder.recording(), begin, end))
    found["lost_by_card"] = sum(begin <= moment < end for moment in beeper.times("lost"))
    return found


def by_number(sent: Sequence[float], found: Sequence[float]) -> dict[int, float]:
    """The delay of each that was found, by its number."""
    all_sent = numpy.array(sent)
    return {int(numpy.argmin(numpy.abs(all_sent - moment))): other - moment for moment, other in matched(all_sent, found)}


def figures(beeper: Probe, flashes: Sequence[float], recording: Recording, begin: float, end: float) -> dict[str, Any]:
    """The skew of each flash: how much later its beep is heard than it is seen, both counted from the host. `flashes`: when
    they were seen.
    """
    sent = [(beep, flash) for beep, flash in zip(beeper.times("beep"), beeper.times("flash")) if begin <= beep < end]
    heard = by_number([beep for beep, _ in sent], recording.clicks())
    seen = by_number([flash for _, flash in sent], flashes)
    both = sorted(heard.keys() & seen.keys())
    sound, pictures = (numpy.array([found[number] for number in both]) for found in (heard, seen))
    if not len(sound):
        raise Trouble(f"No flash with its beep was found: {len(heard)} beeps and {len(seen)} flashes of {len(sent)}.")
    skew = sound - pictures
    edge = max(1, len(skew) // 10)
    return {
        "flashes": len(sent), "found": len(skew), "skew": spread(numpy.abs(skew)),
        "signed_median": float(1000 * numpy.median(skew)), "sound": spread(sound), "picture": spread(pictures),
        # Whether it grows: the first tenth beside the last one.
        "first": float(1000 * numpy.median(skew[:edge])), "last": float(1000 * numpy.median(skew[-edge:])),
        "largest_step": float(1000 * numpy.abs(numpy.diff(sound)).max()) if len(sound) > 1 else 0.0,
    }


def calibrate(rig: Rig, display: str, seconds: float) -> dict[str, Any]:
    """The rig's own skew: beeps and flashes at the viewer's sink and display, without a program in between."""
    with contextlib.ExitStack() as inner:
        recorder, watcher = rig.record(inner, rig.viewer), rig.flashes(inner, display)
        begin = time.monotonic()
        beeper = rig.beep(inner, rig.viewer, display=display, amplitude=QUIET, frequency=220)
        time.sleep(seconds)
    return figures(beeper, watcher.times("flash"), recorder.recording(), begin, time.monotonic() - 1)
