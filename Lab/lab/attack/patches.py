"""False hosts whose exact patches lie, swell or come without end, against a viewer with a window, which shows them."""

import contextlib
import itertools
import os
import random
import shutil
import struct
import time
from collections.abc import Iterator

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lab.attack import exactwire, h264, wire
from lab.attack.exactwire import BLOCK, content, frame, head, repeated
from lab.attack.falsehost import Connection, FalseHost
from lab.attack.laboratory import Laboratory, NotPlayed, Row
from lab.attack.peer import Refused, clock
from lab.attack.values import MOST_PROCESSOR, AttackOnViewer
from lab.common.programs import Program
from lab.common.screens import new_screen

# The pictures of `h264.small`.
SIZE = (320, 240)
WHOLE = (0, 0, *SIZE)
TILE = (16, 16, 16, 16)
TILE_BYTES = 16 * 16 * 3
# How long an honest picture may take to be shown exactly when the attack is over, in seconds: `stats` comes each second.
MOST_WAITING = 5

#: A patch's content, its time, and the picture's size that it tells.
Patch = tuple[bytes, int, tuple[int, int]]


def screen(stack: contextlib.ExitStack, width: int = 640, height: int = 480) -> str:
    """A virtual X display."""
    if not shutil.which("Xvfb"):
        raise NotPlayed("needs Xvfb")
    return new_screen(stack, width, height)[0]


class AttackOnWindow(AttackOnViewer):
    """Base of these attacks. A picture comes 30 times a second beside them. When they are over the host shows an honest
    picture and sends it exactly: the viewer must show it.
    """

    viewer_words = ("--renderer", "software")
    # Of a core; None: what is sent comes as fast as it can.
    most_processor: float | None = MOST_PROCESSOR
    # If it isn't over after the usual time.
    most_seconds = 0.0

    def __init__(self) -> None:
        self.sent = self.shown = 0
        self.number = 1
        self.began = self.ended = 0.0
        self.seconds = 0.0

    def attack(self, host: FalseHost) -> None:
        """What is sent in a hundredth of a second."""
        raise NotImplementedError

    def play(self, lab: Laboratory, row: Row) -> None:
        self.seconds = self.most_seconds or lab.seconds(12, 4)
        with contextlib.ExitStack() as stack:
            self.window_words = ("--display", screen(stack))
            viewer, host = self.against(lab, row, self.body, seconds=self.seconds + MOST_WAITING + 10, until=self.is_over,
                                        features=exactwire.FEATURE)
        row.words = (row.words or "the viewer lives") + (
            f", {row.viewer_processor:.0%} of a core; {self.sent} datagrams in {host.connections} connections, "
            f"{max((event.get('patches', 0) for event in viewer.named('stats')), default=0)} whole patches came")
        if row.came != "nothing":
            return
        if not self.ended:
            row.came, row.words = "unclear", f"{row.words}; it didn't come to its end: {host.troubles}"
        elif not self.is_exact(viewer):
            row.came, row.words = "frozen", f"{row.words}; then an honest picture wasn't shown exactly"
        elif self.most_processor and row.viewer_processor > self.most_processor and not lab.short:
            row.came = "costs too much"
        else:
            self.judge(viewer, row)

    def judge(self, viewer: Program, row: Row) -> None:
        """Looks at what else may have come of it."""

    def is_exact(self, viewer: Program) -> bool:
        """Whether the honest picture is shown."""
        return any(event.get("exact") == 1 for event in viewer.named("stats", self.ended + 1))

    def is_over(self, viewer: Program) -> bool:
        return self.ended > 0 and (self.is_exact(viewer) or time.monotonic() > self.ended + MOST_WAITING)

    # --- The host's side

    def body(self, host: FalseHost, connection: Connection) -> None:
        host.greet(connection)
        host.admit(connection)
        if not host.viewer_features & exactwire.FEATURE:
            raise Refused("the viewer takes no patches")
        frames = h264.small()
        self.began = self.began or time.monotonic()
        begin, shown = time.monotonic(), 0
        while not host.is_over.is_set() and time.monotonic() < self.began + self.seconds:
            host.answer(connection, 0)
            if shown <= 30 * (time.monotonic() - begin):
                self.show(host, frames[shown % len(frames)])
                shown += 1
            self.attack(host)
            time.sleep(0.01)
        self.ended = self.ended or time.monotonic()
        while not host.is_over.is_set():
            host.answer(connection, 0.2)
            self.patch(host, content([WHOLE]), self.show(host, frames[0]))

    def show(self, host: FalseHost, picture: h264.Picture) -> int:
        """A picture, which changes everything if it is a keyframe: its time."""
        now = clock()
        self.shown += 1
        host.show(self.shown, exactwire.saying(picture, now, [(WHOLE, now)] if picture.config else []), now)
        return now

    def patch(self, host: FalseHost, whole: bytes, time_: int | None = None, size: tuple[int, int] = SIZE) -> None:
        self.sent += exactwire.send(host, self.number, whole, clock() if time_ is None else time_, size)
        self.number += 1


class Malformed(AttackOnWindow):
    """A host sends 1,000 patches a second whose rectangles, lengths, parts, sizes and times are wrong in many ways."""

    name = "patches-malformed"
    short = True

    def __init__(self) -> None:
        super().__init__()
        self.wrong = itertools.cycle([*self.contents(), *self.sizes(), *self.moves()])

    @staticmethod
    def contents() -> Iterator[Patch]:
        good, now = repeated(TILE_BYTES), clock()
        for rectangles in ([(320, 0, 16, 16)], [(304, 0, 32, 16)], [(0, 240, 16, 16)], [(65520, 65520, 16, 16)],
                           [(0, 0, 0, 0)], [(16, 16, 0, 16)], [(16, 16, 16, 0)], [(0, 0, 65535, 65535)],
                           [(65535, 65535, 65535, 65535)], [(8, 0, 16, 16)], [(0, 0, 15, 16)], [(0, 0, 24, 16)]):
            yield head(rectangles) + good, now, SIZE
        # Overlapping, none, too many, and other numbers than there are.
        yield head([TILE, TILE]) + repeated(2 * TILE_BYTES), now, SIZE
        yield head([(0, 0, 32, 32), TILE]) + repeated(5 * TILE_BYTES), now, SIZE
        yield head([]) + good, now, SIZE
        many = [(16 * (index % 20), 16 * (index // 20), 16, 16) for index in range(65)]
        yield head(many) + repeated(65 * TILE_BYTES), now, SIZE
        for count in (0, 2, 64, 65, 65535):
            yield head([TILE], count) + good, now, SIZE
        # Cut short, too long, of other lengths, not a frame, unknown formats.
        for whole in (b"", b"\1", head([TILE]), head([TILE])[:9], head([TILE]) + good[:-1], head([TILE]) + good + b"\0",
                      head([TILE]) + good + good, head([TILE]) + repeated(TILE_BYTES - 1),
                      head([TILE]) + repeated(TILE_BYTES + 1), head([TILE]) + repeated(0), head([TILE]) + os.urandom(500),
                      head([TILE]) + exactwire.MAGIC, *(head([TILE], None, number) + good for number in (0, 127, 255))):
            yield whole, now, SIZE

    @staticmethod
    def moves() -> Iterator[Patch]:
        """Of format 2: pixels that have moved from or to where none are, by nothing, or on nothing."""
        good, now, extremes = repeated(TILE_BYTES), clock(), (0, 2 ** 32 - 1)
        for target, dx, dy in ((WHOLE, 1, 0), (TILE, -32767, 0), (TILE, 0, 32767), (TILE, -32768, -32768), (TILE, 0, 0),
                               ((0, 0, 0, 0), 1, 1), ((0, 0, 65535, 65535), 1, 1), ((320, 240, 16, 16), 16, 16)):
            for ages in ((0, 0), extremes, extremes[::-1], (2 ** 32 - 1, 2 ** 32 - 1)):
                basis = exactwire.moved(target, dx, dy, ages)
                yield head([TILE], flags=3, basis=basis) + good, now, SIZE
                yield head([], flags=3, basis=basis), now, SIZE
        # Cut short, without a basis, of unknown flags, and rectangles off the grid that overlap.
        whole = exactwire.moved((16, 16, 32, 32), 8, 8)
        for length in (1, 7, 8, 9, 19):
            yield head([], flags=3, basis=whole[:length]), now, SIZE
        for flags in (2, 4, 254, 255):
            yield head([TILE], flags=flags, basis=whole if flags & 2 else b"") + good, now, SIZE
        yield head([(1, 1, 30, 30), (7, 7, 3, 3)], flags=1, basis=whole[:8]) + repeated(909 * 3), now, SIZE
        yield head([(319, 239, 2, 2)], flags=1, basis=whole[:8]) + repeated(12), now, SIZE

    @staticmethod
    def sizes() -> Iterator[Patch]:
        for size in ((0, 0), (0, 240), (16, 16), (321, 240), (65535, 65535)):
            yield content([TILE]), clock(), size
        for time_ in (wire.LAST_MICROSECOND + 1, 2 ** 63, 2 ** 64 - 1):
            yield content([TILE]), time_, SIZE

    def attack(self, host: FalseHost) -> None:
        for _ in range(9):
            self.patch(host, *next(self.wrong))
        # Parts that can't be, and two that contradict each other.
        piece, now = content([TILE]), clock()
        for index, parts in random.sample([(0, 0), (1, 1), (65535, 65535), (0, 65535), (0, 700)], 2):
            host.datagram(wire.PATCH, exactwire.part(self.number, index, parts, now, SIZE, piece))
        for index, parts, time_, size in ((0, 3, now, SIZE), (1, 3, now + 1, SIZE), (1, 4, now, SIZE),
                                          (1, 3, now, (16, 16)), (2, 3, now, SIZE), (2, 3, now, SIZE)):
            host.datagram(wire.PATCH, exactwire.part(self.number, index, parts, time_, size, piece))
        self.sent += 8
        self.number += 1

    def judge(self, viewer: Program, row: Row) -> None:
        taken = max((event.get("exact", 0) for event in viewer.named("stats") if event["at"] < self.ended), default=0)
        if taken > 0:
            row.came, row.words = "taken", f"{row.words}; {taken:.0%} of the picture was shown by such patches"


class Bombs(AttackOnWindow):
    """A host sends 1,000 patches a second whose Zstandard frames tell of up to 2⁶⁴ bytes, or become up to 7 GB."""

    name = "patches-bombs"
    short = True

    def __init__(self) -> None:
        super().__init__()
        self.bombs = itertools.cycle([head([rectangle]) + found for rectangle in (TILE, WHOLE) for found in self.frames()])
        # As long as a patch may be: 57,344 blocks of 128 KiB.
        self.longest = [head([TILE]) + frame(told, 57344 * BLOCK) for told in (TILE_BYTES, 57344 * BLOCK)]
        self.next_longest = 0.0

    @staticmethod
    def frames() -> Iterator[bytes]:
        for told in (TILE_BYTES, SIZE[0] * SIZE[1] * 3, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 63 - 1, 2 ** 64 - 1, None):
            for length in (260 * BLOCK, TILE_BYTES):
                # The window's byte tells of 1 KiB to 3.75 TiB.
                yield from (frame(told, length, window=window) for window in (None, 0x00, 0x9F, 0xFF))
        # A frame to be skipped, as long as it can be, and one behind the other.
        yield b"\x50\x2a\x4d\x18" + b"\xff\xff\xff\xff" + bytes(100)
        yield repeated(TILE_BYTES) * 50

    def attack(self, host: FalseHost) -> None:
        for _ in range(10):
            self.patch(host, next(self.bombs))
        if time.monotonic() > self.next_longest:
            self.next_longest = time.monotonic() + 1
            for whole in self.longest:
                self.patch(host, whole)


class Million(AttackOnWindow):
    """A host sends a million patches of one tile as fast as it can, with times at both ends of their range.

    It gives up after a minute and a half.
    """

    name = "patches-million"
    short = True
    count = 1_000_000
    most_processor = None
    most_seconds = 90.0
    times = [0, 1, wire.LAST_MICROSECOND - 1, wire.LAST_MICROSECOND, wire.LAST_MICROSECOND + 1, 2 ** 63 - 1, 2 ** 63,
             2 ** 64 - 1]

    def play(self, lab: Laboratory, row: Row) -> None:
        self.most = self.count if not lab.short else self.count // 10
        super().play(lab, row)

    def attack(self, host: FalseHost) -> None:
        if self.sent >= self.most:
            self.seconds = 0
            return
        aead, salt, key = AESGCM(host.media_key.key), host.media_key.salt, host.media_key.number
        prefix = struct.pack(">BBH", wire.PATCH, 0, key)
        for index in range(2000):
            tile = (16 * (index % 20), 16 * (index // 20 % 15), 16, 16)
            time_ = self.times[index % len(self.times)] if index % 2 else clock()
            plaintext = exactwire.part(self.number, 0, 1, time_, SIZE, content([tile], index & 255))
            counter = struct.pack(">Q", host.counter)
            header = prefix + counter
            host.send(header + aead.encrypt(salt + counter, plaintext, header))
            host.counter += 1
            self.number += 1
        self.sent += 2000


ATTACKS = [Malformed, Bombs, Million]
