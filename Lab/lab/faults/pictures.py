"""What a viewer shows: each decoded picture with its number and the time when it was drawn at the host."""

import binascii
import contextlib
import dataclasses
import fcntl
import os
import pathlib
import select
import struct
import threading
import time
from typing import Any

# fcntl.h
F_SETPIPE_SZ = 1031
MARKER = 0xBEA4
# Blocks of the code: 128 in rows from the left, one block away from the edges.
SIDE, COLUMNS = 16, 32


@dataclasses.dataclass(frozen=True)
class Drawn:
    """How the pictures are drawn at the host."""

    width: int = 640
    height: int = 360
    # A picture of another size was scaled by the host; otherwise its code is at the same place.
    is_scaled: bool = True
    # Sizes at the most, one after the other.
    parts: int = 9

    @property
    def columns(self) -> int:
        return 2 * COLUMNS if self.width >= (2 * COLUMNS + 2) * SIDE and self.is_scaled else COLUMNS


@dataclasses.dataclass(frozen=True)
class Picture:
    # Seconds of CLOCK_MONOTONIC.
    at: float
    # None if the code can't be read: the picture is broken.
    number: int | None = None
    drawn: Any = None

    @property
    def age(self) -> float:
        return self.at - self.drawn


def code_of(number: int, nanoseconds: int) -> bytes:
    """The 16 bytes that are drawn as black and white blocks."""
    content = struct.pack(">IQ", number, nanoseconds)
    return struct.pack(">H", MARKER) + content + struct.pack(">H", binascii.crc_hqx(content, 0xFFFF))


def read_code(code: bytes) -> tuple[int, float] | None:
    """The number and the time of 16 bytes; None if they aren't a code."""
    marker, number, nanoseconds, checksum = struct.unpack(">HIQH", code)
    if marker != MARKER or binascii.crc_hqx(code[2:14], 0xFFFF) != checksum:
        return None
    return number, nanoseconds / 1e9


class Stream:
    """The YUV4MPEG2 file in one pipe."""

    def __init__(self, path: pathlib.Path, drawn: Drawn) -> None:
        self.path, self.drawn = path, drawn
        os.mkfifo(path)
        self.file: Any = None
        self.reopen()

    def reopen(self) -> None:
        """Begins again: the writer has gone. The pipe always has a reader, or it couldn't be opened for writing."""
        old = self.file
        self.file = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        if old is not None:
            os.close(old)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.file, F_SETPIPE_SZ, 1 << 20)
        self.held = bytearray()
        self.size: Any = None

    def take(self, pictures: list[Picture]) -> bool:
        """Adds what has come to the pictures; False at the end of the file."""
        try:
            data = os.read(self.file, 1 << 20)
        except BlockingIOError:
            return True
        self.held += data
        if self.size is None:
            line, found, rest = self.held.partition(b"\n")
            if not found:
                return bool(data)
            words = {word[:1]: word[1:] for word in line.decode().split()[1:]}
            self.size = int(words["W"]), int(words["H"])
            self.held = rest
        width, height = self.size
        length = 6 + width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
        while len(self.held) >= length:
            pictures.append(Picture(time.monotonic(), *(self.read_picture() or ())))
            del self.held[:length]
        return bool(data)

    def read_picture(self) -> tuple[int, float] | None:
        width, height = self.size
        across, down = (width / self.drawn.width, height / self.drawn.height) if self.drawn.is_scaled else (1, 1)
        columns = self.drawn.columns
        bits = 0
        for bit in range(128):
            x = int((1.5 + bit % columns) * SIDE * across)
            y = int((1.5 + bit // columns) * SIDE * down)
            if x >= width or y >= height:
                return None
            place = 6 + y * width + x
            luma = (self.held[place] + self.held[place - 1] + self.held[place - width]) / 3
            if 105 <= luma < 146:
                return None
            bits = bits << 1 | (luma >= 146)
        return read_code(bits.to_bytes(16, "big"))


class Pictures:
    """The pictures that come out of `watch --frames`, as a list that grows."""

    def __init__(self, directory: pathlib.Path, drawn: Drawn = Drawn()) -> None:
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "pictures.y4m"
        names = [self.path, *(directory / f"pictures-{part}.y4m" for part in range(2, drawn.parts + 1))]
        self.streams = [Stream(name, drawn) for name in names]
        self.all: list[Picture] = []
        # While it isn't set, nothing is read.
        self.is_read = threading.Event()
        self.is_read.set()
        self.is_over = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.is_over = True
        self.is_read.set()
        self.thread.join(5)
        for stream in self.streams:
            os.close(stream.file)

    def _run(self) -> None:
        while not self.is_over:
            self.is_read.wait()
            poller = select.poll()
            by_file = {stream.file: stream for stream in self.streams}
            for file in by_file:
                poller.register(file, select.POLLIN)
            for file, event in poller.poll(100):
                if not by_file[file].take(self.all) and event & select.POLLHUP:
                    by_file[file].reopen()

    # --- Questions

    def since(self, moment: float, until: float = float("inf")) -> list[Picture]:
        return [picture for picture in list(self.all) if moment <= picture.at <= until]

    def drawn_since(self, moment: float) -> list[Picture]:
        """Whole pictures that were drawn at the host after a moment."""
        return [picture for picture in list(self.all) if picture.drawn is not None and picture.drawn >= moment]

    def right(self, moment: float, most_age: float = 1.0, lasting: float = 1.0, least: int = 4) -> float | None:
        """The time of the first picture that was drawn after `moment` and is at most `most_age` seconds old, if for
        `lasting` seconds `least` more of this kind follow. None if there is none yet."""
        good = [picture.at for picture in self.drawn_since(moment) if picture.age <= most_age]
        for place, at in enumerate(good):
            following = [other for other in good[place + 1:place + 1 + least] if other <= at + lasting]
            if len(following) == least:
                return at
        return None

    def gap(self, begin: float, end: float) -> tuple[float, float]:
        """The longest time without a new picture that touches the time from `begin` to `end`, as its begin and end."""
        whole = [picture for picture in list(self.all) if picture.number is not None]
        last, moments = None, []
        for picture in whole:
            # The same content again is no new picture.
            if picture.drawn != last:
                moments.append(picture.at)
            last = picture.drawn
        before = max((moment for moment in moments if moment <= begin), default=begin)
        inside = [moment for moment in moments if before < moment]
        after = next((moment for moment in inside if moment >= end), end)
        moments = [before, *(moment for moment in inside if moment < after), after]
        return max(zip(moments, moments[1:]), key=lambda pair: pair[1] - pair[0], default=(begin, begin))

    def broken(self, since: float) -> int:
        return sum(picture.number is None for picture in self.since(since))
