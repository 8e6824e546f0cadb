"""What was recorded: clicks, gaps and levels with their times, and how far one piece of music is from another."""

import pathlib
from typing import Any, TypeAlias

import numpy

RATE = 48000
Samples: TypeAlias = numpy.ndarray
#: A click's onset: its first sample is 0.8, and everything else that is played stays below this.
CLICK = 0.25
#: Of the same click no second onset is counted within this, in samples.
APART = RATE // 10


class Recording:
    """What `soundprobe record` has written until now: the left channel, and when each fragment of them came."""

    def __init__(self, path: pathlib.Path) -> None:
        log = pathlib.Path(f"{path}.log").read_text()
        # Of a recording that goes on, the last line may be half written.
        rows = [line.split() for line in log[:log.rfind("\n") + 1].splitlines()]
        table = numpy.array(rows, dtype=float).reshape(-1, 3)
        samples = numpy.fromfile(path, dtype="<f4")
        self.times, self.latencies = table[:, 0], table[:, 2]
        self.ends = numpy.cumsum(table[:, 1]).astype(int)
        known = numpy.searchsorted(self.ends, len(samples), side="right")
        self.times, self.ends, self.latencies = self.times[:known], self.ends[:known], self.latencies[:known]
        self.samples = samples[:self.ends[-1] if known else 0]

    def arrival(self, index: Samples) -> Samples:
        """When the fragment with this sample came, in seconds of CLOCK_MONOTONIC."""
        return self.times[numpy.minimum(numpy.searchsorted(self.ends, index, side="right"), len(self.times) - 1)]

    def part(self, begin: float, end: float) -> Samples:
        """The samples that came between two moments."""
        first, last = numpy.searchsorted(self.times, [begin, end])
        starts = numpy.concatenate([[0], self.ends])
        return self.samples[starts[first]:starts[last]]

    def clicks(self) -> Samples:
        """When each click came."""
        return self.arrival(onsets(self.samples))

    def first_tone(self, frequency: float, after: float) -> float | None:
        """When a tone began to come for 50 ms after a moment, to within 10 ms; None if it didn't."""
        first = int(numpy.searchsorted(self.times, after))
        start = int(self.ends[first - 1]) if first else 0
        loud = tone_levels(self.samples[start:], frequency) > 0.1
        # What clicks has all frequencies for a moment.
        lasting: Any = numpy.flatnonzero(numpy.convolve(loud, numpy.ones(5), "valid") == 5) if len(loud) > 5 else ()
        return float(self.arrival(start + lasting[0] * TONE_WINDOW)) if len(lasting) else None


def onsets(samples: Samples, threshold: float = CLICK, apart: int = APART) -> Samples:
    """Where something louder than `threshold` begins."""
    loud = numpy.flatnonzero(numpy.abs(samples) > threshold)
    return loud[numpy.insert(numpy.diff(loud) > apart, 0, True)] if len(loud) else loud


TONE_WINDOW = 480


def tone_levels(samples: Samples, frequency: float) -> Samples:
    """The amplitude of one frequency in windows of 10 ms, which hear nothing of others if all are multiples of 100 Hz."""
    count = len(samples) // TONE_WINDOW
    turn = numpy.exp(-2j * numpy.pi * frequency / RATE * numpy.arange(TONE_WINDOW))
    return 2 / TONE_WINDOW * numpy.abs(samples[:count * TONE_WINDOW].reshape(count, TONE_WINDOW) @ turn)


def longest_gap(samples: Samples, window: int = 120) -> tuple[float | None, int | None]:
    """The longest span in ms in which a steady tone is missing: its envelope, the largest sample of 2.5 ms (more than half a
    period from 200 Hz on), is below a third of what it usually is. Also how many such spans there are.
    """
    if len(samples) < 2 * window:
        return None, None
    views = numpy.lib.stride_tricks.sliding_window_view(numpy.abs(samples), window)[::12]
    envelope = views.max(axis=1)
    usual = numpy.median(envelope)
    if usual < 0.01:
        return 1000 * len(samples) / RATE, 1
    edges = numpy.diff(numpy.concatenate([[0], (envelope < usual / 3).astype(int), [0]]))
    lengths = numpy.flatnonzero(edges < 0) - numpy.flatnonzero(edges > 0)
    if not len(lengths):
        return 0.0, 0
    # A window is silent only when all of it is: the span is longer by one window.
    return float((lengths.max() * 12 + window) / RATE * 1000), len(lengths)


def matched(sent: Samples, heard: Samples, most: float = 1.5, off: float = 0.15) -> list[tuple[float, float]]:
    """Each moment that was heard, with when: (sent, heard). The pauses between them are irregular, so there is one delay,
    below `most` seconds, that fits most of them; each is looked for within `off` seconds of that.
    """
    sent, heard = numpy.sort(sent), numpy.sort(heard)
    delays = (heard[None, :] - sent[:, None]).ravel()
    counts, edges = numpy.histogram(delays, bins=int(most / 0.01), range=(0, most))
    if not counts.any():
        return []
    # Two neighbours together: an edge may lie between them.
    usual = edges[int(numpy.argmax(counts[:-1] + counts[1:])) + 1]
    return [(moment - usual, other) for moment, other in nearest(sent + usual, heard, off)]


def delays(sent: Samples, heard: Samples) -> list[float]:
    return [other - moment for moment, other in matched(sent, heard)]


def nearest(moments: Samples, others: Samples, most: float = 0.4) -> list[tuple[float, float]]:
    """For each moment, the nearest of the others, or none that is within `most` seconds: (moment, other)."""
    others = numpy.sort(others)
    found = []
    for moment in moments:
        place = int(numpy.searchsorted(others, moment))
        near = [others[index] for index in (place - 1, place) if 0 <= index < len(others)]
        best = min(near, key=lambda other: abs(other - moment), default=None)
        if best is not None and abs(best - moment) <= most:
            found.append((float(moment), float(best)))
    return found


def spread(values: Any, scale: float = 1000) -> dict[str, Any]:
    """Figures of what was measured, in ms."""
    if not len(values):
        return {"count": 0, "median": None, "p95": None, "max": None}
    values = scale * numpy.asarray(values)
    return {"count": len(values), "median": float(numpy.median(values)), "p95": float(numpy.percentile(values, 95)),
            "max": float(values.max())}


# --- Music


def largest_step(samples: Samples) -> float:
    """From one sample to the next, of any channel."""
    return float(numpy.abs(numpy.diff(samples, axis=0)).max()) if len(samples) > 1 else 0.0


def worst_step(samples: Samples, clean: Samples, window: int = 480, around: int = 3) -> float:
    """The largest step beyond those that the clean piece has within `around` windows, in parts of full scale: a click where
    the music has none. Both are frames × channels.
    """
    def steps(piece: Samples) -> Samples:
        found = numpy.abs(numpy.diff(piece, axis=0)).max(axis=1)
        return found[:len(found) // window * window].reshape(-1, window).max(axis=1)

    near = numpy.lib.stride_tricks.sliding_window_view(numpy.pad(steps(clean), around), 2 * around + 1).max(axis=1)
    return float((steps(samples) - near).max())


def lag(one: Samples, other: Samples) -> int:
    """By how many samples `other` begins later than `one` (both mono), found where they fit best."""
    size = 1 << (len(one) + len(other) - 1).bit_length()
    product = numpy.fft.rfft(one, size) * numpy.conj(numpy.fft.rfft(other, size))
    best = int(numpy.argmax(numpy.fft.irfft(product, size)))
    return best if best < size // 2 else best - size


def aligned(one: Samples, other: Samples) -> tuple[Samples, Samples]:
    """The parts of two stereo pieces (frames × channels) that fit each other."""
    shift = lag(one.mean(axis=1), other.mean(axis=1))
    one, other = one[max(0, shift):], other[max(0, -shift):]
    count = min(len(one), len(other))
    return one[:count], other[:count]


def compare(clean: Samples, lossy: Samples, frame: int = 480) -> dict[str, Any]:
    """How far `lossy` is from `clean`: frames that differ, in bursts, and the SNR in dB outside of them.

    A burst begins with a concealed frame; after it Opus takes some frames until it decodes as if nothing had been lost. The
    keys of `snr` say how many frames from a burst's begin are left out: 2 are the concealed one, which may lie in two.
    """
    count = len(clean) // frame
    clean, lossy = clean[:count * frame], lossy[:count * frame]
    power = (clean ** 2).reshape(count, -1).mean(axis=1)
    error = ((clean - lossy) ** 2).reshape(count, -1).mean(axis=1)
    # Nearly equal is equal: files of 16 bits have noise of their own, near -96 dB.
    differs = error > numpy.maximum(1e-8, power * 1e-4)
    places = numpy.flatnonzero(differs)
    begins = places[numpy.insert(numpy.diff(places) > 5, 0, True)] if len(places) else places
    found: dict[str, Any] = {"frames": count, "differing": int(differs.sum()), "bursts": len(begins), "snr": {}}
    for after in (2, 3, 6, 12):
        left = numpy.ones(count, dtype=bool)
        for begin in begins:
            # The burst's phase isn't the frames': it may begin in the frame before.
            left[max(0, begin - 1):begin + after] = False
        found["snr"][str(after)] = decibels(power[left].sum(), error[left].sum())
    found["snr_all"] = decibels(power.sum(), error.sum())
    return found


def decibels(signal: float, noise: float) -> float:
    """At most 99."""
    return 99.0 if noise <= signal * 10 ** -9.9 else float(10 * numpy.log10(signal / noise))


def read_wav(path: pathlib.Path) -> Samples:
    """A WAV file's samples, −1 … 1, frames × channels."""
    import wave

    with wave.open(str(path), "rb") as file:
        if file.getsampwidth() != 2:
            raise ValueError(f"{path} hasn't 16 bits a sample")
        data = numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
        return data.reshape(-1, file.getnchannels()) / 32768
