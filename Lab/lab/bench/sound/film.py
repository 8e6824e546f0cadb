"""A film with a flash and a beep once a second, watched with a window and recorded."""

import argparse
import contextlib
import pathlib
import re
import subprocess
import time
from typing import Any

import numpy

from lab.bench.sound.listening import RATE, nearest, onsets, spread
from lab.bench.sound.rig import Rig, newest
from lab.common.screens import new_screen
from lab.common.trouble import Trouble

SIZE = (640, 360)
LENGTH = 20


def make(path: pathlib.Path) -> None:
    """Flash and beep are together for 0.1 s in the middle of each second."""
    when = "lt(mod(t+0.5,1),0.1)"
    command = ["ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
               f"color=black:size={'x'.join(map(str, SIZE))}:rate=30,drawbox=color=white:thickness=fill:enable='{when}'",
               "-f", "lavfi", "-i", f"aevalsrc='0.5*cos(2*PI*1000*t)*{when}|0.5*cos(2*PI*1000*t)*{when}':s={RATE}",
               "-t", str(LENGTH), "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le",
               str(path)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise Trouble(f"ffmpeg can't make the film: {run.stderr.strip()}")


def measure(options: argparse.Namespace, kind: str, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    rig = Rig(options, kind, directory, stack)
    film = rig.directory / "film.mkv"
    make(film)
    return {"made": offsets(film), **{suffix: watched(options, rig, film, suffix) for suffix in options.films}}


def watched(options: argparse.Namespace, rig: Rig, film: pathlib.Path, suffix: str) -> dict[str, Any]:
    record = rig.directory / f"recording.{suffix}"
    with contextlib.ExitStack() as inner:
        screen, _ = new_screen(inner, *SIZE)
        inner.enter_context(rig.link("clean"))
        rig.share(inner, picture=("--source", str(film)))
        viewer = rig.watch(inner, "--display", screen, "--fullscreen", "--renderer", "software", "--record", str(record))
        recorder, watcher = rig.record(inner, rig.viewer), rig.flashes(inner, screen)
        time.sleep(2)
        begin = time.monotonic()
        time.sleep(options.film_seconds)
        told, end = newest(viewer), time.monotonic()
        viewer.end()
    flashes = [moment for moment in watcher.times("flash") if begin <= moment < end]
    recording = recorder.recording()
    beeps = recording.arrival(onsets(recording.samples, 0.2, RATE // 2))
    # At the window and the sink's monitor.
    return {"recording": offsets(record), "told": told, "live": {"flashes": len(flashes), **skew(nearest(flashes, beeps))}}


def skew(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """How far beeps are from their flashes, in ms; `signed` is positive if they are later."""
    later = [beep - flash for flash, beep in pairs]
    return {**spread(numpy.abs(later)), "signed": float(1000 * numpy.median(later)) if later else None}


def _ffmpeg(path: pathlib.Path, *words: str) -> subprocess.CompletedProcess:
    run = subprocess.run(["ffmpeg", "-nostdin", "-loglevel", "error", "-copyts", "-i", path, *words], capture_output=True)
    if run.returncode != 0:
        raise Trouble(f"ffmpeg can't read {path}: {run.stderr.decode(errors='replace').strip()}")
    return run


def offsets(path: pathlib.Path) -> dict[str, Any]:
    """How far each beep is from its flash in a file, in ms, by the times that the file gives."""
    printed = _ffmpeg(path, "-an", "-fps_mode", "passthrough", "-vf",
                      "signalstats,metadata=print:key=lavfi.signalstats.YAVG:file=-", "-f", "null", "-").stdout.decode()
    times = [float(word) for word in re.findall(r"pts_time:(\S+)", printed)]
    levels = [float(word) for word in re.findall(r"YAVG=(\S+)", printed)]
    bright = numpy.array(levels) > 128
    begins = numpy.flatnonzero(bright & ~numpy.concatenate([[True], bright[:-1]]))
    flashes = [times[index] for index in begins]

    # The samples of each frame by that frame's own time.
    told = subprocess.run(["ffmpeg", "-nostdin", "-hide_banner", "-copyts", "-i", path, "-vn", "-af",
                           f"aformat=sample_fmts=flt:sample_rates={RATE}:channel_layouts=mono,ashowinfo", "-f", "f32le", "-"],
                          capture_output=True)
    shown = re.findall(r"pts_time:(\S+).*?nb_samples:(\d+)", told.stderr.decode(errors="replace"))
    samples = numpy.frombuffer(told.stdout, dtype="<f4")
    starts, counts = numpy.array([float(start) for start, _ in shown]), numpy.array([int(count) for _, count in shown])
    ends = numpy.cumsum(counts)
    beeps = []
    for place in onsets(samples, 0.2, RATE // 2):
        frame = int(numpy.searchsorted(ends, place, side="right"))
        if frame < len(starts):
            beeps.append(starts[frame] + (place - (ends[frame] - counts[frame])) / RATE)
    return {"flashes": len(flashes), "beeps": len(beeps), **skew(nearest(flashes, beeps))}
