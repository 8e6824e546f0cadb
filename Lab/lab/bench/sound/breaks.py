"""What happens to sound servers, and whether the sound comes back: seconds from the cause to the tone at the viewer's sink."""

import argparse
import contextlib
import pathlib
import subprocess
import time
from typing import Any

import numpy

from lab.bench.sound.listening import tone_levels
from lab.bench.sound.rig import Probe, Recorder, Rig, sounds
from lab.bench.sound.servers import OTHER, SPEAKER, Nowhere, Server
from lab.common.members import Member, rate_of
from lab.common.processes import wait
from lab.common.screens import new_screen
from lab.common.trouble import Trouble

TONE, SECOND_TONE = 400, 1000
#: Until it is given up.
LIMIT = 30


def measure(options: argparse.Namespace, kind: str, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    rig = Rig(options, kind, directory, stack)
    return {name: globals()[name](rig) for name in options.breaks}


def _tone(rig: Rig, stack: contextlib.ExitStack, server: Server | None, frequency: float = TONE,
          device: str | None = None) -> Probe:
    return rig.play(stack, server, kind="tone", frequency=frequency, amplitude=0.25, latency=0.02, device=device)


def _wait_for_tone(recorder: Recorder, frequency: float, after: float) -> float | None:
    """Seconds from `after` until the tone came; None if it didn't within LIMIT."""
    limit = time.monotonic() + LIMIT
    while time.monotonic() < limit:
        time.sleep(0.1)
        moment = recorder.recording().first_tone(frequency, after)
        if moment is not None:
            return moment - after
    return None


def _both(rig: Rig, stack: contextlib.ExitStack) -> Member:
    rig.move(stack)
    stack.enter_context(rig.link("clean"))
    rig.share(stack, "--audio", "auto")
    return rig.watch(stack, "--no-window", "--audio-output", SPEAKER)


def host_server(rig: Rig) -> dict[str, Any]:
    """The host's server is killed and started again."""
    with contextlib.ExitStack() as inner:
        viewer = _both(rig, inner)
        recorder = rig.record(inner, rig.viewer)
        _tone(rig, inner, rig.host)
        if _wait_for_tone(recorder, TONE, 0) is None:
            raise Trouble("No sound came to begin with.")
        seen = len(viewer.told("stats"))
        rig.host.kill()
        time.sleep(3)
        rig.host.start()
        # Another one, so that what is still under way isn't taken for it.
        _tone(rig, inner, rig.host, SECOND_TONE)
        back = _wait_for_tone(recorder, SECOND_TONE, time.monotonic())
        return {"seconds": back, "fps": rate_of(viewer.told("stats")[seen:], "frames")}


def viewer_server(rig: Rig) -> dict[str, Any]:
    """The viewer's server is killed and started again."""
    with contextlib.ExitStack() as inner:
        viewer = _both(rig, inner)
        recorder = rig.record(inner, rig.viewer)
        _tone(rig, inner, rig.host)
        if _wait_for_tone(recorder, TONE, 0) is None:
            raise Trouble("No sound came to begin with.")
        seen = len(viewer.told("stats"))
        rig.viewer.kill()
        time.sleep(3)
        rig.viewer.start()
        again = time.monotonic()
        recorder = rig.record(inner, rig.viewer)
        return {"seconds": _wait_for_tone(recorder, TONE, again),
                "fps": rate_of(viewer.told("stats")[seen:], "frames")}


def default_sink(rig: Rig) -> dict[str, Any]:
    """The host's default sink is another one in mid-stream; each plays a tone of its own."""
    with contextlib.ExitStack() as inner:
        _both(rig, inner)
        recorder = rig.record(inner, rig.viewer)
        _tone(rig, inner, rig.host, TONE, SPEAKER)
        _tone(rig, inner, rig.host, SECOND_TONE, OTHER)
        if _wait_for_tone(recorder, TONE, 0) is None:
            raise Trouble("No sound came to begin with.")
        before = time.monotonic()
        rig.host.set_default(OTHER)
        found = {"seconds": _wait_for_tone(recorder, SECOND_TONE, before)}
        time.sleep(1)
        levels = tone_levels(recorder.recording().part(time.monotonic() - 0.5, time.monotonic()), TONE)
        found["old_tone"] = float(levels.max()) if len(levels) else None
    rig.host.set_default(SPEAKER)
    return found


def two_viewers(rig: Rig) -> dict[str, Any]:
    """Two viewers, of which one is muted with the key m: levels of the tone at both sinks, in parts of full scale."""
    with contextlib.ExitStack() as inner:
        screen, _ = new_screen(inner, 640, 360)
        _both(rig, inner)
        looks = ("--display", screen, "--fullscreen", "--renderer", "software", "--audio-output", OTHER)
        muted = rig.watch(inner, *looks)
        recorders = [rig.record(inner, rig.viewer, f"{sink}.monitor") for sink in (SPEAKER, OTHER)]
        _tone(rig, inner, rig.host)
        for recorder in recorders:
            if _wait_for_tone(recorder, TONE, 0) is None:
                raise Trouble("One of two viewers has no sound.")
        subprocess.run(["xdotool", "mousemove", "320", "180", "key", "m"], env={"DISPLAY": screen, "PATH": "/usr/bin:/bin"},
                       check=True)
        time.sleep(2)
        end = time.monotonic()
        levels = [tone_levels(recorder.recording().part(end - 1, end), TONE) for recorder in recorders]
        time.sleep(1)
        return {"loud": float(numpy.median(levels[0])) if len(levels[0]) else 0, "muted": float(max(levels[1], default=0)),
                "told": next(iter(sounds(muted)[-1:]), {})}


def no_server(rig: Rig) -> dict[str, Any]:
    """No sound server at either end, beside both: frames a second that the viewer counts."""
    rates = {}
    for name, server in (("with", None), ("without", Nowhere())):
        with contextlib.ExitStack() as inner:
            inner.enter_context(rig.link("clean"))
            rig.move(inner)
            rig.share(inner, "--audio", "auto", server=server)
            viewer = rig.watch(inner, "--no-window", "--audio-output", SPEAKER, server=server)
            wait("figures", 10, lambda: viewer.count("stats") >= 2)
            time.sleep(4)
            rates[name] = rate_of(viewer.told("stats")[1:], "frames")
    return {"fps": rates, "ratio": rates["without"] / rates["with"] if rates["with"] else None}


NAMES = ("host_server", "viewer_server", "default_sink", "two_viewers", "no_server")
