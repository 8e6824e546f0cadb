"""Processor time of host and viewer with sound beside the same without, in pairs."""

import argparse
import contextlib
import pathlib
import statistics
import time
from typing import Any

from lab.bench.sound.rig import Rig, newest
from lab.bench.sound.servers import SPEAKER
from lab.common.processes import shares


def measure(options: argparse.Namespace, kind: str, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    rig = Rig(options, kind, directory, stack)
    pairs = []
    for repetition in range(options.cpu_reps):
        both = {}
        for name in ("off", "on")[::-1 if repetition % 2 else 1]:
            both[name] = spent(options, rig, name == "on")
        pairs.append(both)
    # In % of a core.
    return {"pairs": pairs, **{end: statistics.median(pair["on"][end] - pair["off"][end] for pair in pairs)
                               for end in ("host", "viewer", "host_server", "viewer_server")}}


def spent(options: argparse.Namespace, rig: Rig, has_sound: bool) -> dict[str, Any]:
    """Processor time in % of a core, while a tone is played and recorded at both ends in any case."""
    with contextlib.ExitStack() as inner:
        inner.enter_context(rig.link("clean"))
        host = rig.share(inner, "--audio", "auto" if has_sound else "off")
        viewer = rig.watch(inner, "--no-window", *(["--audio-output", SPEAKER] if has_sound else ["--no-audio"]))
        # They keep the sinks awake, but take fragments so long that the servers wake up for the player and BeamRoom alone.
        for server in (rig.host, rig.viewer):
            rig.record(inner, server, fragment=0.1)
        rig.play(inner, rig.host, kind="tone", frequency=440, amplitude=0.25, latency=0.02)
        # Buffers and encoders settle, and the picture gets its best quality.
        time.sleep(5)
        found = shares({"host": [host.pid], "viewer": [viewer.pid], "host_server": rig.host.pids(),
                        "viewer_server": rig.viewer.pids()}, options.cpu_seconds)
        return {**found, "told": newest(viewer)}
