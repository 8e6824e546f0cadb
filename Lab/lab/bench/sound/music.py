"""A known piece of music, heard by two viewers of one host at once: behind a link with loss, and behind a clean one."""

import argparse
import contextlib
import pathlib
import time
from typing import Any

import numpy

from lab.bench.sound.listening import RATE, Samples, aligned, compare, largest_step, read_wav, worst_step
from lab.bench.sound.rig import Rig, concealed, newest, sounds
from lab.bench.sound.servers import SPEAKER
from lab.common.processes import wait
from lab.common.trouble import Trouble


def compose(seconds: int, seed: int = 17) -> Samples:
    """A stereo piece for drums, bass, plucked strings and a pad, the same every time: transients, noise, pure tones and
    silence, peak 0.7. Frames × 2, 32-bit floats.
    """
    generator = numpy.random.default_rng(seed)
    piece = numpy.zeros((seconds * RATE, 2))
    beat = RATE // 2
    scale = 220 * 2 ** (numpy.array([0, 3, 5, 7, 10, 12, 15]) / 12)

    def add(start: int, sound: Samples, level: float, place: float) -> None:
        sound = sound[:max(0, len(piece) - start)]
        piece[start:start + len(sound), 0] += level * numpy.cos(place) * sound
        piece[start:start + len(sound), 1] += level * numpy.sin(place) * sound

    def seconds_of(length: float) -> Samples:
        return numpy.arange(int(length * RATE)) / RATE

    for number in range(len(piece) // beat):
        start, bar = number * beat, number // 4
        # A rest in each eighth bar.
        if bar % 8 == 7:
            continue
        t = seconds_of(0.25)
        if number % 2 == 0:
            add(start, numpy.sin(2 * numpy.pi * (45 * t + 12 * (1 - numpy.exp(-30 * t)))) * numpy.exp(-12 * t), 0.6, 0.785)
        else:
            add(start, generator.standard_normal(len(t)) * numpy.exp(-25 * t), 0.15, 0.6)
        for half in (0, beat // 2):
            hat = generator.standard_normal(2400) * numpy.exp(-numpy.arange(2400) / 300)
            add(start + half, numpy.diff(hat, prepend=0), 0.06, 1.0)
        t = seconds_of(0.45)
        root = scale[(bar * 3) % 5] / 4
        add(start, sum(numpy.sin(2 * numpy.pi * root * k * t) / k for k in (1, 2, 3)) * numpy.exp(-4 * t), 0.25, 0.785)
        for step in range(2):
            t = seconds_of(0.6)
            tone = scale[generator.integers(len(scale))] * (2 if step else 1)
            string = sum(numpy.sin(2 * numpy.pi * tone * k * t) * numpy.exp(-(2 + 3 * k) * t) / k for k in range(1, 9))
            add(start + step * beat // 2, string, 0.15, 0.3 + 0.25 * generator.integers(5))
        if number % 8 == 0:
            t = seconds_of(4)
            fade = numpy.minimum(1, numpy.minimum(t, 4 - t))
            for third, place in ((0, 0.4), (2, 0.8), (4, 1.2)):
                add(start, numpy.sin(2 * numpy.pi * scale[third] * t + 0.3 * numpy.sin(2 * numpy.pi * 5 * t)) * fade, 0.05,
                    place)
    return (0.7 * piece / numpy.abs(piece).max()).astype("<f4")


def measure(options: argparse.Namespace, kind: str, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    rig = Rig(options, kind, directory, stack)
    piece = compose(options.music_seconds)
    path = rig.directory / "music.raw"
    piece.tofile(path)
    files = {name: rig.directory / f"{name}.wav" for name in ("clean", "lossy")}
    with contextlib.ExitStack() as inner:
        at_second, address = rig.second_end("clean5")
        link = inner.enter_context(rig.link("loss1"))
        rig.share(inner, "--audio", "auto")
        clean = rig.watch(inner, "--no-window", "--sound", str(files["clean"]), at=at_second, address=address)
        lossy = rig.watch(inner, "--no-window", "--sound", str(files["lossy"]), "--audio-output", SPEAKER)
        recorder = rig.record(inner, rig.viewer)
        time.sleep(1)
        link.begin()
        begin = time.monotonic()
        # In large pieces: what underflows here would be counted there.
        player = rig.play(inner, rig.host, kind="file", file=path, latency=0.1)
        wait("the end of the music", options.music_seconds + 20, lambda: player.times("end"))
        time.sleep(1.5)
        told = sounds(lossy, begin)
        for viewer in (clean, lossy):
            viewer.end()
        loudspeaker = recorder.recording().part(begin, time.monotonic())
    one, other = (read_wav(file) for file in files.values())
    if min(len(one), len(other)) < RATE * options.music_seconds / 2:
        raise Trouble(f"Of {options.music_seconds} s of music, {len(one) / RATE:.1f} and {len(other) / RATE:.1f} s are in the"
                      " files.")
    one, other = aligned(one, other)
    against = aligned(piece.astype(float), one)
    original = largest_step(piece)
    noise = ((against[0] - against[1]) ** 2).sum()
    return {
        **compare(one, other), "concealed": concealed(told), "told": newest(lossy),
        "underflows": len(player.times("underflow")),
        "steps": {"original": original, "clean": largest_step(one), "lossy": largest_step(other),
                  "beyond": worst_step(other, one),
                  # Of the left channel.
                  "loudspeaker": largest_step(loudspeaker), "original_left": largest_step(piece[:, 0]),
                  "clean_left": largest_step(one[:, 0])},
        "codec_snr": float(10 * numpy.log10((against[0] ** 2).sum() / noise)) if noise else 99.0,
    }
