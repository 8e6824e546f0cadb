"""From a click played at the host to the same click at the viewer's sink, on a quiet LAN."""

import argparse
import contextlib
import pathlib
import time
from typing import Any

import numpy

from lab.bench.sound import listening
from lab.bench.sound.listening import spread
from lab.bench.sound.rig import Recorder, Rig, newest
from lab.bench.sound.servers import SPEAKER, Server
from lab.common.processes import wait
from lab.common.trouble import Trouble

#: Of what is played ahead by whoever clicks, in seconds: as a game does.
AHEAD = 0.01
#: A quiet tone under the clicks (−48 dB), so that the host never finds silence.
QUIET = 0.004


def measure(options: argparse.Namespace, kind: str, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    rig = Rig(options, kind, directory, stack)
    found = {"calibration": calibrate(rig, min(options.clicks, 30))}
    with contextlib.ExitStack() as inner:
        inner.enter_context(rig.link("clean"))
        rig.share(inner, "--audio", "auto")
        viewer = rig.watch(inner, "--no-window", "--audio-output", SPEAKER)
        recorder = rig.record(inner, rig.viewer)
        for name, amplitude in {"playing": QUIET, "silence": 0}.items():
            if options.check and name == "silence":
                continue
            found[name] = delays(rig, rig.host, recorder, options.clicks, amplitude)
        found["told"] = newest(viewer)
    return found


def calibrate(rig: Rig, count: int) -> dict[str, Any]:
    """The rig's own part: the same player and recorder at one sink. Also how often fragments come, and what the server says
    of the recorder's latency, which is below 0 when a monitor gives what isn't heard yet.
    """
    with contextlib.ExitStack() as inner:
        recorder = rig.record(inner, rig.viewer)
        figures = delays(rig, rig.viewer, recorder, count, QUIET)
        recording = recorder.end().recording()
        gaps = recording.times[1:] - recording.times[:-1]
        figures["fragments"] = spread(gaps[gaps > 0])
        figures["reported"] = 1000 * float(numpy.median(recording.latencies))
    return figures


def delays(rig: Rig, server: Server | None, recorder: Recorder, count: int, amplitude: float) -> dict[str, Any]:
    with contextlib.ExitStack() as inner:
        # The sink and whatever follows it have to settle.
        player = rig.play(inner, server, kind="clicks", latency=AHEAD, amplitude=amplitude, frequency=220)
        wait("the clicks", count + 30, lambda: len(player.times("click")) >= count + 4)
        time.sleep(1)
    # The first ones are heard while buffers find their size.
    sent = player.times("click")[3:count + 3]
    heard = recorder.recording().clicks()
    figures = spread(listening.delays(sent, heard))
    if not figures["count"]:
        raise Trouble("No click was heard.")
    figures.update(sent=len(sent), underflows=len(player.times("underflow")))
    return figures
